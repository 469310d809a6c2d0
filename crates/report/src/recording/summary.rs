//! The document of `assay record -o json`.

use std::collections::BTreeMap;

use assay_record::run_folder::{Manifest, Recording, SourceCost};
use serde::Serialize;

use super::Recorded;
use super::section::SectionDocument;

/// The summary of a recording; docs/sampling.md has its fields.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum RecordingDocument<'r> {
    /// With numbers.
    Recorded(Summary<'r>),
    /// It ended before anything was recorded.
    Nothing {
        /// Version of this format.
        schema: u32,
        /// Why there are no numbers.
        not_available: String,
    },
}

/// The numbers of a recording.
#[derive(Debug, Serialize)]
pub(super) struct Summary<'r> {
    /// Version of this format.
    schema: u32,
    /// What was followed.
    recording: Option<&'r Recording>,
    /// When it began, in UTC.
    started_at: &'r str,
    /// Seconds from the first sampling round to the last.
    window_s: f64,
    /// The part of a CPU that sampling took.
    observer_cpu: f64,
    /// Numbers by section and name.
    summary: BTreeMap<&'static str, SectionDocument>,
    /// What each source cost.
    sources: &'r BTreeMap<String, SourceCost>,
    /// What this host lacks, by source, with the reason.
    not_available: &'r BTreeMap<String, String>,
}

pub(super) fn summary<'r>(manifest: &'r Manifest, recorded: &Recorded<'r>) -> Summary<'r> {
    let sampler = &recorded.repeat.sampler;
    let sections = recorded.sections().into_iter();
    Summary {
        schema: 1,
        recording: manifest.recording.as_ref(),
        started_at: &manifest.started_at,
        window_s: recorded.seconds(),
        observer_cpu: if sampler.wall_s > 0.0 { sampler.cpu_s / sampler.wall_s } else { 0.0 },
        summary: sections.map(|section| (section.id, section.document())).collect(),
        sources: &sampler.sources,
        not_available: &recorded.repeat.not_available,
    }
}
