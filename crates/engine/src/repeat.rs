//! One repeat of one trial.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_cgroup::Tree;
use assay_facts::Available;
use assay_host::scratch::ScratchDisk;
use assay_kernel::Error;
use assay_plan::{Part, PlacePlan, Slot, Trial};
use assay_record::{
    Dropped, Fault, QueueReading, RepeatRecord, StopRecord, WorkloadResult, to_parquet,
};
use assay_sample::{FirstIo, Outcome, Sampler, Targets, prepare};
use assay_workload::fio::{Place, gate_line, parse_output};

use crate::decider::Progress;
use crate::failure::Failure;
use crate::gate::{Arrival, Gate, Release};
use crate::knobs;
use crate::measure::{Window, measure};
use crate::placed::{Placed, placement};
use crate::processes::{Process, stop_all};
use crate::run::Context;
use crate::settings;
use crate::targets::{active_scheduler, targets};
use crate::watch::Watch;

/// Ten samples a second: finer than a service round of BFQ with a handful of groups, and under
/// a hundredth of a core with 128 of them (docs/performance.md).
const INTERVAL: Duration = Duration::from_millis(100);

/// Runs one repeat and adds its record to the manifest. Its groups are gone when this returns.
pub(crate) fn run(
    context: &mut Context,
    slot: Slot,
    trial: &Trial,
    disks: &[ScratchDisk],
) -> Result<(), Failure> {
    let before = context.ledger.mark();
    let result = Repeat { context, slot, trial, disks }.run();
    let root = context.root.clone();
    let left = context.ledger.restore_to(&root, before);
    context.manifest.trials[slot.trial].repeats.push(result?);
    match left.into_iter().next() {
        Some(error) => Err(error.into()),
        None => Ok(()),
    }
}

struct Repeat<'r, 'c> {
    context: &'r mut Context<'c>,
    slot: Slot,
    trial: &'r Trial,
    disks: &'r [ScratchDisk],
}

impl Repeat<'_, '_> {
    fn run(&mut self) -> Result<RepeatRecord, Failure> {
        let name = format!("trial-{:02}-repeat-{:02}", self.slot.trial, self.slot.repeat);
        let settings_found = settings::set_up(self.context, self.trial)?;
        let settings_at_start = settings::read(&self.context.root, self.trial);
        self.phase("make groups")?;
        let tree = knobs::set_up(self.context, self.trial, self.disks)?;
        let knobs_at_start = knobs::read(&tree, self.trial);
        let queues_at_start = self.queues();
        let cpus = knobs::cpus(&tree, self.trial);

        self.phase("start workloads")?;
        let logs = self.context.request.folder.make_dir(&Path::new("logs").join(&name))?;
        let mut gate = Gate::open(&logs)?;
        let mut processes = self.start(&tree, &logs, &name)?;
        let observer = &mut *self.context.observer;
        let arrival = gate.gather(&self.context.root, &mut processes, |there, expected| {
            observer.progress(there as f64 / expected.max(1) as f64);
        })?;

        let dropped = self.drop_caches(&arrival)?;
        let samples = self.context.request.folder.make_dir(&Path::new("samples").join(&name))?;
        let targets = targets(&self.context.root, &tree, self.trial, self.disks);
        let root = &self.context.root;
        let mut watch =
            Watch::open(root, &tree, self.trial, &knobs_at_start, self.disks, &queues_at_start);
        watch.add_settings(root, self.trial, &settings_at_start);
        watch.add_placements(Placed::of(root, &tree, self.trial, &processes));
        let mut record = match arrival {
            Arrival::All => {
                let knobs = knobs_at_start.clone();
                let draft = RepeatRecord {
                    knobs: knobs::readings(self.trial, knobs.clone(), knobs),
                    cpus: cpus.clone(),
                    ..not_yet(&name)
                };
                self.measure(draft, &gate, &targets, &samples, &mut processes, &mut watch)?
            }
            Arrival::Interrupted => {
                // A job that stands at the gate cannot hear that it should stop.
                gate.release(|| ());
                interrupted_before_the_start(&name)
            }
        };
        record.knobs = knobs::readings(self.trial, knobs_at_start, knobs::read(&tree, self.trial));
        record.queues = self.queue_readings(queues_at_start);
        let settings_at_end = settings::read(&self.context.root, self.trial);
        record.settings =
            settings::readings(self.trial, settings_found, settings_at_start, settings_at_end);
        record.dropped = dropped;
        record.cpus = cpus;
        watch.tell(&mut record);

        self.phase("stop workloads")?;
        stop_all(&mut processes);
        gate.close(&logs)?;
        record.workloads = processes.iter_mut().map(result).collect();
        note_failures(&mut record);
        to_parquet(&samples)?;
        self.context.event(self.slot, "end", "repeat is over")?;
        Ok(record)
    }

    /// The window. `record` holds what is known of the repeat before.
    fn measure(
        &mut self,
        mut record: RepeatRecord,
        gate: &Gate,
        targets: &Targets,
        samples: &Path,
        processes: &mut [Process],
        watch: &mut Watch,
    ) -> Result<RepeatRecord, Failure> {
        let prepared = prepare(&self.context.root, targets);
        record.not_available = prepared.not_available.clone();
        let sampler = Sampler::start(prepared, samples, INTERVAL)?;
        let first_io = FirstIo::prepare(&self.context.root, targets);
        self.phase("run")?;
        let Context { observer, decider, manifest, .. } = &mut *self.context;
        let (slot, trial) = (self.slot, self.trial);
        let may_stop = trial.stop == StopRecord::Decided;
        decider.begin(trial.at_most);
        let mut enough = |release: Release, now_ns: u64| {
            (record.released_ns, record.all_released_ns) = (release.first_ns, release.last_ns);
            record.stopped_ns = now_ns;
            let elapsed = Duration::from_nanos(now_ns.saturating_sub(release.last_ns));
            let progress = Progress { manifest, slot, record: &record, samples, elapsed };
            may_stop && decider.is_enough(progress)
        };
        let mut tell = |elapsed| observer.running(slot, elapsed, trial.at_most);
        let window = measure(trial, gate, first_io, processes, watch, &mut tell, &mut enough);
        if may_stop {
            record.looks = Some(decider.looks());
        }
        let Outcome { cost, failure } = sampler.stop();
        self.context.event(self.slot, "stop", "window is over")?;
        if let Some(error) = failure {
            return Err(error.into());
        }
        Ok(record_of(record, &window, cost))
    }

    /// Empties caches once the workloads have laid out what they need, and before they start.
    fn drop_caches(&mut self, arrival: &Arrival) -> Result<Option<Dropped>, Failure> {
        let (Some(what), Arrival::All) = (self.trial.drop_caches, arrival) else {
            return Ok(None);
        };
        self.phase("drop caches")?;
        Ok(Some(settings::drop_caches(&self.context.root, what)?))
    }

    fn phase(&mut self, text: &str) -> Result<(), Failure> {
        self.context.observer.phase(self.slot, text);
        Ok(self.context.event(self.slot, "phase", text)?)
    }

    /// Starts every workload inside its group, in the order of the plan.
    fn start(&mut self, tree: &Tree, logs: &Path, name: &str) -> Result<Vec<Process>, Failure> {
        let mut processes = Vec::new();
        for group in &self.trial.groups {
            if group.workloads.is_empty() {
                continue;
            }
            for workload in &group.workloads {
                let place = placement(self.trial, &workload.name);
                let membership = tree.membership(&group.name)?.placed(place);
                let folder = logs.join(&workload.name);
                make_dir(&folder)?;
                let mut job = workload.job.clone();
                if let (Some(place), Some(disk)) = (&workload.place, group.disk) {
                    let run = self.context.request.folder.path();
                    let place = find_place(place, &self.disks[disk], &workload.name)?;
                    job.put(&seen_from(&folder, run, place));
                }
                job.set("exec_prerun", gate_line("../gate"));
                let log = format!("logs/{name}/{}", workload.name);
                let process =
                    Process::start(&workload.name, &group.name, &job, &membership, &folder, log)?;
                processes.push(process);
            }
        }
        self.context.event(self.slot, "start", format!("{} workloads", processes.len()))?;
        Ok(processes)
    }

    fn queues(&self) -> Vec<(String, BTreeMap<String, String>)> {
        self.trial
            .disks
            .iter()
            .zip(self.disks)
            .map(|(planned, disk)| {
                let asked = planned.queue.iter().map(|(attribute, _)| attribute.as_str());
                let mut read = BTreeMap::new();
                for attribute in asked.chain(ALWAYS_READ) {
                    let path = format!("/sys/block/{}/queue/{attribute}", disk.device);
                    if let Ok(text) = self.context.root.read_trimmed(path) {
                        read.insert(attribute.to_owned(), text);
                    }
                }
                (active_scheduler(&self.context.root, &disk.device), read)
            })
            .collect()
    }

    fn queue_readings(
        &self,
        at_start: Vec<(String, BTreeMap<String, String>)>,
    ) -> Vec<QueueReading> {
        let at_end = self.queues();
        self.trial
            .disks
            .iter()
            .zip(self.disks)
            .zip(at_start.into_iter().zip(at_end))
            .map(|((planned, disk), (start, end))| QueueReading {
                disk: planned.name.clone(),
                device: disk.device.clone(),
                scheduler_at_start: start.0,
                scheduler_at_end: end.0,
                at_start: start.1,
                at_end: end.1,
                drift: BTreeMap::new(),
            })
            .collect()
    }
}

/// Attributes that decide what a share means, whether the study sets them or not.
const ALWAYS_READ: [&str; 5] = [
    "nr_requests",
    "rotational",
    "iosched/low_latency",
    "iosched/slice_idle",
    "iosched/strict_guarantees",
];

fn make_dir(path: &Path) -> Result<(), Error> {
    std::fs::create_dir_all(path).map_err(|cause| Error::new("mkdir", path, &cause))
}

/// Where a piece of a plan lies, now that the disk exists.
fn find_place(place: &PlacePlan, disk: &ScratchDisk, workload: &str) -> Result<Place, Error> {
    let device = |path: &Path| Place::Device {
        path: path.display().to_string(),
        offset: place.offset,
        size: place.size,
    };
    let directory = |above: &Path| {
        let path = above.join(workload);
        make_dir(&path)?;
        Ok(Place::Directory { path: path.display().to_string(), size: place.size })
    };
    let missing = |what: &str| {
        let path = Path::new("/dev").join(&disk.device);
        Error::unexpected("find", &path, format!("the disk has no such {what}"))
    };
    match place.part {
        Part::Device => Ok(device(&disk.device_path)),
        Part::Partition(index) => {
            disk.partitions.get(index).map(|path| device(path)).ok_or_else(|| missing("partition"))
        }
        Part::Mount(index) => {
            directory(disk.mounts.get(index).ok_or_else(|| missing("file system"))?)
        }
        Part::Directory => directory(disk.mounts.first().ok_or_else(|| missing("directory"))?),
    }
}

/// A directory of the run folder as fio sees it from its own `folder` in there. What the user
/// calls the run folder thus stays out of the job file, where ` #` and ` ;` begin a comment and
/// `$` a variable.
fn seen_from(folder: &Path, run: &Path, place: Place) -> Place {
    let Place::Directory { path, size } = place else { return place };
    let inside = Path::new(&path).strip_prefix(run);
    let (Ok(inside), Ok(below)) = (inside, folder.strip_prefix(run)) else {
        return Place::Directory { path, size };
    };
    let up: PathBuf = below.components().map(|_| "..").collect();
    Place::Directory { path: up.join(inside).display().to_string(), size }
}

fn result(process: &mut Process) -> WorkloadResult {
    let (output, talk) = process.output();
    let parsed = parse_output(&output);
    let said = talk.trim().lines().last().map(str::to_owned);
    let failure = match (&parsed, process.has_failed()) {
        (Ok(output), _) if output.failure.is_some() => output.failure.clone(),
        (_, true) => Some(match (&process.ended, said) {
            (Some(ended), Some(said)) => format!("{ended}; it said: {said}"),
            (ended, _) => ended.clone().unwrap_or_default(),
        }),
        (Ok(_), false) => None,
        (Err(error), false) => Some(error.to_string()),
    };
    let parsed = parsed.ok();
    WorkloadResult {
        workload: process.workload.clone(),
        group: process.group.clone(),
        failure,
        log: process.log.clone(),
        runtime_s: parsed.as_ref().map(|output| output.runtime_s),
        metrics: parsed.as_ref().map(|output| output.metrics.clone()).unwrap_or_default(),
        latency: parsed.map(|output| output.latency).unwrap_or_default(),
    }
}

fn record_of(
    record: RepeatRecord,
    window: &Window,
    sampler: assay_record::SamplerCost,
) -> RepeatRecord {
    RepeatRecord {
        released_ns: window.release.first_ns,
        all_released_ns: window.release.last_ns,
        stopped_ns: window.stopped_ns,
        start_skew_s: window.start_skew_s.clone(),
        sampler,
        fault: window.interrupted.then(interruption),
        ..record
    }
}

/// A repeat of which nothing is known yet.
fn not_yet(name: &str) -> RepeatRecord {
    RepeatRecord {
        samples: name.to_owned(),
        released_ns: 0,
        all_released_ns: 0,
        stopped_ns: 0,
        start_skew_s: Available::NotAvailable("interrupted before the start".to_owned()),
        knobs: Vec::new(),
        queues: Vec::new(),
        cpus: BTreeMap::new(),
        settings: Vec::new(),
        dropped: None,
        placements: Vec::new(),
        nodes: None,
        watch: None,
        looks: None,
        workloads: Vec::new(),
        sampler: assay_record::SamplerCost::default(),
        not_available: BTreeMap::new(),
        fault: None,
    }
}

fn interrupted_before_the_start(name: &str) -> RepeatRecord {
    RepeatRecord { fault: Some(interruption()), ..not_yet(name) }
}

fn interruption() -> Fault {
    let signal = assay_kernel::signal::interrupted_by().unwrap_or("a signal");
    Fault { kind: "interrupted".to_owned(), message: format!("interrupted by {signal}") }
}

/// A workload that failed makes the repeat faulty, unless something worse already did. The
/// repeat keeps its data: other groups may still be looked at.
fn note_failures(record: &mut RepeatRecord) {
    let failed = record.workloads.iter().find_map(|workload| {
        let failure = workload.failure.as_ref()?;
        Some(format!(
            "workload `{}` failed: {failure}; its output is in {}",
            workload.workload, workload.log
        ))
    });
    if let (None, Some(message)) = (&record.fault, failed) {
        record.fault = Some(Fault { kind: "workload".to_owned(), message });
    }
}

#[cfg(test)]
mod tests {
    use assay_units::Bytes;

    use super::*;

    #[test]
    fn the_name_of_the_run_folder_stays_out_of_job_files() {
        let run = Path::new("/data/run #1");
        let folder = run.join("logs/trial-00-repeat-00/task1.reader");
        let size = Bytes::mebi(1);
        let seen =
            |path: &str| seen_from(&folder, run, Place::Directory { path: path.to_owned(), size });
        let directory = |path: &str| Place::Directory { path: path.to_owned(), size };
        assert_eq!(seen("/data/run #1/mnt/a"), directory("../../../mnt/a"));
        assert_eq!(seen("/srv/data/a"), directory("/srv/data/a"), "outside of the run folder");
    }
}
