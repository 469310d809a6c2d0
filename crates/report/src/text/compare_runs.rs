//! A comparison of runs for a terminal.

use assay_verdict::{ComparedRun, RunComparison, TrialComparison};

use super::MIN_WIDTH;
use super::layout::{Table, joined, wrap};
use super::paint::Paint;
use super::trial::heading;
use crate::compare_runs;
use crate::wording;

/// Maximum rows of a trial; the JSON document has all.
const ROWS: usize = 24;

/// A comparison of two runs for a terminal of `width` columns, with ANSI colours if `color`.
#[must_use]
pub fn render(comparison: &RunComparison, width: usize, color: bool) -> String {
    let width = width.max(MIN_WIDTH);
    let paint = Paint { color };
    let mut lines = Vec::new();
    lines.extend(side("A", &comparison.a, width));
    lines.extend(side("B", &comparison.b, width));
    let verdict = comparison.verdict;
    let text = format!("{} {}", compare_runs::mark(verdict), compare_runs::word(verdict));
    let painted = paint.verdict(compare_runs::colour(verdict), &text);
    lines.push(format!("{painted}  {}", compare_runs::meaning(comparison)));
    lines.extend(wrap(&format!("  {}", wording::sentence(&comparison.reason)), width, "  "));
    lines.extend(differences(comparison, width, paint));
    for trial in &comparison.trials {
        lines.push(String::new());
        lines.extend(trial_lines(trial, width, paint));
    }
    lines.extend(alone("A", &comparison.only_in_a, width));
    lines.extend(alone("B", &comparison.only_in_b, width));
    if !comparison.notes.is_empty() {
        lines.push(String::new());
    }
    let notes = comparison.notes.iter();
    lines.extend(notes.flat_map(|note| wrap(&format!("note: {note}"), width, "  ")));
    joined(&lines)
}

fn side(name: &str, run: &ComparedRun, width: usize) -> Vec<String> {
    let text = format!(
        "{name}: {} ({}, {}, {} on {}, {})",
        run.run,
        run.study,
        run.started_at,
        run.kernel,
        run.host,
        wording::verdict(run.verdict)
    );
    wrap(&text, width, "   ")
}

fn differences(comparison: &RunComparison, width: usize, paint: Paint) -> Vec<String> {
    if comparison.differences.is_empty() {
        return vec!["  Host, kernel, study and settings are the same in both.".to_owned()];
    }
    let mut lines = vec![paint.faint("  differences:")];
    for one in &comparison.differences {
        let text = format!("    {}: {} against {}", one.what, one.a, one.b);
        lines.extend(wrap(&text, width, "      "));
    }
    lines
}

fn alone(side: &str, trials: &[assay_run_folder::Levels], width: usize) -> Vec<String> {
    if trials.is_empty() {
        return Vec::new();
    }
    let levels: Vec<String> = trials.iter().map(wording::factors).collect();
    let levels: Vec<&str> = levels.iter().map(String::as_str).collect();
    let text = format!("trials only in {side}: {}", wording::names(&levels, 6));
    std::iter::once(String::new()).chain(wrap(&text, width, "  ")).collect()
}

fn trial_lines(trial: &TrialComparison, width: usize, paint: Paint) -> Vec<String> {
    let word =
        format!("{} {}", compare_runs::mark(trial.verdict), compare_runs::word(trial.verdict));
    let painted = paint.verdict(compare_runs::colour(trial.verdict), &word);
    let mut lines = vec![heading(&compare_runs::heading(trial), &word, &painted, width, paint)];
    if let Some(why) = &trial.not_comparable {
        lines.extend(wrap(&format!("  not comparable: {why}"), width, "  "));
    }
    for change in &trial.promises {
        let text = format!(
            "  {}: {} in A, {} in B; worst error {} in A, {} in B",
            compare_runs::promise(change),
            wording::verdict(change.a.verdict),
            wording::verdict(change.b.verdict),
            compare_runs::error(&change.a),
            compare_runs::error(&change.b)
        );
        lines.extend(wrap(&text, width, "    "));
    }
    let (shown, hidden) = compare_runs::listed(trial, ROWS);
    if !shown.is_empty() {
        lines.push(String::new());
        lines.extend(rows(&shown, width, paint));
    }
    let missing: Vec<_> = shown.iter().filter(|one| one.ratio.is_none()).collect();
    for alike in missing.chunk_by(|a, b| {
        (&a.not_available, &a.measure, &a.of) == (&b.not_available, &b.measure, &b.of)
    }) {
        let why = alike[0].not_available.as_deref().unwrap_or("one side has no number");
        let groups: Vec<String> = alike.iter().map(|one| compare_runs::group(one)).collect();
        let groups: Vec<&str> = groups.iter().map(String::as_str).collect();
        let text = format!(
            "  {} of {}: not available: {why}",
            compare_runs::measure(alike[0]),
            wording::names(&groups, 6)
        );
        lines.extend(wrap(&text, width, "    "));
    }
    if hidden > 0 {
        let text =
            format!("  {} more not shown; --json has all", wording::count(hidden, "measure"));
        lines.extend(wrap(&text, width, "  "));
    }
    lines
}

fn rows(shown: &[&assay_verdict::MeasureComparison], width: usize, paint: Paint) -> Vec<String> {
    Table::new(shown)
        .left("measure", 0, |one| compare_runs::measure(one))
        .left("group", 0, |one| compare_runs::group(one))
        .right("A", 3, |one| compare_runs::value(one, &one.a))
        .right("B", 3, |one| compare_runs::value(one, &one.b))
        .right("B/A", 0, |one| compare_runs::ratio(one))
        .right("interval", 2, |one| compare_runs::range(one, " .. "))
        .left("differs", 4, |one| compare_runs::difference(one).to_owned())
        .left("verdict", 0, |one| {
            let role = if one.decides { "" } else { " (not deciding)" };
            format!("{}{role}", compare_runs::word(one.verdict))
        })
        .lines(width, paint)
}
