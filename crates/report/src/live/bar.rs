//! Bars of signs, one sign a column.

use assay_verdict::GroupJudgement;

use crate::bar::signs;

/// Within the margin around it.
const MARGIN: char = '\u{b7}';

/// How far something is, 0 to 1.
pub(super) fn progress(part: f64, columns: usize) -> String {
    let full = (part.clamp(0.0, 1.0) * columns as f64).round() as usize;
    (0..columns).map(|column| if column < full { '\u{2588}' } else { '\u{2591}' }).collect()
}

/// A group's share (or rate) against its promise, which stands in the middle: the bar ends at
/// twice of it. Solid up to the lower end of the interval, shaded up to the upper one; dots mark
/// the margin where the bar does not reach.
pub(super) fn against_promise(group: &GroupJudgement, within: f64, columns: usize) -> String {
    let middle = columns / 2;
    // The promise lies in the middle of its column, so that the margin is even on both sides.
    let place = |value: f64| {
        let ratio = value / group.expected_share;
        if ratio.is_finite() { ratio * (middle as f64 + 0.5) } else { columns as f64 }
    };
    let (low, high) = (place(group.low), place(group.high));
    let margin = within * (middle as f64 + 0.5);
    let is_margin = |column: usize| column.abs_diff(middle) as f64 <= margin;
    let signs = signs(low, high, middle, columns).enumerate();
    signs
        .map(|(column, sign)| if sign == ' ' && is_margin(column) { MARGIN } else { sign })
        .collect()
}

#[cfg(test)]
mod tests {
    use assay_verdict::Verdict;

    use super::*;
    use crate::ascii::ascii;

    fn bar(low: f64, high: f64, columns: usize) -> String {
        let group = GroupJudgement {
            was: None,
            worst_span: None,
            name: "task1".to_owned(),
            knob: None,
            expected_share: 0.5,
            share_by_weight: None,
            share: (low + high) / 2.0,
            low,
            high,
            rate: 0.0,
            verdict: Verdict::Undecided,
        };
        ascii(&against_promise(&group, 0.2, columns))
    }

    #[test]
    fn the_interval_closes_in_on_the_promise() {
        assert_eq!(bar(0.30, 0.70, 21), "######~~~~|~~~~      ");
        assert_eq!(bar(0.45, 0.55, 21), "#########~|~.        ");
        assert_eq!(bar(0.499, 0.501, 21), "##########|..        ");
    }

    #[test]
    fn too_much_and_too_little_are_seen_at_a_glance() {
        assert_eq!(bar(0.0, 0.01, 21), "        ..|..        ");
        assert_eq!(bar(0.98, 0.99, 21), "##########|##########");
        assert_eq!(bar(4.0, f64::INFINITY, 5), "##|##");
    }

    #[test]
    fn progress_never_leaves_its_room() {
        assert_eq!(ascii(&progress(0.5, 4)), "##..");
        assert_eq!(ascii(&progress(7.0, 4)), "####");
        assert_eq!(ascii(&progress(f64::NAN, 4)), "....");
    }
}
