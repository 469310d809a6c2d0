//! Page placement. All pages were counted at the end of each repeat.

use std::borrow::Cow;
use std::collections::BTreeMap;

use assay_host::facts::Available;
use assay_record::run_folder::{NodeCounts, PlacementReading, PlacementRecord};
use assay_record::terms::PlacementMeasure;
use assay_sys::units::MemoryPolicy;

/// Resolution of placement: a page is on one node or another.
const PAGE: f64 = 4096.0;

/// Bytes by node, at least one, or why there are none.
pub(super) fn by_node(
    what: PlacementMeasure,
    reading: &PlacementReading,
) -> Result<Cow<'_, BTreeMap<u16, u64>>, String> {
    let found = match &reading.pages {
        Some(Available::Value(found)) => found,
        Some(Available::NotAvailable(why)) => return Err(format!("not available: {why}")),
        None => return Err("its pages were not counted".to_owned()),
    };
    let (found, none) = match what {
        PlacementMeasure::FilePages => {
            let mut sum: BTreeMap<u16, u64> = BTreeMap::new();
            for (node, bytes) in reading.files.values().flatten() {
                *sum.entry(*node).or_default() += bytes;
            }
            (Cow::Owned(sum), "no file except programs and libraries mapped")
        }
        _ => (Cow::Borrowed(found), "no anonymous memory"),
    };
    match found.values().sum::<u64>() {
        0 => Err(format!("it had {none} at the end of the window")),
        _ => Ok(found),
    }
}

/// The part of all bytes that lies where the policy places it, of each node no more than its part; and the smallest part
/// that can be distinguished.
pub(super) fn in_place(
    what: PlacementMeasure,
    asked: &PlacementRecord,
    reading: &PlacementReading,
    counts: Option<&NodeCounts>,
) -> Result<(f64, f64), String> {
    let found = by_node(what, reading)?;
    let total: u64 = found.values().sum();
    let expected = expected(asked, counts)?;
    let part = |node: &u16| found.get(node).copied().unwrap_or(0) as f64 / total as f64;
    let held = match &asked.memory {
        // Any of its nodes is correct.
        Some(MemoryPolicy::Bind(nodes) | MemoryPolicy::PreferredMany(nodes))
            if expected.is_empty() =>
        {
            nodes.iter().map(|node| part(&node)).sum()
        }
        _ => expected.iter().map(|(node, most)| part(node).min(*most)).sum::<f64>(),
    };
    Ok((held, PAGE / total as f64))
}

/// The expected part of each node; empty where any of several nodes is correct.
fn expected(
    asked: &PlacementRecord,
    counts: Option<&NodeCounts>,
) -> Result<BTreeMap<u16, f64>, String> {
    match &asked.memory {
        Some(MemoryPolicy::WeightedInterleave(nodes)) => {
            let weights =
                counts.map(|counts| &counts.weights).ok_or("the weights were not read")?;
            let weight = |node| weights.get(&node).copied().unwrap_or(1) as f64;
            let sum: f64 = nodes.iter().map(weight).sum();
            Ok(nodes.iter().map(|node| (node, weight(node) / sum)).collect())
        }
        Some(MemoryPolicy::Bind(_) | MemoryPolicy::PreferredMany(_)) => Ok(asked.pages.clone()),
        _ if asked.pages.is_empty() => {
            let policy = asked.memory.as_ref().map_or("no policy".to_owned(), ToString::to_string);
            Err(format!("`{policy}` on these CPUs promises nothing about single nodes"))
        }
        _ => Ok(asked.pages.clone()),
    }
}
