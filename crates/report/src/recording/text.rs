//! The summary of a recording for a terminal.

use super::Recorded;
use super::section::Section;
use crate::number;

/// Indentation of rows.
const INDENT: &str = "  ";

pub(super) fn render(recorded: &Recorded<'_>, width: usize, color: bool) -> String {
    let bold =
        |text: &str| if color { format!("\u{1b}[1m{text}\u{1b}[0m") } else { text.to_owned() };
    let manifest = recorded.manifest;
    let mut lines = vec![bold(&manifest.title)];
    let ended = manifest.recording.as_ref().and_then(|recording| recording.ended.as_deref());
    let ended = ended.map(|ended| format!("; {ended}")).unwrap_or_default();
    let sampler = &recorded.repeat.sampler;
    let cost = if sampler.wall_s > 0.0 { sampler.cpu_s / sampler.wall_s } else { 0.0 };
    lines.push(format!(
        "{} recorded{ended}; {} rounds, {} missed; sampling took {} % of one CPU",
        number::seconds(recorded.seconds()),
        sampler.rounds,
        sampler.missed,
        number::percent(cost, 2)
    ));
    for section in recorded.sections() {
        lines.push(String::new());
        lines.push(bold(section.title));
        lines.extend(rows(&section, width));
    }
    let lacking = lacking(recorded);
    if !lacking.is_empty() {
        lines.push(String::new());
        lines.push(bold("Not available"));
        lines.extend(
            lacking.into_iter().flat_map(|text| crate::text::wrapped(&text, width, INDENT)),
        );
    }
    crate::text::joined(&lines)
}

/// Sources without data, with the reasons. Missing single columns are in the page and in the JSON
/// document.
fn lacking(recorded: &Recorded<'_>) -> Vec<String> {
    let reasons = recorded.repeat.not_available.iter();
    let whole = reasons.filter(|(name, _)| !name.contains('.') || name.starts_with("threads."));
    whole.map(|(name, why)| format!("{INDENT}{name}: {why}")).collect()
}

/// Formats numbers in as many columns as fit.
fn rows(section: &Section, width: usize) -> Vec<String> {
    if let Some(why) = &section.not_available {
        return crate::text::wrapped(&format!("{INDENT}not available: {why}"), width, INDENT);
    }
    let label = section.rows.iter().map(|row| row.label.chars().count()).max().unwrap_or(0);
    let shown = section.rows.iter().map(|row| row.shown.chars().count()).max().unwrap_or(0);
    let cell = INDENT.len() + label + 1 + shown;
    let across = (width / cell.max(1)).clamp(1, 4);
    let down = section.rows.len().div_ceil(across);
    let mut lines: Vec<String> = vec![String::new(); down];
    for (index, row) in section.rows.iter().enumerate() {
        lines[index % down.max(1)]
            .push_str(&format!("{INDENT}{:<label$} {:>shown$}", row.label, row.shown));
    }
    lines.extend(section.lines.iter().map(|line| format!("{INDENT}{line}")));
    lines
}
