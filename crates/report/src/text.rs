//! The judgement for a terminal.

mod across;
pub(crate) mod compare_runs;
pub(crate) mod explanation;
pub(crate) mod fleet;
mod groups;
pub(crate) mod iocost;
mod layout;
pub(crate) mod paint;
pub(crate) mod passport;
mod picture;
mod trial;
pub(crate) mod tuning;
mod waiting;
mod workload_metrics;

use assay_run_folder::Manifest;
use assay_verdict::Judgement;

use crate::{trial as trials_of_run, wording};
pub(crate) use layout::joined;
use layout::wrap;
use paint::Paint;

/// Minimum width: a narrower table would be unreadable.
const MIN_WIDTH: usize = 40;

/// The judgement as text for a terminal of `width` columns, with ANSI colours if `color`.
///
/// With more than sixteen groups only the sixteen with the largest errors are listed, followed
/// by one line for each weight.
#[must_use]
pub fn render(manifest: &Manifest, judgement: &Judgement, width: usize, color: bool) -> String {
    let width = width.max(MIN_WIDTH);
    let paint = Paint { color };
    let mut lines: Vec<String> = Vec::new();
    lines.extend(
        wrap(&assay_escape::line(&manifest.title), width, "").iter().map(|line| paint.bold(line)),
    );
    let trials = trials_of_run::trials(manifest, judgement, &[]);
    lines.push(format!(
        "{}  {}",
        paint.verdict(judgement.verdict, &wording::marked(judgement.verdict)),
        wording::meaning(judgement, trials.iter().all(|trial| trial.judgement.is_some()))
    ));
    if let Some(guest) = &manifest.guest {
        let text = format!("{} ({})", guest.caveat(), guest.line());
        lines.extend(wrap(&text, width, "  "));
    }
    if let Some(reason) = &manifest.ended_early {
        lines.extend(wrap(&assay_escape::line(&format!("ended early: {reason}")), width, "  "));
    }
    // With many trials, bars are only in the report.
    let alone = trials.len() == 1;
    for trial in trials {
        lines.push(String::new());
        lines.extend(trial::lines(&trial, width, paint));
        if let Some(judged) = trial.judgement.filter(|_| alone) {
            lines.extend(picture::lines(judged, width, paint));
        }
    }
    lines.extend(across::lines(judgement, width, paint));
    lines.push(String::new());
    lines.extend(restored(judgement.restored.or(manifest.restored), width, paint));
    joined(&lines)
}

/// Wraps a text between words; further lines are indented.
#[must_use]
pub fn wrapped(text: &str, width: usize, indent: &str) -> Vec<String> {
    wrap(text, width.max(MIN_WIDTH), indent)
}

/// A judgement of external numbers without a run of Assay, under a title given by the caller.
#[must_use]
pub fn judgement_only(title: &str, judgement: &Judgement, width: usize, color: bool) -> String {
    let width = width.max(MIN_WIDTH);
    let paint = Paint { color };
    let mut lines = Vec::new();
    for trial in &judgement.trials {
        lines.extend(trial::judged_lines(title, trial, Vec::new(), width, paint));
    }
    if let Some(caveat) = &judgement.caveat {
        lines.extend(wrap(&format!("  note: {caveat}"), width, "  "));
    }
    joined(&lines)
}

fn restored(restored: Option<bool>, width: usize, paint: Paint) -> Vec<String> {
    match restored {
        Some(true) => vec![format!("restored: {}", paint.good("yes"))],
        Some(false) => {
            vec![format!("restored: {}, run `assay restore` to restore the rest", paint.bad("no"))]
        }
        None => wrap(
            "restored: not known, the run did not record it; run `assay restore`, which does nothing \
             if nothing is left",
            width,
            "  ",
        ),
    }
}
