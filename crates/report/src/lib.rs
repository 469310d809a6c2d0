//! Reports: a run and its [`Judgement`] as one offline HTML file or as terminal text.
//!
//! This crate computes no verdicts: every word such as "kept" and every interval comes from the
//! judgement. From samples it derives only what is drawn: rates of cumulative counters. It reads no
//! file and prints nothing. The plotting code is embedded in the page (`vendor/`), so a report
//! still opens offline in ten years.

mod across;
mod ascii;
mod audit;
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
mod waiting;
mod wording;
mod workload_metrics;

use assay_run_folder::{Manifest, Table};
use assay_verdict::Judgement;

pub use across::sentence as comparison_words;
pub use ascii::ascii;
pub use audit::{html as audit_html, manifest_html, own_html};
pub use error::Error;
pub use fleet::html as fleet_html;
pub use index::{IndexEntry, parse_entries as index_entries, render as index_html};
pub use live::{Clock, InterimResult, Live, Position, Style, trial_line};
pub use page::comparison as comparison_html;
pub use recording::{
    document as recording_document, html as recording_html, text as recording_text,
};
pub use text::compare_runs::render as comparison_text;
pub use text::explanation::render as explanation_text;
pub use text::fleet::{hosts_text as fleet_hosts_text, render as fleet_text};
pub use text::iocost::render as iocost_text;
pub use text::passport::render as passport_text;
pub use text::tuning::render as tuning_text;
pub use text::{judgement_only as judgement_text, render as text, wrapped};
pub use wording::promise as promise_words;

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
