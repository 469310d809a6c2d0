//! Resource usage of groups between two readings.

use std::collections::BTreeMap;

use crate::facts::Available;
use serde::Serialize;

use super::{Entry, Inventory};

/// Resource usage of one group per second.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rates {
    /// CPUs: CPU seconds per second.
    pub cpus: Available<f64>,
    /// Bytes read per second.
    pub read: Available<f64>,
    /// Bytes written per second.
    pub write: Available<f64>,
}

/// The rates of the groups of the later reading, in their order. A group created since the earlier one
/// has none yet; a counter that went backwards belongs to a new group of the same name.
#[must_use]
pub fn rates(before: &Inventory, after: &Inventory) -> Vec<Rates> {
    let seconds = after.taken_ns.saturating_sub(before.taken_ns).max(1) as f64 / 1e9;
    let earlier_groups: BTreeMap<&str, &Entry> =
        before.groups.iter().map(|entry| (entry.path.as_str(), entry)).collect();
    after
        .groups
        .iter()
        .map(|now| {
            let earlier = earlier_groups.get(now.path.as_str());
            let rate = |counter: fn(&Entry) -> &Available<u64>, unit: f64| {
                rate(earlier.map(|entry| counter(entry)), counter(now), unit / seconds)
            };
            Rates {
                cpus: rate(|entry| &entry.counts.cpu_us, 1e-6),
                read: rate(|entry| &entry.counts.read_bytes, 1.0),
                write: rate(|entry| &entry.counts.write_bytes, 1.0),
            }
        })
        .collect()
}

fn rate(before: Option<&Available<u64>>, now: &Available<u64>, factor: f64) -> Available<f64> {
    match (before, now) {
        (_, Available::NotAvailable(why)) => Available::NotAvailable(why.clone()),
        (Some(Available::Value(before)), Available::Value(now)) => {
            now.checked_sub(*before).map_or_else(
                || Available::NotAvailable("the group was created anew".to_owned()),
                |grown| Available::Value(grown as f64 * factor),
            )
        }
        _ => Available::NotAvailable("the group has been read only once".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_needs_two_readings_of_the_same_group() {
        let value = Available::Value;
        assert_eq!(rate(Some(&value(100)), &value(150), 0.5), Available::Value(25.0));
        assert!(rate(None, &value(150), 1.0).value().is_none());
        assert!(rate(Some(&value(200)), &value(150), 1.0).value().is_none());
        let missing = Available::NotAvailable("no such file".to_owned());
        assert_eq!(
            rate(Some(&value(1)), &missing, 1.0),
            Available::NotAvailable("no such file".to_owned())
        );
    }
}
