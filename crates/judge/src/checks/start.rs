//! `start`: the groups started together.

use assay_facts::Available;
use assay_verdict::wording::percent;

use super::{Evidence, Finding, Scope, ValidityCheck, each_repeat};
use crate::repeat::Repeat;

/// Allowed delay of the last group's first I/O after the first group's, relative to the window.
const MOST_SKEW: f64 = 0.05;

/// The window starts when the last group is released, so a late release costs nothing; a late first
/// request does, because the group had no demand until then.
pub(super) fn check(evidence: &Evidence<'_>) -> ValidityCheck {
    let check = each_repeat("start", evidence, find);
    let summary =
        "the groups did not start together, so that the first had the resource to themselves";
    ValidityCheck { check, scope: Scope::All, proves: Some(("C-LATE-START", summary)) }
}

fn find(repeat: &Repeat<'_>) -> Finding {
    let record = repeat.record;
    let released = record.all_released_ns.saturating_sub(record.released_ns) as f64 * 1e-6;
    match &record.start_skew_s {
        Available::NotAvailable(why) => {
            let mut finding = Finding::unverified(why);
            finding.evidence =
                format!("{}; all were released within {released:.1} ms", finding.evidence);
            finding
        }
        Available::Value(skew) => Finding::new(
            *skew <= MOST_SKEW * repeat.window_s(),
            format!(
                "all were released within {released:.1} ms and did their first I/O within {:.1} ms \
                 (at most {} of the window allowed)",
                skew * 1000.0,
                percent(MOST_SKEW)
            ),
        ),
    }
}
