//! Runs one repeat of one trial.

use std::path::Path;

use assay_host::scratch::ScratchDisk;
use assay_record::run_folder::{Dropped, Fault, RepeatRecord, to_parquet};
use assay_record::sample::{
    Choice, FirstIo, Outcome, Sampler, Targets, disk_bytes, prepare_chosen,
};
use assay_study::plan::{RepeatId, Trial};
use assay_sys::kernel::clock::thread_cpu_ns;

use crate::runner::at_start::AtStart;
use crate::runner::choose_sampler_affinity::choose_sampler_affinity;
use crate::runner::context::Context;
use crate::runner::delayed_start::DelayedStart;
use crate::runner::evidence::EvidenceWatch;
use crate::runner::failure::Failure;
use crate::runner::knobs;
use crate::runner::measure::{Load, Window, measure};
use crate::runner::outcome::{memory_events, note_failures, result};
use crate::runner::overrides::Overrides;
use crate::runner::patience::TO_ARRIVE;
use crate::runner::placement::{Counts, PlacementObserver, add_metrics, narrow};
use crate::runner::prepare::{self, Prepared};
use crate::runner::processes::{BEFORE_THE_START, Process, TO_WRITE_RESULTS, stop_all};

use crate::runner::start::{Starter, empty_data_locations};
use crate::runner::start_barrier::{Arrival, StartBarrier};
use crate::runner::targets::targets;
use crate::runner::watch::Watch;
use crate::runner::{privileges, settings};

/// Runs one repeat and adds its record to the manifest. Its groups are removed when this returns.
pub(crate) fn run(
    context: &mut Context,
    slot: RepeatId,
    trial: &Trial,
    disks: &[ScratchDisk],
) -> Result<(), Failure> {
    let before = context.ledger.mark();
    let result = Repeat { context, slot, trial, disks }.run();
    let root = context.root.clone();
    let not_restored = context.ledger.restore_to(&root, before);
    context.manifest.trials[slot.trial].repeats.push(result?);
    match not_restored.into_iter().next() {
        Some(error) => Err(error.into()),
        None => Ok(()),
    }
}

struct Repeat<'r, 'c> {
    context: &'r mut Context<'c>,
    slot: RepeatId,
    trial: &'r Trial,
    disks: &'r [ScratchDisk],
}

impl Repeat<'_, '_> {
    fn run(&mut self) -> Result<RepeatRecord, Failure> {
        let name = format!("trial-{:02}-repeat-{:02}", self.slot.trial, self.slot.repeat);
        let settings_found = settings::set_up(self.context, self.trial)?;
        self.phase("make groups")?;
        let tree = knobs::set_up(self.context, self.trial, self.disks)?;
        let root = self.context.root.clone();
        let at_start = AtStart::read(&root, &tree, self.trial, self.disks, settings_found);
        let cpus = knobs::cpus(&tree, self.trial);
        let folder = self.context.request.folder.clone();
        let logs = folder.dir().make_dir(Path::new("logs").join(&name))?;
        let facts = self.context.request.manifest.host.clone();
        let starter = Starter {
            root: &root,
            tree: &tree,
            trial: self.trial,
            disks: self.disks,
            facts: &facts,
            cpus: &cpus,
            run: folder.path(),
            logs: &logs,
            log: format!("logs/{name}"),
        };
        let prepared = self.prepare(&starter)?;
        let mut record = if prepared.ready {
            self.run_workloads(&name, &starter, at_start)?
        } else {
            let mut record = without_a_window(&name, prepared.interrupted.then(interruption));
            at_start.compare(&starter, &mut record);
            record.memory_events = memory_events(&tree, self.trial);
            record
        };
        record.preparations = prepared.results;
        note_failures(&mut record);
        Ok(record)
    }

    /// From the start of the workloads to their results.
    fn run_workloads(
        &mut self,
        name: &str,
        starter: &Starter<'_>,
        at_start: AtStart,
    ) -> Result<RepeatRecord, Failure> {
        self.phase("start workloads")?;
        if privileges::named(self.trial).next().is_some() {
            starter.logs.allow_traversal()?;
        }
        let others = privileges::others(starter.root, self.trial)?;
        let mut barrier = StartBarrier::open(starter.logs, &others)?;
        let counted = Counts::before(starter.root, self.trial);
        let mut processes = self.start(starter)?;
        let arrival = self.wait_for_all(&mut barrier, starter, &mut processes)?;
        let dropped = self.drop_caches(&arrival)?;
        // Once: which files count on v1 depends on what has moved so far.
        let Starter { root, tree, facts, .. } = *starter;
        let targets = targets(root, tree, self.trial, self.disks, &facts.cgroup);
        let folder = self.context.request.folder.clone();
        let samples = folder.dir().make_dir(Path::new("samples").join(name))?;
        let samples_path = folder.stable_path(&samples);
        let mut watch = watch(starter, &at_start, &processes, counted);
        let mut delayed = DelayedStart::new(self.trial);
        // Workloads that never started have no results to write.
        let patience = match arrival {
            Arrival::All => TO_WRITE_RESULTS,
            Arrival::Interrupted => BEFORE_THE_START,
        };
        let mut record = match arrival {
            Arrival::All => {
                let cpus = starter.cpus.clone();
                let draft = RepeatRecord { cpus, ..RepeatRecord::without_a_window(name, "") };
                let mut load = Load { processes: &mut processes, delayed: &mut delayed, starter };
                self.measure(draft, &barrier, (&samples_path, &targets), &mut load, &mut watch)?
            }
            Arrival::Interrupted => {
                // A job stopped at the start barrier cannot receive the signal to end.
                barrier.release(|| ());
                without_a_window(name, Some(interruption()))
            }
        };
        at_start.compare(starter, &mut record);
        record.dropped = dropped;
        watch.finish(&mut record);

        self.phase("stop workloads")?;
        stop_all(&mut processes, patience);
        if let Some(evidence) = record.evidence() {
            folder.write_evidence(name, evidence)?;
        }
        barrier.close(starter.logs)?;
        record.disk_bytes_at_end = disk_bytes(starter.root, &targets);
        record.memory_events = memory_events(starter.tree, self.trial);
        record.cpus = starter.cpus.clone();
        narrow(&mut record.cpus, self.trial);
        record.workloads =
            processes.iter().map(result).chain(delayed.not_started_in_window()).collect();
        add_metrics(&record.placements, &mut record.workloads);
        to_parquet(&samples_path)?;
        self.context.event(self.slot, "end", "repeat is over")?;
        Ok(record)
    }

    /// Waits until every workload has arrived at the start barrier.
    fn wait_for_all(
        &mut self,
        barrier: &mut StartBarrier,
        starter: &Starter<'_>,
        processes: &mut [Process],
    ) -> Result<Arrival, Failure> {
        let observer = &mut *self.context.observer;
        Ok(barrier.wait_for_all(starter.root, processes, TO_ARRIVE, |arrived, expected| {
            observer.progress(arrived as f64 / expected.max(1) as f64);
        })?)
    }

    /// Runs the window. `record` holds what is known of the repeat so far.
    fn measure(
        &mut self,
        mut record: RepeatRecord,
        barrier: &StartBarrier,
        (samples, targets): (&Path, &Targets),
        load: &mut Load<'_, '_>,
        watch: &mut Watch<'_>,
    ) -> Result<RepeatRecord, Failure> {
        let Starter { root, tree, .. } = *load.starter;
        let sampling = &self.trial.sampling;
        let choice = Choice::Also(sampling.sources.clone());
        let prepared = prepare_chosen(&self.context.root, targets, &choice);
        record.not_available = prepared.not_available.clone();
        let sampler = Sampler::start(
            prepared,
            samples,
            sampling.interval,
            choose_sampler_affinity(root, tree, &record.cpus),
        )?;
        let first_io = FirstIo::prepare(&self.context.root, targets);
        self.phase("run")?;
        let (observer, slot, trial) = (&mut *self.context.observer, self.slot, self.trial);
        let mut shown_ns = 0;
        let mut report = |elapsed| {
            let before = thread_cpu_ns();
            observer.running(slot, elapsed, trial.at_most);
            shown_ns += thread_cpu_ns().saturating_sub(before);
        };
        let window = measure(trial, barrier, first_io, load, watch, &mut report);
        record.shown_cpu_s = Some(shown_ns as f64 * 1e-9);
        let Outcome { cost, not_available: lacking, failure } = sampler.stop();
        record.not_available.extend(lacking);
        let window = window?;
        self.context.event(self.slot, "stop", "window is over")?;
        if let Some(error) = failure {
            return Err(error.into());
        }
        Ok(record_of(record, &window, cost))
    }

    /// Drops caches after the workloads have laid out their files, and before they start.
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

    /// Removes what the previous repeat left, and runs all preparations.
    fn prepare(&mut self, starter: &Starter<'_>) -> Result<Prepared, Failure> {
        empty_data_locations(&self.trial.groups, self.disks)?;
        let count = prepare::count(self.trial);
        if count > 0 {
            self.phase("prepare data")?;
        }
        let observer = &mut *self.context.observer;
        Ok(prepare::prepare(self.trial, starter, |done| {
            observer.progress(done as f64 / count.max(1) as f64);
        })?)
    }

    /// Starts every workload that begins with the others, in the order of the plan.
    fn start(&mut self, starter: &Starter<'_>) -> Result<Vec<Process>, Failure> {
        let mut processes = Vec::new();
        for group in &self.trial.groups {
            let with_others = group.workloads.iter().filter(|workload| workload.after.is_none());
            for workload in with_others {
                processes.push(starter.start(group, workload, true)?);
            }
        }
        self.context.event(self.slot, "start", format!("{} workloads", processes.len()))?;
        Ok(processes)
    }
}

/// Watches the values read at the start, and the placement of processes.
fn watch<'r>(
    starter: &Starter<'r>,
    at_start: &AtStart,
    processes: &[Process],
    counted: Option<Counts>,
) -> Watch<'r> {
    let Starter { root, tree, trial, disks, facts, .. } = *starter;
    let mut watch = Watch::open(root, tree, trial, &at_start.knobs, disks, &at_start.queues);
    watch.add_settings(root, trial, &at_start.settings);
    watch.add_placements(PlacementObserver::new(root, tree, trial, processes, counted));
    watch.add_overrides(Overrides::at_start(root, tree, trial, &facts.cgroup, disks));
    if trial.sampling.evidence {
        watch.add_evidence(EvidenceWatch::attach(starter));
    }
    watch
}

fn record_of(
    record: RepeatRecord,
    window: &Window,
    sampler: assay_record::run_folder::SamplerCost,
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

/// A repeat that ended before the common start.
fn without_a_window(name: &str, fault: Option<Fault>) -> RepeatRecord {
    RepeatRecord { fault, ..RepeatRecord::without_a_window(name, "it ended before the start") }
}

fn interruption() -> Fault {
    let signal = assay_sys::kernel::signal::interrupted_by().unwrap_or("a signal");
    Fault { kind: "interrupted".to_owned(), message: format!("interrupted by {signal}") }
}
