//! Run + [`Judgement`] -> one offline HTML file, and a text for the terminal.
//!
//! This room computes no verdicts: every word such as "kept" and every interval comes from the
//! judgement. What it derives from samples is only what is drawn, rates of cumulative counters.
//! It reads no file and prints nothing; the plotting code travels inside the page
//! (`vendor/README.md`), so that a report opens from a memory stick in ten years.

mod across;
mod counters;
mod error;
mod figure;
mod number;
mod page;
mod quantity;
mod said;
mod subjects;
mod text;
mod timeline;
mod trial;
mod vendor;
mod wording;

use assay_judge::Judgement;
use assay_record::{Manifest, Table};

pub use error::Error;

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
    page::render(manifest, judgement, samples)
}

/// The judgement as text for a terminal of `width` columns, with ANSI colours if `color`.
///
/// With more than sixteen groups only the sixteen with the largest errors are listed, followed
/// by one line for each weight.
#[must_use]
pub fn text(manifest: &Manifest, judgement: &Judgement, width: usize, color: bool) -> String {
    text::render(manifest, judgement, width, color)
}
