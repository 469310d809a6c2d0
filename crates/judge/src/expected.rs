//! The share promised to each group.
//!
//! Derived from knob values *read back*, over the measured groups that ran: a share is a part of
//! what those groups got together. Nested groups compete with their siblings only, so the share of
//! `a/b` is the part of `a` among the top groups times the part of `b` within `a`. Of CPU time no
//! group is promised more than its threads can use.

use std::collections::BTreeMap;

use assay_record::run_folder::{RelationRecord, RepeatRecord, knob_value};
use assay_stats::water_fill::water_fill;

use crate::cpus::Shared;
use crate::repeat::Repeat;

/// A group's knob and its share or bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Expected {
    /// The knob as read back, where the promise refers to one.
    pub(crate) knob: Option<f64>,
    /// The resulting share (those of all groups add up to 1), or a bound.
    pub(crate) share: f64,
    /// The share by the weights alone, where the group cannot use that much, or gets more because
    /// another cannot.
    pub(crate) by_weight: Option<f64>,
}

impl Expected {
    /// A share or a bound without a weight.
    pub(crate) const fn plain(knob: Option<f64>, share: f64) -> Self {
        Self { knob, share, by_weight: None }
    }
}

/// The shares that a relation promises: by its knob, or the same for all.
pub(crate) fn shares(
    relation: &RelationRecord,
    record: &RepeatRecord,
    groups: &[&str],
    shared: Option<&Shared>,
) -> Result<Vec<Expected>, String> {
    match relation.divided_by() {
        Some(knob) => proportional(record, groups, knob, shared),
        None => Ok(equal(groups, shared)),
    }
}

/// Equal shares, however groups are nested. On shared CPUs no group is promised more than its
/// threads can use.
pub(crate) fn equal(groups: &[&str], shared: Option<&Shared>) -> Vec<Expected> {
    let even = 1.0 / groups.len().max(1) as f64;
    let demand = |group: &&str| (1.0, shared.map_or(f64::INFINITY, |shared| shared.demand(group)));
    let demands: Vec<(f64, f64)> = groups.iter().map(demand).collect();
    let parts = water_fill(shared.map_or(1.0, Shared::count), &demands);
    let whole: f64 = parts.iter().sum();
    let expected = |part: f64| {
        let share = part / whole;
        let by_weight = ((even / share - 1.0).abs() > 1e-9).then_some(even);
        Expected { knob: None, share, by_weight }
    };
    parts.into_iter().map(expected).collect()
}

/// Shares proportional to a knob. On shared CPUs no group is promised more than its threads can
/// use. The error names a group whose knob is unusable.
pub(crate) fn proportional(
    record: &RepeatRecord,
    groups: &[&str],
    knob: &str,
    shared: Option<&Shared>,
) -> Result<Vec<Expected>, String> {
    let mut by_weight = Division::new(record, knob, None);
    by_weight.divide("", groups, 1.0)?;
    let mut feasible = Division::new(record, knob, shared);
    feasible.divide("", groups, shared.map_or(1.0, Shared::count))?;
    // With fewer threads than CPUs the parts add up to less than the whole.
    let whole: f64 = feasible.parts.values().sum();
    let found = groups.iter().map(|group| {
        let share = feasible.parts.get(*group)? / whole;
        let weighed = *by_weight.parts.get(*group)?;
        Some(Expected {
            knob: feasible.weights.get(*group).copied(),
            share,
            by_weight: ((weighed / share - 1.0).abs() > 1e-9).then_some(weighed),
        })
    });
    let expected: Option<Vec<Expected>> = found.collect();
    expected.ok_or_else(|| "two measured groups have the same name".to_owned())
}

/// Each group's own knob as its bound.
pub(crate) fn bounds(
    record: &RepeatRecord,
    groups: &[&str],
    knob: &str,
) -> Result<Vec<Expected>, String> {
    let bound = |group: &&str| {
        let bound = knob_value::number(record, group, knob)?;
        if bound <= 0.0 {
            return Err(format!("`{knob}` of `{group}` reads 0, which is not a bound"));
        }
        Ok(Expected::plain(Some(bound), bound))
    };
    groups.iter().map(bound).collect()
}

/// The threshold of dirty memory that results from `setting`, as computed by the kernel: the mean
/// over the repeats. It is a host setting and bounds each group alike.
pub(crate) fn threshold(
    repeats: &[Repeat<'_>],
    groups: usize,
    setting: &str,
) -> Result<Vec<Expected>, String> {
    let column = match setting {
        "vm.dirty_ratio" | "vm.dirty_bytes" => "threshold_bytes",
        _ => "background_threshold_bytes",
    };
    let mut readings = Vec::new();
    for repeat in repeats {
        let series = repeat.table("dirty")?.sum("host", &[column])?;
        let inside = |(time, _): &&(u64, f64)| (repeat.start_ns..=repeat.end_ns).contains(time);
        readings.extend(series.iter().filter(inside).map(|(_, bytes)| *bytes));
    }
    if readings.is_empty() {
        return Err(format!("the threshold of `{setting}` was not read in the window"));
    }
    let mean = readings.iter().sum::<f64>() / readings.len() as f64;
    Ok(vec![Expected::plain(Some(mean), mean); groups])
}

/// Whether this setting bounds the amount of dirty memory.
pub(crate) fn is_dirty_setting(name: &str) -> bool {
    name.starts_with("vm.dirty_")
}

/// Division of a whole from the top groups down.
struct Division<'r> {
    record: &'r RepeatRecord,
    knob: &'r str,
    shared: Option<&'r Shared>,
    parts: BTreeMap<String, f64>,
    weights: BTreeMap<String, f64>,
}

impl<'r> Division<'r> {
    const fn new(record: &'r RepeatRecord, knob: &'r str, shared: Option<&'r Shared>) -> Self {
        Self { record, knob, shared, parts: BTreeMap::new(), weights: BTreeMap::new() }
    }

    /// Divides `whole` among the groups directly below `parent`, and recursively below them.
    fn divide(&mut self, parent: &str, groups: &[&str], whole: f64) -> Result<(), String> {
        let mut children: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for group in groups.iter().copied().filter(|group| *group != parent) {
            children.entry(child_of(parent, group)).or_default().push(group);
        }
        if children.is_empty() {
            return Ok(());
        }
        if groups.contains(&parent) {
            return Err(format!(
                "`{parent}` runs workloads itself next to its inner groups, which no knob \
                 divides"
            ));
        }
        let values = sibling_weights(self.record, self.knob, &children)?;
        if values.values().sum::<f64>() <= 0.0 {
            return Err(format!("`{}` reads 0 for every group", self.knob));
        }
        let siblings: Vec<(f64, f64)> =
            children.iter().map(|(child, below)| (values[child], self.demand(below))).collect();
        let parts = water_fill(whole, &siblings);
        for ((child, below), part) in children.iter().zip(parts) {
            if below.contains(&child.as_str()) {
                self.parts.insert(child.clone(), part);
            }
            self.divide(child, below, part)?;
        }
        self.weights.extend(values);
        Ok(())
    }

    /// How much these groups can use together.
    fn demand(&self, groups: &[&str]) -> f64 {
        let Some(shared) = self.shared else { return f64::INFINITY };
        groups.iter().map(|group| shared.demand(group)).sum()
    }
}

/// Weights of siblings. An only child needs none: it gets everything its parent gets.
fn sibling_weights(
    record: &RepeatRecord,
    knob: &str,
    children: &BTreeMap<String, Vec<&str>>,
) -> Result<BTreeMap<String, f64>, String> {
    let mut values = BTreeMap::new();
    for child in children.keys() {
        let value = match knob_value::number(record, child, knob) {
            Ok(value) => value,
            Err(_) if children.len() == 1 => 1.0,
            Err(why) => return Err(why),
        };
        values.insert(child.clone(), value);
    }
    Ok(values)
}

/// The name of the group directly below `parent` on the way to `group`.
fn child_of(parent: &str, group: &str) -> String {
    let below = if parent.is_empty() { group } else { group.get(parent.len() + 1..).unwrap_or("") };
    let first = below.split('/').next().unwrap_or(below);
    if parent.is_empty() { first.to_owned() } else { format!("{parent}/{first}") }
}

#[cfg(test)]
mod tests {
    use assay_host::facts::Available;
    use assay_record::run_folder::Reading;

    use super::*;

    fn record(weights: &[(&str, &str)]) -> RepeatRecord {
        RepeatRecord {
            released_ns: 0,
            all_released_ns: 0,
            stopped_ns: 0,
            start_skew_s: Available::Value(0.0),
            knobs: weights
                .iter()
                .map(|(group, value)| Reading {
                    group: (*group).to_owned(),
                    knob: "io.weight".to_owned(),
                    file: "io.bfq.weight".to_owned(),
                    at_start: Available::Value((*value).to_owned()),
                    at_end: Available::Value((*value).to_owned()),
                    also: BTreeMap::new(),
                    drift: BTreeMap::new(),
                })
                .collect(),
            ..RepeatRecord::without_a_window("", "")
        }
    }

    fn shares(weights: &[(&str, &str)], groups: &[&str]) -> Result<Vec<f64>, String> {
        let expected = proportional(&record(weights), groups, "io.weight", None)?;
        Ok(expected.iter().map(|expected| expected.share).collect())
    }

    #[test]
    fn follows_the_value_read_back() {
        let weights = [("a", "100\n"), ("b", "default 300\n")];
        assert_eq!(shares(&weights, &["a", "b"]), Ok(vec![0.25, 0.75]));
    }

    #[test]
    fn inner_groups_divide_what_their_parent_gets() {
        let weights = [("x", "300"), ("y", "100"), ("x/a", "100"), ("x/b", "200")];
        let found = shares(&weights, &["x/a", "x/b", "y"]).unwrap();
        for (found, expected) in found.iter().zip([0.25, 0.5, 0.25]) {
            assert!((found - expected).abs() < 1e-12);
        }
    }

    #[test]
    fn an_only_child_needs_no_weight() {
        let weights = [("x/a", "100"), ("x/b", "300")];
        assert_eq!(shares(&weights, &["x/a", "x/b"]), Ok(vec![0.25, 0.75]));
    }

    #[test]
    fn names_the_group_whose_weight_was_not_read() {
        let error = shares(&[("a", "100")], &["a", "b"]).unwrap_err();
        assert_eq!(error, "`io.weight` of `b` was not read back");
        let error = shares(&[("a", "100"), ("b", "max")], &["a", "b"]).unwrap_err();
        assert!(error.contains("`b` reads `max`, which is not a number"), "{error}");
    }

    #[test]
    fn threads_cap_what_a_group_is_promised_of_the_cpus() {
        let shared = Shared {
            set: "0-1".parse().unwrap(),
            threads: BTreeMap::from([
                ("a".to_owned(), 1),
                ("b".to_owned(), 1),
                ("c".to_owned(), 1),
            ]),
        };
        let weights = [("a", "100"), ("b", "100"), ("c", "800")];
        let found =
            proportional(&record(&weights), &["a", "b", "c"], "io.weight", Some(&shared)).unwrap();
        let shares: Vec<f64> = found.iter().map(|expected| expected.share).collect();
        assert_eq!(shares, [0.25, 0.25, 0.5]);
        assert_eq!(found[2].by_weight, Some(0.8));
        assert_eq!(found[0].by_weight, Some(0.1));
    }

    #[test]
    fn threads_cap_what_is_equal_as_well() {
        let threads = [("a", 1), ("b", 4), ("c", 4)].map(|(name, n)| (name.to_owned(), n));
        let shared = Shared { set: "0-3".parse().unwrap(), threads: threads.into() };
        let found = equal(&["a", "b", "c"], Some(&shared));
        let shares: Vec<f64> = found.iter().map(|expected| expected.share).collect();
        assert_eq!(shares, [0.25, 0.375, 0.375]);
        assert_eq!(found[0].by_weight, Some(1.0 / 3.0));
        let plain = equal(&["a", "b"], None);
        assert_eq!(plain, [Expected::plain(None, 0.5); 2]);
    }

    #[test]
    fn a_bound_is_the_knob_of_each_group() {
        let found =
            bounds(&record(&[("a", "100"), ("b", "50")]), &["a", "b"], "io.weight").unwrap();
        assert_eq!((found[0].share, found[1].share), (100.0, 50.0));
        assert!(bounds(&record(&[("a", "max")]), &["a"], "io.weight").is_err());
    }
}
