//! What share each group was promised.
//!
//! From knob values *read back*, over the measured groups that ran: a share means a part of what
//! those groups got together. Nested groups compete with their siblings only, so that the share
//! of `a/b` is the part of `a` among the top groups times the part of `b` within `a`.

use std::collections::BTreeMap;

use assay_record::RepeatRecord;

use crate::reading;

/// A group's knob and its share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Expected {
    /// The knob as read back, where the promise refers to one.
    pub(crate) knob: Option<f64>,
    /// The share that follows; shares of all groups add up to 1.
    pub(crate) share: f64,
}

/// Equal shares.
pub(crate) fn equal(groups: usize) -> Vec<Expected> {
    vec![Expected { knob: None, share: 1.0 / groups.max(1) as f64 }; groups]
}

/// Shares that follow a knob. The error names a group whose knob cannot be used.
pub(crate) fn proportional(
    record: &RepeatRecord,
    groups: &[&str],
    knob: &str,
) -> Result<Vec<Expected>, String> {
    let mut shares = BTreeMap::new();
    let mut weights = BTreeMap::new();
    divide(record, knob, "", groups, 1.0, &mut shares, &mut weights)?;
    let found = groups.iter().map(|group| {
        Some(Expected { knob: weights.get(*group).copied(), share: shares.get(*group).copied()? })
    });
    let expected: Option<Vec<Expected>> = found.collect();
    expected.ok_or_else(|| "two measured groups have the same name".to_owned())
}

/// Divides `whole` among the groups directly below `parent`, and what each of them gets among
/// the groups below it.
fn divide(
    record: &RepeatRecord,
    knob: &str,
    parent: &str,
    groups: &[&str],
    whole: f64,
    shares: &mut BTreeMap<String, f64>,
    weights: &mut BTreeMap<String, f64>,
) -> Result<(), String> {
    let mut children: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for group in groups.iter().copied().filter(|group| *group != parent) {
        children.entry(child_of(parent, group)).or_default().push(group);
    }
    if children.is_empty() {
        return Ok(());
    }
    if groups.contains(&parent) {
        return Err(format!(
            "`{parent}` runs workloads of its own beside its inner groups, which no knob divides"
        ));
    }
    let values = sibling_weights(record, knob, &children)?;
    let sum: f64 = values.values().sum();
    if sum <= 0.0 {
        return Err(format!("`{knob}` reads 0 for every group"));
    }
    for (child, below) in &children {
        let share = whole * values[child] / sum;
        if below.contains(&child.as_str()) {
            shares.insert(child.clone(), share);
        }
        divide(record, knob, child, below, share, shares, weights)?;
    }
    weights.extend(values);
    Ok(())
}

/// Weights of siblings. An only child needs none: it gets all that its parent gets.
fn sibling_weights(
    record: &RepeatRecord,
    knob: &str,
    children: &BTreeMap<String, Vec<&str>>,
) -> Result<BTreeMap<String, f64>, String> {
    let mut values = BTreeMap::new();
    for child in children.keys() {
        let value = match reading::number(record, child, knob) {
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
    use assay_facts::Available;
    use assay_record::{Reading, SamplerCost};

    use super::*;

    fn record(weights: &[(&str, &str)]) -> RepeatRecord {
        RepeatRecord {
            samples: String::new(),
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
                })
                .collect(),
            queues: Vec::new(),
            workloads: Vec::new(),
            sampler: SamplerCost::default(),
            not_available: BTreeMap::new(),
            fault: None,
        }
    }

    fn shares(weights: &[(&str, &str)], groups: &[&str]) -> Result<Vec<f64>, String> {
        let expected = proportional(&record(weights), groups, "io.weight")?;
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
        assert!(error.contains("`b` reads `max`, which is no number"), "{error}");
    }
}
