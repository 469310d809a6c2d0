//! Bars below the table: promised and observed values of each group on one scale.

use assay_judge::verdict::{GroupJudgement, PromiseJudgement, TrialJudgement};
use assay_sys::escape::page::{Rows, Table, Tag, columns};

use crate::bar::{OPEN, PROMISE, SURE, signs};
use crate::subjects;
use crate::wording;

/// Maximum number of groups shown; more are in the report.
const MAX_GROUPS: usize = 16;

/// Maximum length of a bar.
const MAX_LENGTH: usize = 60;

/// Minimum useful length of a bar.
const MIN_LENGTH: usize = 10;

/// A bar for each group of the first promise with numbers; none if bars are not useful.
pub(super) fn table(judged: &TrialJudgement, width: usize) -> Option<Table> {
    let promise = judged.promises.iter().find(|promise| !promise.groups.is_empty());
    let promise = promise.filter(|promise| (2..=MAX_GROUPS).contains(&promise.groups.len()))?;
    let groups = subjects::ordered(promise);
    let name = groups.iter().map(|group| columns(&group.name)).max().unwrap_or(0);
    let length = width.saturating_sub(name + 4).min(MAX_LENGTH);
    let scale = scale(promise).filter(|_| length >= MIN_LENGTH)?;
    let legend = format!("{PROMISE} promised  {SURE} observed  {OPEN} uncertain");
    let table =
        Rows::new(&groups).left("", 0, |group| group.name.clone()).left(legend, 0, |group| Tag {
            word: bar(group, scale, length).trim_end().to_owned(),
            ..wording::tag(group.verdict)
        });
    Some(table.into())
}

/// The largest displayed value.
fn scale(promise: &PromiseJudgement) -> Option<f64> {
    let values =
        promise.groups.iter().flat_map(|group| [group.expected_share, group.share, group.high]);
    let largest = values.filter(|value| value.is_finite()).fold(0.0, f64::max);
    (largest > 0.0).then_some(largest)
}

fn bar(group: &GroupJudgement, scale: f64, length: usize) -> String {
    let column = |value: f64| value / scale * length as f64;
    // Without an interval only the value is known.
    let (low, high) = match (group.low, group.high) {
        (0.0, f64::INFINITY) => (column(group.share), column(group.share)),
        (low, high) => (column(low), column(high)),
    };
    // The promise is marked at its end, in the last column at most.
    let promised = (column(group.expected_share).round() as usize).clamp(1, length) - 1;
    signs(low, high, promised, length).collect()
}

#[cfg(test)]
mod tests {
    use assay_judge::verdict::Verdict;

    use super::*;
    use crate::ascii::ascii;

    fn group(expected: f64, low: f64, high: f64) -> GroupJudgement {
        GroupJudgement {
            name: "task1".to_owned(),
            knob: None,
            expected_share: expected,
            share_by_weight: None,
            share: (low + high) / 2.0,
            low,
            high,
            rate: 0.0,
            verdict: Verdict::Undecided,
            was: None,
            worst_span: None,
        }
    }

    fn drawn(expected: f64, low: f64, high: f64) -> String {
        ascii(&bar(&group(expected, low, high), 0.8, 16))
    }

    #[test]
    fn a_value_without_an_interval_is_drawn() {
        let group = |share| GroupJudgement { share, ..group(0.2, 0.0, f64::INFINITY) };
        assert_eq!(ascii(&bar(&group(0.6), 0.8, 16)), "###|########    ");
    }

    #[test]
    fn bar_ends_at_a_kept_promise() {
        assert_eq!(drawn(0.8, 0.8, 0.8), "###############|");
        assert_eq!(drawn(0.4, 0.4, 0.4), "#######|        ");
    }

    #[test]
    fn too_little_and_too_much_are_visible() {
        assert_eq!(drawn(0.4, 0.2, 0.25), "####~  |        ");
        assert_eq!(drawn(0.2, 0.5, 0.6), "###|######~~    ");
        assert_eq!(drawn(0.2, 0.5, f64::INFINITY), "###|######~~~~~~");
        assert_eq!(drawn(0.0, 0.0, 0.0), "|               ");
    }
}
