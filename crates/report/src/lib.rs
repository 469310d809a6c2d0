//! Run + [`Judgement`] -> one offline HTML file, and a text for the terminal.
//!
//! This room computes no verdicts: every word such as "kept" and every interval comes from the
//! judgement. What it derives from samples is only what is drawn, rates of cumulative counters.
//! It reads no file and prints nothing; the plotting code travels inside the page
//! (`vendor/`), so that a report opens from a memory stick in ten years.

mod across;
mod ascii;
mod bar;
mod compare_runs;
mod counters;
mod error;
mod figure;
mod fleet;
mod index;
mod live;
mod measure_style;
mod number;
mod page;
mod recording;
mod subjects;
mod text;
mod timeline;
mod trial;
mod vendor;
mod wording;
mod workload_metrics;

use assay_run_folder::{Manifest, Table};
use assay_verdict::Judgement;

pub use ascii::ascii;
pub use error::Error;
pub use index::{IndexEntry, known as index_entries};
pub use live::{Clock, Live, Place, Seen, Style, trial_line};

/// The samples of a run: `[trial][repeat]` -> tables, trials in the order of the manifest.
pub type Samples = [Vec<Vec<Table>>];

/// The whole report as one HTML document that loads nothing from anywhere.
///
/// `samples` may be shorter than the manifest, or empty: a figure whose samples are missing is
/// replaced by the reason for it.
pub fn html(
    manifest: &Manifest,
    judgement: &Judgement,
    samples: &Samples,
) -> Result<String, Error> {
    page::render(manifest, judgement, samples, None)
}

/// The same for the run of a search (`assay tune`), with what the search came to before its trials.
pub fn html_of_tuning(
    manifest: &Manifest,
    judgement: &Judgement,
    samples: &Samples,
    tuning: &assay_intervention::Tuning,
) -> Result<String, Error> {
    page::render(manifest, judgement, samples, Some(tuning))
}

/// The page of a recording without a study (`assay sample`): what was followed over time, and what
/// the kernel did meanwhile.
pub fn recording_html(manifest: &Manifest, samples: &Samples) -> Result<String, Error> {
    recording::html(manifest, samples)
}

/// The summary of a recording for a terminal of `width` columns.
#[must_use]
pub fn recording_text(manifest: &Manifest, samples: &Samples, width: usize, color: bool) -> String {
    recording::text(manifest, samples, width, color)
}

/// The summary of a recording for programs, schema 1; docs/sampling.md has its fields.
#[must_use]
pub fn recording_document(manifest: &Manifest, samples: &Samples) -> serde_json::Value {
    recording::document(manifest, samples)
}

/// The judgement as text for a terminal of `width` columns, with ANSI colours if `color`.
///
/// With more than sixteen groups only the sixteen with the largest errors are listed, followed
/// by one line for each weight.
#[must_use]
pub fn text(manifest: &Manifest, judgement: &Judgement, width: usize, color: bool) -> String {
    text::render(manifest, judgement, width, color)
}

/// A judgement of numbers that no run of Assay stands behind, under a title of the caller's.
#[must_use]
pub fn judgement_text(title: &str, judgement: &Judgement, width: usize, color: bool) -> String {
    text::of_judgement(title, judgement, width, color)
}

/// The page of a comparison of two runs.
pub fn comparison_html(comparison: &assay_verdict::RunComparison) -> Result<String, Error> {
    page::comparison(comparison)
}

/// A comparison of two runs for a terminal of `width` columns, with ANSI colours if `color`.
#[must_use]
pub fn comparison_text(
    comparison: &assay_verdict::RunComparison,
    width: usize,
    color: bool,
) -> String {
    text::compare_runs::render(comparison, width, color)
}

/// The page that lists runs, `runs/index.html`.
pub fn index_html(entries: &[IndexEntry]) -> Result<String, Error> {
    index::render(entries)
}

/// What interventions came to, for a terminal of `width` columns.
#[must_use]
pub fn explanation_text(explanation: &assay_intervention::Explanation, width: usize) -> String {
    text::explanation::render(explanation, width)
}

/// The page of a fleet: what each host found, the spread between them, and in what they differ.
pub fn fleet_html(judgement: &assay_verdict::FleetJudgement) -> Result<String, Error> {
    fleet::html(judgement)
}

/// The same for a terminal of `width` columns, with ANSI colours if `color`.
#[must_use]
pub fn fleet_text(judgement: &assay_verdict::FleetJudgement, width: usize, color: bool) -> String {
    text::fleet::render(judgement, width, color)
}

/// Where the tasks of a fleet are, for a terminal of `width` columns.
#[must_use]
pub fn fleet_hosts_text(hosts: &[assay_verdict::FleetHost], width: usize, color: bool) -> String {
    text::fleet::hosts_text(hosts, width, color)
}

/// What a search for the best setting came to, for a terminal of `width` columns.
#[must_use]
pub fn tuning_text(tuning: &assay_intervention::Tuning, width: usize) -> String {
    text::tuning::render(tuning, width)
}

/// What is expected of a study, for a terminal of `width` columns.
#[must_use]
pub fn prediction_text(prediction: &assay_verdict::Prediction, width: usize) -> String {
    text::prediction::render(prediction, width)
}

/// How near a prediction came, for a terminal of `width` columns.
#[must_use]
pub fn score_text(score: &assay_verdict::Score, width: usize) -> String {
    text::prediction::score(score, width)
}
