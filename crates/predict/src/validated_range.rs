//! Whether a scenario is within the range in which predictions were compared with runs.

use crate::bfq::{self, capped};
use crate::from_plan::PlannedTrial;
use crate::scenario::{Device, Scenario, Scheduler};

/// Groups of the configurations of the validation (docs/predicting.md).
pub(crate) const GROUPS: std::ops::RangeInclusive<usize> = 2..=64;

/// Requests outstanding per group for which shares matched the prediction. With one at a time BFQ's injection
/// dominates, and none of 10 predictions was within 5 %.
pub(crate) const DEPTHS: std::ops::RangeInclusive<u32> = 4..=64;

/// Range of request sizes.
pub(crate) const BYTES: std::ops::RangeInclusive<u64> = 4096..=262_144;

/// Largest ratio of weights.
pub(crate) const SPREAD: f64 = 10.0;

/// The reasons why the scenario is out of range; empty if it is within.
#[must_use]
pub fn out_of_range(planned: &PlannedTrial) -> Vec<String> {
    let mut reasons = Vec::new();
    let mut unless = |holds: bool, why: String| {
        if !holds {
            reasons.push(why);
        }
    };
    let scenario = &planned.scenario;
    let members = &scenario.members;
    let count = members.len();
    unless(
        GROUPS.contains(&count),
        format!("{count} groups, compared with {} to {}", GROUPS.start(), GROUPS.end()),
    );
    let deep = members.iter().map(|member| member.depth).find(|depth| !DEPTHS.contains(depth));
    if let Some(depth) = deep {
        let (least, most) = (DEPTHS.start(), DEPTHS.end());
        unless(false, format!("{depth} requests outstanding, compared with {least} to {most}"));
    }
    let large = members.iter().map(|member| member.bytes).find(|bytes| !BYTES.contains(bytes));
    if let Some(bytes) = large {
        let (least, most) = (BYTES.start(), BYTES.end());
        unless(false, format!("requests of {bytes} bytes, compared with {least} to {most}"));
    }
    let weights = || members.iter().map(|member| member.weight);
    let spread = weights().fold(0.0, f64::max) / weights().fold(f64::INFINITY, f64::min);
    unless(
        spread <= SPREAD,
        format!("weights that differ by a factor of {spread:.0}, compared with up to {SPREAD:.0}"),
    );
    unless(
        matches!(scenario.scheduler, Scheduler::Bfq { .. })
            && planned.obeyed_by.as_deref() != Some("iocost"),
        "another scheduler than bfq".to_owned(),
    );
    unless(scenario.device == Device::Loop, "another disk than a loop device".to_owned());
    if let Some(why) = held_back(scenario) {
        unless(false, why);
    }
    if finds_budget(scenario) {
        reasons.push("a budget that BFQ finds by itself (max_budget = 0)".to_owned());
    }
    reasons.extend(planned.assumed.iter().map(|what| format!("not measured here: {what}")));
    reasons.extend(planned.left_out.iter().map(|what| format!("not in the model: {what}")));
    reasons
}

/// Which groups BFQ's caps limit is derived; what that costs them is fitted to a few runs.
fn held_back(scenario: &Scenario) -> Option<String> {
    if scenario.scheduler == Scheduler::Fifo {
        return None;
    }
    let all = scenario.members.len();
    match capped(scenario) {
        0 => None,
        bound if bound == all => Some(
            "all groups want more requests than BFQ's caps of the pool allow: by how much they \
             miss their shares is unknown"
                .to_owned(),
        ),
        bound if bfq::shares(scenario).is_none() => Some(format!(
            "{bound} of {all} groups want more requests, which merge, than BFQ's cap of the pool allows them: by how \
             much they miss their shares is unknown"
        )),
        bound => Some(format!(
            "{bound} of {all} groups want more requests than BFQ's cap of the pool allows them: \
             they lose share, but how much is a guess"
        )),
    }
}

/// Whether BFQ determines the budget from the rate it measures: in that case 1 of 13 predictions was within 5
/// %.
fn finds_budget(scenario: &Scenario) -> bool {
    scenario.scheduler == Scheduler::Bfq { has_budget: false }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Member;

    fn scenario(groups: usize, depth: u32, pool: u32) -> Scenario {
        let member = |at: usize| Member {
            weight: 100.0 * [1.0, 2.0, 4.0, 8.0][at % 4],
            depth,
            bytes: 4096,
            sequential: false,
            writes: false,
            cost: None,
        };
        Scenario {
            members: (0..groups).map(member).collect(),
            scheduler: Scheduler::Bfq { has_budget: false },
            pool,
            device: Device::Loop,
            cpus: 2.0,
        }
    }

    #[test]
    fn only_groups_limited_by_the_caps_are_out_of_range() {
        assert_eq!(held_back(&scenario(8, 8, 256)), None);
        let other = Scenario { scheduler: Scheduler::Fifo, ..scenario(8, 32, 256) };
        assert_eq!(held_back(&other), None);
        let some = held_back(&scenario(8, 32, 256)).unwrap();
        assert!(some.starts_with("4 of 8 groups want more"), "{some}");
        let all = held_back(&scenario(16, 32, 64)).unwrap();
        assert!(all.starts_with("all groups want more"), "{all}");
    }

    #[test]
    fn a_configured_budget_is_within_range() {
        let mut planned = scenario(4, 8, 256);
        assert!(finds_budget(&planned));
        planned.scheduler = Scheduler::Bfq { has_budget: true };
        assert!(!finds_budget(&planned));
    }

    #[test]
    fn writers_are_limited_to_three_quarters_of_the_pool() {
        let mut writing = scenario(4, 12, 256);
        assert_eq!(held_back(&writing), None, "the lightest may have 17");
        writing.members.iter_mut().for_each(|member| member.writes = true);
        assert!(held_back(&writing).is_none(), "and of 192 it may have 13");
        writing.pool = 224;
        assert!(held_back(&writing).unwrap().starts_with("1 of 4"));
    }
}
