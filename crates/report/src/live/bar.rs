//! Text bars, one character per column.

use assay_judge::verdict::GroupJudgement;

use crate::bar::signs;

/// The margin around the promise.
const MARGIN: char = '\u{b7}';

/// A progress bar, 0 to 1.
pub(super) fn progress(part: f64, columns: usize) -> String {
    let full = (part.clamp(0.0, 1.0) * columns as f64).round() as usize;
    (0..columns).map(|column| if column < full { '\u{2588}' } else { '\u{2591}' }).collect()
}

/// A group's share (or rate) against its promise, which is in the middle; the bar ends at twice the
/// promise. Solid up to the lower end of the interval, shaded up to the upper end; dots show the
/// margin where the bar does not cover it.
pub(super) fn against_promise(group: &GroupJudgement, within: f64, columns: usize) -> String {
    let middle = columns / 2;
    // The promise is at the centre of its column, so that the margin is symmetric.
    let position = |value: f64| {
        let ratio = value / group.expected_share;
        if ratio.is_finite() { ratio * (middle as f64 + 0.5) } else { columns as f64 }
    };
    let (low, high) = (position(group.low), position(group.high));
    let margin = within * (middle as f64 + 0.5);
    let is_margin = |column: usize| column.abs_diff(middle) as f64 <= margin;
    let signs = signs(low, high, middle, columns).enumerate();
    signs
        .map(|(column, sign)| if sign == ' ' && is_margin(column) { MARGIN } else { sign })
        .collect()
}

#[cfg(test)]
mod tests {
    use assay_judge::verdict::Verdict;

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
    fn interval_narrows_towards_the_promise() {
        assert_eq!(bar(0.30, 0.70, 21), "######~~~~|~~~~      ");
        assert_eq!(bar(0.45, 0.55, 21), "#########~|~.        ");
        assert_eq!(bar(0.499, 0.501, 21), "##########|..        ");
    }

    #[test]
    fn too_much_and_too_little_are_visible() {
        assert_eq!(bar(0.0, 0.01, 21), "        ..|..        ");
        assert_eq!(bar(0.98, 0.99, 21), "##########|##########");
        assert_eq!(bar(4.0, f64::INFINITY, 5), "##|##");
    }

    #[test]
    fn progress_stays_within_its_columns() {
        assert_eq!(ascii(&progress(0.5, 4)), "##..");
        assert_eq!(ascii(&progress(7.0, 4)), "####");
        assert_eq!(ascii(&progress(f64::NAN, 4)), "....");
    }
}
