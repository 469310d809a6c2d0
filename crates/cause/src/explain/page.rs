//! An explanation for a terminal.

use assay_judge::verdict::Interval;
use assay_report::number::percent;
use assay_report::wording;
use assay_sys::escape::page::wrap;

use crate::{Effect, Explanation, Finding};

/// The results of interventions, for a terminal of `width` columns: the changes with their effects,
/// the causes, and the conclusion.
#[must_use]
pub fn render(explanation: &Explanation, width: usize) -> String {
    let width = width.max(40);
    let mut lines = Vec::new();
    let unchanged = explanation
        .unchanged
        .map_or_else(|| "not measured".to_owned(), of_rounds(explanation.repeats));
    lines.extend(wrap(
        &format!("unchanged: {}, error {unchanged}", explanation.measure),
        width,
        "  ",
    ));
    for arm in &explanation.arms {
        let error = arm.error.map_or_else(|| arm.reason.clone(), of_rounds(arm.repeats));
        let remaining = arm.rounds.map_or_else(String::new, |rounds| {
            let [share, low, high] =
                [rounds.left, rounds.low, rounds.high].map(|part| percent(part, 0));
            format!("; {share} % of it left round by round ({low} to {high} %)")
        });
        let line = format!("{}: {}, error {error}{remaining}", arm.change, effect(arm.effect));
        lines.extend(wrap(&line, width, "    "));
    }
    lines.push(String::new());
    for cause in &explanation.causes {
        lines.extend(wrap(&format!("{}: {}", cause.code, finding(cause.finding)), width, "  "));
        for evidence in &cause.evidence {
            lines.extend(wrap(&format!("  - {evidence}"), width, "    "));
        }
    }
    lines.push(String::new());
    lines.extend(wrap(&explanation.sentence, width, ""));
    lines.push(String::new());
    lines.join("\n")
}

/// An error with its interval; that of a single round says nothing of the next one.
fn of_rounds(rounds: usize) -> impl Fn(Interval) -> String {
    move |error| match rounds {
        1 => format!("{} in a single round", wording::error_interval(error)),
        _ => wording::error_interval(error),
    }
}

fn effect(effect: Effect) -> &'static str {
    match effect {
        Effect::Cured => "cured",
        Effect::Lessened => "lessened",
        Effect::Unmoved => "unmoved",
        Effect::Worsened => "worsened",
        Effect::Open => "open",
        Effect::Void => "void",
        Effect::NotTried => "not tried",
    }
}

fn finding(finding: Finding) -> &'static str {
    match finding {
        Finding::Proven => "proven",
        Finding::Confirmed => "confirmed",
        Finding::Contradicted => "contradicted",
        Finding::Refuted => "refuted",
        Finding::Excluded => "excluded by the kernel's events",
        Finding::Open => "open",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_rests_on_a_single_round_is_marked() {
        let text = |rounds: usize| {
            let explanation = serde_json::json!({"schema": 1, "study": "s", "measure": "io.bytes",
                "within": 0.1, "repeats": rounds, "verdict": "broken", "arms": [], "causes": [],
                "unchanged": {"value": 0.3, "low": 0.2, "high": 0.4}, "sentence": ""});
            render(&serde_json::from_value(explanation).unwrap(), 120)
        };
        assert!(text(1).contains("(20.0 to 40.0 %) in a single round"), "{}", text(1));
        assert!(!text(4).contains("single"), "{}", text(4));
    }
}
