//! A comparison of runs for a terminal.

use assay_judge::{ComparedRun, RunComparison, TrialComparison};

use super::NARROWEST;
use super::layout::{Align, Column, table, wrap};
use super::paint::Paint;
use super::trial::heading;
use crate::against;
use crate::wording;

/// Rows of a trial; the document has all of them.
const ROWS: usize = 24;

/// The whole text.
pub(crate) fn render(comparison: &RunComparison, width: usize, color: bool) -> String {
    let width = width.max(NARROWEST);
    let paint = Paint { color };
    let mut lines = Vec::new();
    lines.extend(side("A", &comparison.a, width));
    lines.extend(side("B", &comparison.b, width));
    let verdict = comparison.verdict;
    let said = format!("{} {}", against::mark(verdict), against::word(verdict));
    let painted = paint.verdict(against::colour(verdict), &said);
    lines.push(format!("{painted}  {}", against::meaning(comparison)));
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
    let mut text = lines.iter().map(|line| line.trim_end()).collect::<Vec<_>>().join("\n");
    text.push('\n');
    text
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
    let mut lines = vec![paint.faint("  not the same in both:")];
    for one in &comparison.differences {
        let text = format!("    {}: {} against {}", one.what, one.a, one.b);
        lines.extend(wrap(&text, width, "      "));
    }
    lines
}

fn alone(side: &str, trials: &[assay_record::Levels], width: usize) -> Vec<String> {
    if trials.is_empty() {
        return Vec::new();
    }
    let levels: Vec<String> = trials.iter().map(wording::factors).collect();
    let levels: Vec<&str> = levels.iter().map(String::as_str).collect();
    let text = format!("trials that {side} alone has: {}", wording::names(&levels, 6));
    std::iter::once(String::new()).chain(wrap(&text, width, "  ")).collect()
}

fn trial_lines(trial: &TrialComparison, width: usize, paint: Paint) -> Vec<String> {
    let word = format!("{} {}", against::mark(trial.verdict), against::word(trial.verdict));
    let painted = paint.verdict(against::colour(trial.verdict), &word);
    let mut lines = vec![heading(&against::heading(trial), &word, &painted, width, paint)];
    if let Some(why) = &trial.not_comparable {
        lines.extend(wrap(&format!("  not comparable: {why}"), width, "  "));
    }
    for change in &trial.promises {
        let text = format!(
            "  {}: {} in A, {} in B; worst error {} in A, {} in B",
            against::promise(change),
            wording::verdict(change.a.verdict),
            wording::verdict(change.b.verdict),
            against::error(&change.a),
            against::error(&change.b)
        );
        lines.extend(wrap(&text, width, "    "));
    }
    let (shown, left) = against::listed(trial, ROWS);
    if !shown.is_empty() {
        lines.push(String::new());
        lines.extend(rows(&shown, width, paint));
    }
    for one in shown.iter().filter(|one| one.ratio.is_none()) {
        let why = one.not_available.as_deref().unwrap_or("one side has no number");
        let text =
            format!("  {} of {}: not available: {why}", against::measure(one), against::whom(one));
        lines.extend(wrap(&text, width, "    "));
    }
    if left > 0 {
        let text =
            format!("  {} more beside these; --json has all", wording::count(left, "measure"));
        lines.extend(wrap(&text, width, "  "));
    }
    lines
}

fn rows(shown: &[&assay_judge::MeasureComparison], width: usize, paint: Paint) -> Vec<String> {
    let cells = |of: &dyn Fn(&assay_judge::MeasureComparison) -> String| -> Vec<String> {
        shown.iter().map(|one| of(one)).collect()
    };
    let columns = vec![
        Column::new("measure", Align::Left, 0, cells(&against::measure)),
        Column::new("group", Align::Left, 0, cells(&against::whom)),
        Column::new("A", Align::Right, 3, cells(&|one| against::value(one, &one.a))),
        Column::new("B", Align::Right, 3, cells(&|one| against::value(one, &one.b))),
        Column::new("B/A", Align::Right, 0, cells(&against::ratio)),
        Column::new("interval", Align::Right, 2, cells(&|one| against::range(one, " .. "))),
        Column::new("differs", Align::Left, 4, cells(&|one| against::difference(one).to_owned())),
        Column::new(
            "verdict",
            Align::Left,
            0,
            cells(&|one| {
                let beside = if one.decides { "" } else { " (beside)" };
                format!("{}{beside}", against::word(one.verdict))
            }),
        ),
    ];
    let mut rows = table(columns, width).into_iter();
    let heading = rows.next().map(|heading| paint.faint(&heading));
    heading.into_iter().chain(rows).collect()
}
