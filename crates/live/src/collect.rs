//! `assay fairness --for`: watches the groups for some time, and compares what they were told with what they got.

mod disks;
mod limits;
mod protections;
mod usage;

use std::time::{Duration, Instant};

use assay_audit::collect::take_snapshot;
use assay_audit::{Snapshot, cpu_weights, groups_of, own_sets};
use assay_blame::watch::waits::CpuHierarchy;
use assay_host::facts::Available;
use assay_host::groups_and_cpus;
use assay_host::knob::WeightMode;
use assay_sys::exit::{Code, Error};
use assay_sys::kernel::{Error as KernelError, Root, clock, signal};

use crate::collect::disks::{DiskPart, changes};
use crate::collect::limits::Limits;
use crate::collect::protections::Protections;
use crate::collect::usage::Usage;
use crate::fairness::watch::{CELL, ContentionWatch};
use crate::fairness::{Contention, Levels, Look, Switches, judge, own_cpus};

/// How long the settings at the end may take to be read after a signal. Without them nothing is known of the whole.
const AFTER_SIGNAL: Duration = Duration::from_secs(5);

/// Between two looks at limits: each reads files, and the kernel sums up those of all CPUs for some of them.
const LIMITS_EVERY: Duration = Duration::from_secs(5);

/// Watches this host for `length`, or until a signal. `settings` is what its groups were told: this host as it is, or as it was.
/// Loads eBPF programs that count; writes, mounts and signals nothing.
///
/// # Errors
/// No control groups are mounted. What the kernel refuses is in the answer as not available.
pub fn watch_audit(
    root: &Root,
    settings: &Snapshot,
    length: Duration,
) -> Result<Contention, Error> {
    let begun_reading = Instant::now();
    let start = take_snapshot(root)?;
    let read_in = begun_reading.elapsed();
    let groups = groups_of(&start, "cpu");
    let mut cpu = Available::from(CpuPart::attach(root, &groups, settings));
    let counted = cpu.reason().map(|_| Usage::start(root, &start, settings));
    let begun = Instant::now();
    let begun_cpu_ns = clock::thread_cpu_ns();
    let mut disks = Available::from(DiskPart::attach(root, &start, settings));
    let mut limits = Limits::start(root, &start, 0.0);
    let protections = Protections::start(root, &start);
    let mut last_limits = begun;
    // Until now a signal kills: others may make any number of groups, and what was read of them shows nothing yet.
    signal::note_interruptions();
    while begun.elapsed() < length && signal::interrupted_by().is_none() {
        std::thread::sleep(CELL.min(length.saturating_sub(begun.elapsed())));
        if let Some(Err(error)) = cpu.value_mut().map(CpuPart::look) {
            cpu = Available::NotAvailable(error.to_string());
        }
        if let Some(part) = disks.value_mut() {
            part.look();
        }
        if last_limits.elapsed() >= LIMITS_EVERY {
            last_limits = Instant::now();
            limits.look(begun.elapsed().as_secs_f64());
        }
    }
    if signal::interrupted_by().is_some() && read_in > AFTER_SIGNAL {
        let reason = format!(
            "interrupted; to read all groups again would take {:.0} s",
            read_in.as_secs_f64()
        );
        return Err(Error { reasons: vec![reason], ..Error::ended(Code::Interrupted) });
    }
    let seconds = begun.elapsed().as_secs_f64();
    limits.look(seconds);
    let own_s = clock::thread_cpu_ns().saturating_sub(begun_cpu_ns) as f64 * 1e-9;
    let programs_s = cpu.value().map_or(0.0, CpuPart::programs_s)
        + disks.value_mut().map_or(0.0, DiskPart::programs_s);
    let (limits, left_out) = limits.rows();
    let end = take_snapshot(root)?;
    let changes = changes(cpu_weights(&start), cpu_weights(&end));
    Ok(Contention {
        seconds,
        cell_ms: CELL.as_millis() as u64,
        own_cpus: cpu.map(|part| own_cpus(&own_sets(&start), &groups, &part.first, &part.last)),
        usage: counted.as_ref().map(Usage::levels).unwrap_or_default(),
        switches: cpu.map(|part| Switches::until(&part.last)),
        cpu: cpu.map(|part| judge(&part.levels, &changes)),
        disks: disks.map(|part| part.judge(&start, &end)),
        limits,
        protection: protections.rows(root),
        not_looked_at: [
            (left_out, "limits"),
            (protections.left_out, "protections"),
            (counted.map_or(0, |one| one.left_out), "groups"),
        ]
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, what)| format!("{number} more {what}"))
        .collect(),
        cost: (own_s + programs_s) / seconds,
    })
}

/// What is watched of CPUs.
struct CpuPart {
    watch: ContentionWatch,
    levels: Levels,
    first: Look,
    last: Look,
}

impl CpuPart {
    /// The error says why the kernel refuses it.
    fn attach(root: &Root, groups: &[String], settings: &Snapshot) -> Result<Self, String> {
        let (layout, online) = groups_and_cpus(root);
        let hierarchy =
            CpuHierarchy::from_layout(&layout, &online).map_err(|error| error.to_string())?;
        let watch = ContentionWatch::on_groups(root, &hierarchy, groups);
        let mut watch = watch.map_err(|error| error.to_string())?;
        // As it is now, whenever the settings were read.
        let mode = assay_host::weight_mode(root);
        let release = settings.machine.kernel.value().map_or("", String::as_str);
        let (mode, _) = WeightMode::of_host(Some(&mode), release);
        let levels = Levels::new(groups, &cpu_weights(settings)).by(mode);
        let first = watch.look().map_err(|error| error.to_string())?;
        Ok(Self { watch, levels, last: first.clone(), first })
    }

    fn look(&mut self) -> Result<(), KernelError> {
        let look = self.watch.look()?;
        self.levels.add(&self.last, &look);
        self.last = look;
        Ok(())
    }

    /// What the programs took, by the switches that were timed.
    fn programs_s(&self) -> f64 {
        self.last.cpus.iter().map(|cpu| cpu.timing.seconds()).sum()
    }
}
