//! Reports: a run and its [`Judgement`] as one offline HTML file or as terminal text.
//!
//! This crate computes no verdicts: every word such as "kept" and every interval comes from the
//! judgement. From samples it derives only what is drawn: rates of cumulative counters. It reads no
//! file and prints nothing. The plotting code is embedded in the page (`vendor/`), so a report
//! still opens offline in ten years.

mod across;
mod ascii;
mod bar;
pub mod claims;
mod compare_runs;
mod counters;
mod figure;
mod fleet;
mod html;
mod live;
mod means;
mod measure_style;
pub mod number;
mod page;
mod recording;
mod subjects;
mod trial;
mod waiting;
pub mod wording;

pub mod export;

use assay_record::run_folder::Table;

pub use across::sentence as comparison_words;
pub use ascii::ascii;
pub use fleet::{html as fleet_html, text as fleet_text};
pub use html::page as page_html;
pub use live::{Clock, Live, Position, Style, trial_line};
pub use page::comparison::{html as comparison_html, text as comparison_text};
pub use page::{html, text};
pub use recording::{
    document as recording_document, html as recording_html, text as recording_text,
};
pub use wording::promise as promise_words;

/// The samples of a run: `[trial][repeat]` -> tables, trials in the order of the manifest.
pub type Samples = [Vec<Vec<Table>>];
