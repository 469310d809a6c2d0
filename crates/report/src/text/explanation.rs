//! An explanation for a terminal.

use assay_intervention::{Effect, Explanation, Finding};

use super::layout::wrap;
use crate::number::percent;
use crate::wording;

/// The changes with their effects, the causes, and the conclusion.
pub(crate) fn render(explanation: &Explanation, width: usize) -> String {
    let width = width.max(40);
    let mut lines = Vec::new();
    let unchanged =
        explanation.unchanged.map_or_else(|| "not measured".to_owned(), wording::error_interval);
    lines.extend(wrap(
        &format!("unchanged: {}, error {unchanged}", explanation.measure),
        width,
        "  ",
    ));
    for arm in &explanation.arms {
        let error = arm.error.map_or_else(|| arm.reason.clone(), wording::error_interval);
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
        Finding::Contradicted => "contradicted by another change",
        Finding::Refuted => "refuted",
        Finding::Open => "open",
    }
}
