//! A recording without a study: the followed target, its activity and placement, and the kernel's
//! activity in that time. It has no promises and no verdict.

mod bandwidth;
mod disks;
mod memory;
mod page;
mod section;
mod summary;
mod threads;

use assay_record::run_folder::{Manifest, RepeatRecord};
use serde_json::{Value, json};

use crate::Samples;
use crate::counters::{Curve, curves};
use crate::html::{self, FIGURES};
use crate::trial::Trial;
use section::Section;
use summary::{RecordingDocument, summary};

/// A recording and its window.
pub(crate) struct Recorded<'a> {
    manifest: &'a Manifest,
    trial: Trial<'a>,
    repeat: &'a RepeatRecord,
}

impl<'a> Recorded<'a> {
    /// `None` if the manifest has no repeat.
    pub(crate) fn new(manifest: &'a Manifest, samples: &'a Samples) -> Option<Self> {
        let trial = Trial::recorded(manifest, samples)?;
        let repeat = manifest.trials.first()?.repeats.first()?;
        Some(Self { manifest, trial, repeat })
    }

    /// Seconds from the first sampling round to the last.
    fn seconds(&self) -> f64 {
        self.repeat.stopped_ns.saturating_sub(self.repeat.released_ns) as f64 / 1e9
    }

    /// The curve of one counter of one subject.
    fn curve(&self, source: &str, subject: &str, column: &str) -> Option<Curve> {
        let (_, _, table) = self.trial.tables(source).into_iter().next()?;
        curves(table, &[column]).remove(subject)
    }

    /// Growth of a counter over the window, and the seconds it covers.
    fn growth(&self, source: &str, subject: &str, column: &str) -> Option<(f64, f64)> {
        let curve = self.curve(source, subject, column)?;
        let (from, to) = curve.clamp(self.repeat.released_ns, self.repeat.stopped_ns)?;
        let seconds = (to - from) as f64 / 1e9;
        Some((curve.rate(from, to)? * seconds, seconds))
    }

    /// Its mean rate per second.
    fn rate(&self, source: &str, subject: &str, column: &str) -> Option<f64> {
        self.growth(source, subject, column).map(|(grown, seconds)| grown / seconds)
    }

    /// The mean of a gauge.
    fn mean(&self, source: &str, subject: &str, column: &str) -> Option<f64> {
        let curve = self.curve(source, subject, column)?;
        curve.mean(self.repeat.released_ns, self.repeat.stopped_ns.saturating_add(1))
    }

    fn sections(&self) -> Vec<Section> {
        let mut sections = vec![threads::threads(self), threads::pages(self)];
        sections.extend(memory::sections(self));
        sections
    }
}

const NOTHING: &str = "nothing was recorded: the manifest has no repeat";

/// The page of a recording without a study (`assay record`): the followed target over time, and the
/// kernel's activity in that time. `None` if the manifest has no repeat.
#[must_use]
pub fn html(manifest: &Manifest, samples: &Samples) -> Option<String> {
    let recorded = Recorded::new(manifest, samples)?;
    Some(html::document(&page::page(&recorded), &FIGURES))
}

/// The summary of a recording for a terminal of `width` columns.
#[must_use]
pub fn text(manifest: &Manifest, samples: &Samples, width: usize, color: bool) -> String {
    match Recorded::new(manifest, samples) {
        Some(recorded) => page::page(&recorded).text(width, color),
        None => NOTHING.to_owned(),
    }
}

/// The summary of a recording for programs, schema 1.
#[must_use]
pub fn document(manifest: &Manifest, samples: &Samples) -> Value {
    let Some(recorded) = Recorded::new(manifest, samples) else {
        return json!(RecordingDocument::Nothing { schema: 1, not_available: NOTHING.to_owned() });
    };
    json!(RecordingDocument::Recorded(summary(manifest, &recorded)))
}
