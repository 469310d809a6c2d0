//! Drift: knobs and queues are reread while a repeat runs, so that external changes are detected even if they
//! are reverted before the end.
//!
//! The thread that waits for the end of the window does this, about once a second: it does not prolong the
//! sampler's rounds, and its cost is recorded.

use std::path::PathBuf;

use assay_host::cgroup::Tree;
use assay_host::facts::Available;
use assay_host::scratch::ScratchDisk;
use assay_record::run_folder::{Drift, RepeatRecord, TimedReading, WatchCost};
use assay_study::plan::Trial;
use assay_sys::kernel::clock::{monotonic_ns, thread_cpu_ns};
use assay_sys::kernel::{RereadFile, Root};

use crate::runner::evidence::EvidenceWatch;
use crate::runner::knobs::{self, KnobValue};
use crate::runner::overrides::Overrides;
use crate::runner::placement::PlacementObserver;
use crate::runner::queues::Queue;

/// A compromise: a change that lasts a second shifts a share of a window of twenty by 5 % at most.
const INTERVAL_NS: u64 = 1_000_000_000;

/// What a file belongs to: an index into [`RepeatRecord::knobs`] or [`RepeatRecord::queues`], and the file or
/// attribute.
enum Owner {
    Knob(usize, String),
    Queue(usize, String),
    /// An index into [`RepeatRecord::settings`].
    Setting(usize),
}

struct Watched {
    owner: Owner,
    file: RereadFile,
    at_start: String,
    drift: Option<Drift>,
}

/// The watched files and their drift.
pub(crate) struct Watch<'r> {
    files: Vec<Watched>,
    due_ns: u64,
    cost: WatchCost,
    buffer: Vec<u8>,
    placed: PlacementObserver,
    overrides: Option<Overrides<'r>>,
    evidence: Option<EvidenceWatch>,
}

impl<'r> Watch<'r> {
    /// Opens every file whose value was read at the start. Files that cannot be kept open are left out: the
    /// readings at start and end report their errors.
    pub(crate) fn open(
        root: &Root,
        tree: &Tree,
        trial: &Trial,
        at_start: &[KnobValue],
        disks: &[ScratchDisk],
        queues: &[Queue],
    ) -> Self {
        let mut watch = Self {
            files: Vec::new(),
            due_ns: monotonic_ns() + INTERVAL_NS,
            cost: WatchCost { interval_s: INTERVAL_NS as f64 * 1e-9, ..WatchCost::default() },
            buffer: Vec::new(),
            placed: PlacementObserver::none(root),
            overrides: None,
            evidence: None,
        };
        for (index, ((group, knob), value)) in knobs::knobs(trial).zip(at_start).enumerate() {
            let own = (&knob.translation.file, &value.value);
            for (file, value) in std::iter::once(own).chain(&value.also) {
                let directory = tree.directory(&group.name, &knob.translation.controller);
                let path = directory.map(|directory| directory.join(file));
                watch.add(root, Owner::Knob(index, file.clone()), path, value.value());
            }
        }
        for (index, (disk, queue)) in disks.iter().zip(queues).enumerate() {
            let scheduler = ("scheduler", &queue.scheduler);
            let attributes = queue.attributes.iter().map(|(name, value)| (name.as_str(), value));
            for (attribute, value) in std::iter::once(scheduler).chain(attributes) {
                let path = format!("/sys/block/{}/queue/{attribute}", disk.device);
                let owner = Owner::Queue(index, attribute.to_owned());
                watch.add(root, owner, Some(path.into()), Some(value));
            }
        }
        watch.cost.files = watch.files.len() as u64;
        watch
    }

    /// Also watches the settings of the host.
    pub(crate) fn add_settings(
        &mut self,
        root: &Root,
        trial: &Trial,
        at_start: &[Available<String>],
    ) {
        for (index, (plan, value)) in trial.settings.iter().zip(at_start).enumerate() {
            let path = Some(PathBuf::from(&plan.record.path));
            self.add(root, Owner::Setting(index), path, value.value());
        }
        self.cost.files = self.files.len() as u64;
    }

    /// Also observes the placement of workloads.
    pub(crate) fn add_placements(&mut self, placed: PlacementObserver) {
        self.placed = placed;
    }

    /// Also observes the overrides.
    pub(crate) fn add_overrides(&mut self, overrides: Overrides<'r>) {
        self.overrides = Some(overrides);
    }

    /// Also takes evidence.
    pub(crate) fn add_evidence(&mut self, evidence: EvidenceWatch) {
        self.evidence = Some(evidence);
    }

    /// The window begins.
    pub(crate) fn begin(&mut self) {
        self.evidence.iter_mut().for_each(EvidenceWatch::start);
    }

    /// The window is over.
    pub(crate) fn end(&mut self) {
        self.evidence.iter_mut().for_each(EvidenceWatch::stop);
    }

    fn add(&mut self, root: &Root, owner: Owner, path: Option<PathBuf>, at_start: Option<&String>) {
        let kept = path.and_then(|path| root.open_reread(path).ok());
        if let (Some(file), Some(at_start)) = (kept, at_start) {
            self.files.push(Watched { owner, file, at_start: at_start.clone(), drift: None });
        }
    }

    /// Rereads everything if a second has passed since the last time.
    pub(crate) fn look_if_due(&mut self) {
        let before = self.placed.spent_ns();
        self.placed.look_if_due();
        if let Some(overrides) = &mut self.overrides {
            overrides.look_if_due();
        }
        self.cost.cpu_s += (self.placed.spent_ns() - before) as f64 * 1e-9;
        let now = monotonic_ns();
        if now < self.due_ns {
            return;
        }
        self.due_ns = now + INTERVAL_NS;
        let before = thread_cpu_ns();
        for watched in &mut self.files {
            watched.look(&mut self.buffer);
        }
        self.cost.rounds += 1;
        self.cost.cpu_s += (thread_cpu_ns() - before) as f64 * 1e-9;
    }

    /// Adds the results to the readings of start and end.
    pub(crate) fn finish(self, record: &mut RepeatRecord) {
        record.watch = Some(self.cost);
        self.placed.finish(record);
        if let Some(evidence) = self.evidence {
            evidence.finish(record);
        }
        record.overrides = self.overrides.map(|mut overrides| overrides.finish());
        for watched in self.files {
            let Some(drift) = watched.drift else { continue };
            let (drifts, file) = match watched.owner {
                Owner::Setting(index) => {
                    if let Some(reading) = record.settings.get_mut(index) {
                        reading.drift = Some(drift);
                    }
                    continue;
                }
                Owner::Knob(index, file) => {
                    (record.knobs.get_mut(index).map(|reading| &mut reading.drift), file)
                }
                Owner::Queue(index, file) => {
                    (record.queues.get_mut(index).map(|reading| &mut reading.drift), file)
                }
            };
            if let Some(drifts) = drifts {
                drifts.insert(file, drift);
            }
        }
    }
}

impl Watched {
    fn look(&mut self, buffer: &mut Vec<u8>) {
        let value = match self.file.read_record(buffer) {
            Ok(bytes) => Available::Value(self.value(&String::from_utf8_lossy(bytes))),
            Err(cause) => Available::NotAvailable(cause.to_string()),
        };
        if value.value() == Some(&self.at_start) {
            return;
        }
        let reading = TimedReading { time_ns: monotonic_ns(), value };
        match &mut self.drift {
            Some(drift) => {
                drift.last = reading;
                drift.readings += 1;
            }
            None => self.drift = Some(Drift { first: reading.clone(), last: reading, readings: 1 }),
        }
    }

    /// The value as it was read at the start: of the schedulers the active one.
    fn value(&self, text: &str) -> String {
        match &self.owner {
            Owner::Queue(_, attribute) if attribute == "scheduler" => {
                let choice = assay_sys::kernel::parse::choice::parse(text);
                choice.map(|choice| choice.active).unwrap_or_default()
            }
            Owner::Setting(_) => assay_sys::kernel::parse::choice::active(text).to_owned(),
            _ => text.trim().to_owned(),
        }
    }
}

#[cfg(test)]
mod tests;
