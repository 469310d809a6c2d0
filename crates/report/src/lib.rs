//! Reports: a run and its [`Judgement`] as one offline HTML file or as terminal text.
//!
//! This crate computes no verdicts: every word such as "kept" and every interval comes from the
//! judgement. From samples it derives only what is drawn: rates of cumulative counters. It reads no
//! file and prints nothing. The plotting code is embedded in the page (`vendor/`), so a report
//! still opens offline in ten years.

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
mod means;
mod measure_style;
mod number;
mod page;
mod recording;
mod subjects;
mod text;
mod trial;
mod vendor;
mod wording;
mod workload_metrics;

use assay_run_folder::{Manifest, Table};
use assay_verdict::Judgement;

pub use ascii::ascii;
pub use error::Error;
pub use index::{IndexEntry, parse_entries as index_entries};
pub use live::{Clock, InterimResult, Live, Position, Style, trial_line};

/// The samples of a run: `[trial][repeat]` -> tables, trials in the order of the manifest.
pub type Samples = [Vec<Vec<Table>>];

/// The report as one HTML document that loads no external resources.
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

/// Same as [`html`] for the run of a search (`assay tune`), with the result of the search before
/// its trials.
pub fn html_of_tuning(
    manifest: &Manifest,
    judgement: &Judgement,
    samples: &Samples,
    tuning: &assay_intervention::Tuning,
) -> Result<String, Error> {
    page::render(manifest, judgement, samples, Some(tuning))
}

/// The page of a recording without a study (`assay sample`): the followed target over time, and the
/// kernel's activity in that time.
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

/// A judgement of external numbers without a run of Assay, under a title given by the caller.
#[must_use]
pub fn judgement_text(title: &str, judgement: &Judgement, width: usize, color: bool) -> String {
    text::judgement_only(title, judgement, width, color)
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

/// The list of runs as a page, `runs/index.html`.
pub fn index_html(entries: &[IndexEntry]) -> Result<String, Error> {
    index::render(entries)
}

/// The results of interventions, for a terminal of `width` columns.
#[must_use]
pub fn explanation_text(explanation: &assay_intervention::Explanation, width: usize) -> String {
    text::explanation::render(explanation, width)
}

/// The page of a fleet: the verdict of each host, the spread between hosts, and their differences.
pub fn fleet_html(judgement: &assay_verdict::FleetJudgement) -> Result<String, Error> {
    fleet::html(judgement)
}

/// Same as [`fleet_html`] for a terminal of `width` columns, with ANSI colours if `color`.
#[must_use]
pub fn fleet_text(judgement: &assay_verdict::FleetJudgement, width: usize, color: bool) -> String {
    text::fleet::render(judgement, width, color)
}

/// The states of a fleet's tasks, for a terminal of `width` columns.
#[must_use]
pub fn fleet_hosts_text(hosts: &[assay_verdict::FleetHost], width: usize, color: bool) -> String {
    text::fleet::hosts_text(hosts, width, color)
}

/// The result of a search for the best setting, for a terminal of `width` columns.
#[must_use]
pub fn tuning_text(tuning: &assay_intervention::Tuning, width: usize) -> String {
    text::tuning::render(tuning, width)
}

/// A prediction for a study, for a terminal of `width` columns.
#[must_use]
pub fn prediction_text(prediction: &assay_verdict::Prediction, width: usize) -> String {
    text::prediction::render(prediction, width)
}

/// The accuracy of a prediction, for a terminal of `width` columns.
#[must_use]
pub fn score_text(score: &assay_verdict::Score, width: usize) -> String {
    text::prediction::score(score, width)
}
