//! Drift: knobs and queues are read again while a repeat runs, so that a value which someone else
//! changes is seen even if it is changed back before the end.
//!
//! The thread that waits for the end of the window does this, about once a second: the sampler's
//! rounds are not made longer, and what it costs is counted.

use std::path::PathBuf;

use assay_cgroup::Tree;
use assay_facts::Available;
use assay_host::scratch::ScratchDisk;
use assay_kernel::clock::{monotonic_ns, thread_cpu_ns};
use assay_kernel::{KeptFile, Root};
use assay_plan::Trial;
use assay_run_folder::{Drift, RepeatRecord, Seen, WatchCost};

use crate::knobs::{self, Found};
use crate::overrides::Overrides;
use crate::placement::Placed;
use crate::queues::Queue;
use crate::settings;

/// A compromise: a change that lasts a second moves a share of a window of twenty by 5 % at most.
const INTERVAL_NS: u64 = 1_000_000_000;

/// Whose value a file holds: the place in [`RepeatRecord::knobs`] or [`RepeatRecord::queues`],
/// and the file or attribute.
enum Owner {
    Knob(usize, String),
    Queue(usize, String),
    /// The place in [`RepeatRecord::settings`].
    Setting(usize),
}

struct Watched {
    owner: Owner,
    file: KeptFile,
    at_start: String,
    drift: Option<Drift>,
}

/// Files that are read again, and what they showed.
pub(crate) struct Watch<'r> {
    files: Vec<Watched>,
    due_ns: u64,
    cost: WatchCost,
    buffer: Vec<u8>,
    placed: Placed,
    overrides: Option<Overrides<'r>>,
}

impl<'r> Watch<'r> {
    /// Opens every file whose value was read at the start. A file that cannot be kept open is
    /// left out: the readings at start and end say what is wrong with it.
    pub(crate) fn open(
        root: &Root,
        tree: &Tree,
        trial: &Trial,
        at_start: &[Found],
        disks: &[ScratchDisk],
        queues: &[Queue],
    ) -> Self {
        let mut watch = Self {
            files: Vec::new(),
            due_ns: monotonic_ns() + INTERVAL_NS,
            cost: WatchCost { interval_s: INTERVAL_NS as f64 * 1e-9, ..WatchCost::default() },
            buffer: Vec::new(),
            placed: Placed::none(root),
            overrides: None,
        };
        for (index, ((group, knob), found)) in knobs::knobs(trial).zip(at_start).enumerate() {
            let own = (&knob.translation.file, &found.value);
            for (file, value) in std::iter::once(own).chain(&found.also) {
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

    /// Watches the settings of the host as well.
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

    /// Looks at where workloads are as well.
    pub(crate) fn add_placements(&mut self, placed: Placed) {
        self.placed = placed;
    }

    /// Looks at what else decides who is served as well.
    pub(crate) fn add_overrides(&mut self, overrides: Overrides<'r>) {
        self.overrides = Some(overrides);
    }

    fn add(&mut self, root: &Root, owner: Owner, path: Option<PathBuf>, at_start: Option<&String>) {
        let kept = path.and_then(|path| root.keep(path).ok());
        if let (Some(file), Some(at_start)) = (kept, at_start) {
            self.files.push(Watched { owner, file, at_start: at_start.clone(), drift: None });
        }
    }

    /// Reads everything again if a second has passed since the last time.
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

    /// Adds what was seen to the readings of start and end.
    pub(crate) fn tell(self, record: &mut RepeatRecord) {
        record.watch = Some(self.cost);
        self.placed.tell(record);
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
        let seen = Seen { time_ns: monotonic_ns(), value };
        match &mut self.drift {
            Some(drift) => {
                drift.last = seen;
                drift.readings += 1;
            }
            None => self.drift = Some(Drift { first: seen.clone(), last: seen, readings: 1 }),
        }
    }

    /// The text as it was read at the start: of the schedulers the active one.
    fn value(&self, text: &str) -> String {
        match &self.owner {
            Owner::Queue(_, attribute) if attribute == "scheduler" => {
                let choice = assay_kernel::parse::choice::parse(text);
                choice.map(|choice| choice.active).unwrap_or_default()
            }
            Owner::Setting(_) => settings::active(text),
            _ => text.trim().to_owned(),
        }
    }
}
