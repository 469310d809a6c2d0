//! What groups used by their own counters, where eBPF is refused. Who wanted a CPU is not seen then, so nothing is decided.

use std::collections::HashMap;

use assay_audit::{Reading, WeightSetting};
use assay_host::facts::owner::Owner;
use serde::Serialize;

use crate::fairness::levels::parent;

/// Counters of a group at one moment, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct UsageCounts {
    /// CPU time of it and all groups below.
    pub used_s: Option<f64>,
    /// Time in which some thread of it waited for a CPU (`cpu.pressure`).
    pub waited_s: Option<f64>,
}

/// What a group used beside its siblings.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UsageRow {
    /// The group.
    pub group: String,
    /// Whose it is, if its path tells.
    pub owner: Option<Owner>,
    /// The file with its weight.
    pub reading: Reading,
    /// Its part of the weights of those that ran, from 0 to 1: what it would be promised if all of them wanted a CPU all the time.
    pub by_weights: f64,
    /// Its part of what they used.
    pub part: f64,
    /// What it used, in seconds.
    pub used_s: f64,
    /// For how long some thread of it waited for a CPU, by the kernel's pressure; `null` where that is not counted.
    pub waited_s: Option<f64>,
}

/// The children of one parent that ran.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UsageLevel {
    /// The parent.
    pub parent: String,
    /// What they used together, in seconds.
    pub used_s: f64,
    /// Each of them.
    pub rows: Vec<UsageRow>,
}

/// Levels of which two children ran or more, by the counters at the start and at the end, in the order of the settings. A group whose
/// counter fell was made anew meanwhile: what it used since counts.
#[must_use]
pub fn usage_levels(
    settings: &[WeightSetting],
    start: &[UsageCounts],
    end: &[UsageCounts],
) -> Vec<UsageLevel> {
    let mut levels: Vec<(UsageLevel, Vec<f64>)> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for ((setting, start), end) in settings.iter().zip(start).zip(end) {
        let Some(used_s) = grown(start.used_s, end.used_s).filter(|used| *used > 0.0) else {
            continue;
        };
        let above = parent(&setting.group);
        let place = *places.entry(above).or_insert_with(|| {
            let empty = UsageLevel { parent: above.to_owned(), used_s: 0.0, rows: Vec::new() };
            levels.push((empty, Vec::new()));
            levels.len() - 1
        });
        let Some((level, weights)) = levels.get_mut(place) else { continue };
        level.used_s += used_s;
        weights.push(setting.weight);
        level.rows.push(UsageRow {
            group: setting.group.clone(),
            owner: setting.owner.clone(),
            reading: setting.reading.clone(),
            by_weights: 0.0,
            part: 0.0,
            used_s,
            waited_s: grown(start.waited_s, end.waited_s),
        });
    }
    levels.retain(|(level, _)| level.rows.len() > 1);
    levels.into_iter().map(|(level, weights)| with_parts(level, &weights)).collect()
}

fn with_parts(mut level: UsageLevel, weights: &[f64]) -> UsageLevel {
    let all: f64 = weights.iter().sum();
    for (row, weight) in level.rows.iter_mut().zip(weights) {
        row.by_weights = if all > 0.0 { weight / all } else { 0.0 };
        row.part = row.used_s / level.used_s;
    }
    level
}

fn grown(start: Option<f64>, end: Option<f64>) -> Option<f64> {
    let (start, end) = (start?, end?);
    Some(if end < start { end } else { end - start })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fairness::made_up::setting;

    fn counts(used_s: f64, waited_s: Option<f64>) -> UsageCounts {
        UsageCounts { used_s: Some(used_s), waited_s }
    }

    #[test]
    fn what_children_used_stands_beside_their_weights() {
        let settings = [
            setting("/p", 1024.0),
            setting("/p/a", 1024.0),
            setting("/p/b", 3072.0),
            setting("/p/c", 1024.0),
        ];
        let start =
            [counts(0.0, None), counts(1.0, Some(0.5)), counts(9.0, None), counts(5.0, None)];
        let end = [counts(9.0, None), counts(4.0, Some(2.5)), counts(1.0, None), counts(5.0, None)];
        let levels = usage_levels(&settings, &start, &end);
        // /p ran alone in its level, /p/b was made anew, /p/c did not run.
        assert_eq!((levels.len(), levels[0].parent.as_str(), levels[0].used_s), (1, "/p", 4.0));
        let rows: Vec<(&str, f64, f64, Option<f64>)> = levels[0]
            .rows
            .iter()
            .map(|row| (row.group.as_str(), row.by_weights, row.part, row.waited_s))
            .collect();
        assert_eq!(rows, [("/p/a", 0.25, 0.75, Some(2.0)), ("/p/b", 0.75, 0.25, None)]);
    }

    #[test]
    fn without_counters_there_is_no_level() {
        let settings = [setting("/a", 1.0), setting("/b", 1.0)];
        let none = [UsageCounts::default(); 2];
        assert!(usage_levels(&settings, &none, &none).is_empty());
    }
}
