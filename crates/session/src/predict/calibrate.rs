//! Calibration: an internal study on the disk, executed by the runner like any other, so that every
//! change of the host is in the ledger and restored.

use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_facts::HostFacts;
use assay_files::{Dir, Trust};
use assay_plan::{DiskPlan, Plan, RepeatId, Trial};
use assay_predict::{Calibration, Measurement, RequestKind, disk_of};
use assay_run_folder::{Manifest, RepeatRecord, Run, Table, TrialRecord};
use assay_stats::series::growth;
use assay_study::{Disk, DiskSize, Format, Scalar, Study, Templated, parse};

use crate::calibration_store;
use crate::code::Code;
use crate::context::Context;
use crate::error::Error;
use crate::load::Loaded;
use crate::observer::Observer;
use crate::prepare::{Destination, new_request, plan_for};
use crate::run::execute;

const STUDY: &str = include_str!("calibration.toml");

/// Depth, bytes and groups of the three measurements: latency, many small requests, many large
/// ones. Several groups, since a loop device serves each with its own worker.
const POINTS: [(i64, &str, i64); 3] = [(1, "4k", 1), (32, "4k", 4), (32, "64k", 4)];

/// How a disk is calibrated.
#[derive(Debug, Clone)]
pub struct CalibrationOptions {
    /// Length of each measurement.
    pub each: Duration,
    /// Folder of the measurements; `None` for `runs/<time>-calibration`.
    pub out: Option<PathBuf>,
}

/// Measures the plan's disk and stores the calibration in the run folder and the state folder.
pub(super) fn measure(
    context: &Context,
    plan: &Plan,
    facts: &HostFacts,
    options: CalibrationOptions,
    observer: &mut dyn Observer,
) -> Result<(), Error> {
    let no_disk = || Error::usage("the study has no disk to calibrate");
    let (name, scheduler) = disk_of(plan).ok_or_else(no_disk)?;
    let disk = plan.trials.first().and_then(|trial| trial.disks.first()).ok_or_else(no_disk)?;
    let study = study(disk, options.each).map_err(Error::host)?;
    let mut plan = plan_for(context, &study, facts, 1);
    if let Some(refusal) = plan.refusals.first() {
        return Err(Error::host(refusal).note("nothing was touched"));
    }
    keep_points(&mut plan);
    let loaded = Loaded::derived(study, STUDY);
    let to = Destination { out: options.out, trust: Trust::Checked };
    let request = new_request(context, loaded, plan, facts.clone(), (&to, "calibration", 1))?;
    let finished = execute(context, &request, observer)?;
    let code = Code::of_run(&finished, Some(Code::Kept));
    if code != Code::Kept {
        return Err(Error { code, ..Error::usage("the measurements did not finish") });
    }
    let run = Run::from_folder(&request.folder).map_err(Error::host)?;
    let calibration = calibration(&run, facts, name, scheduler).map_err(Error::host)?;
    request.folder.write_json("calibration.json", &calibration).map_err(Error::host)?;
    let file = store_calibration(&context.state_dir, &calibration).map_err(Error::host)?;
    observer.message(&format!("calibration: {}", file.display()));
    Ok(())
}

/// The study of the measurements on this disk.
fn study(disk: &DiskPlan, each: Duration) -> Result<Study, String> {
    let (study, findings) = parse("calibration", STUDY, &|_| Err("no files".to_owned()));
    let mut study = study.ok_or_else(|| {
        findings.first().map(|one| one.message.clone()).unwrap_or_else(|| "no study".to_owned())
    })?;
    study.design.at_most = each;
    let mut queue = Vec::new();
    if disk.scheduler.as_deref() == Some("bfq") {
        for (name, value) in [("iosched/low_latency", 0), ("iosched/max_budget", 512)] {
            queue.push((name.to_owned(), Templated::Value(Scalar::Integer(value))));
        }
    }
    let measured = Disk {
        source: disk.source.clone(),
        size: Some(Templated::Value(DiskSize::Fixed(disk.size))),
        format: Templated::Value(Format::None),
        partitions: Templated::Value(0),
        scheduler: disk.scheduler.clone().map(Templated::Value),
        queue,
    };
    study.disks.values_mut().for_each(|own| own.clone_from(&measured));
    Ok(study)
}

/// Keeps only the combinations that are measured, in their order.
fn keep_points(plan: &mut Plan) {
    let is_point = |trial: &Trial| {
        let is = |name: &str, value: &Scalar| trial.factors.get(name) == Some(value);
        POINTS.iter().any(|(depth, bytes, groups)| {
            is("depth", &Scalar::Integer(*depth))
                && is("bs", &Scalar::Text((*bytes).to_owned()))
                && is("groups", &Scalar::Integer(*groups))
        })
    };
    plan.trials.retain(is_point);
    plan.slots = (0..plan.trials.len()).map(|trial| RepeatId { trial, repeat: 0 }).collect();
}

fn calibration(
    run: &Run,
    facts: &HostFacts,
    disk: String,
    scheduler: Option<String>,
) -> Result<Calibration, String> {
    let manifest: &Manifest = &run.manifest;
    let trials = manifest.trials.iter().zip(&run.samples);
    let measurements: Result<Vec<Measurement>, String> = trials
        .map(|(trial, samples)| {
            let repeat = trial.repeats.first().ok_or("a measurement is missing")?;
            measurement(trial, repeat, samples.first().map_or(&[], Vec::as_slice))
        })
        .collect();
    let queues = manifest.trials.first().and_then(|trial| trial.repeats.first());
    let pool = queues
        .and_then(|repeat| repeat.queues.first())
        .and_then(|queue| queue.at_start.get("nr_requests"))
        .and_then(|text| text.trim().parse().ok())
        .ok_or("`nr_requests` was not recorded")?;
    Ok(Calibration {
        schema: 1,
        made_at: manifest.started_at.clone(),
        host: facts.host_name.clone(),
        kernel: facts.kernel.clone(),
        processors: facts.cpus.model.clone(),
        cpus: facts.cpus.allowed.len(),
        disk,
        scheduler,
        pool,
        taken: measurements?,
    })
}

fn measurement(
    trial: &TrialRecord,
    repeat: &RepeatRecord,
    samples: &[Table],
) -> Result<Measurement, String> {
    let factor = |name: &str| trial.factors.get(name);
    let rw = factor("rw").and_then(|value| value.as_str()).unwrap_or_default().to_owned();
    let writes = RequestKind::ALL.iter().any(|kind| kind.name() == rw && kind.writes);
    let direction = if writes { "write" } else { "read" };
    let io = trial.groups.first().and_then(|group| group.workloads.first()).map(|one| &one.io);
    let (depth, bytes) = io
        .and_then(|io| Some((io.outstanding?, io.block_size?)))
        .ok_or("depth or block size of the measurement was not recorded")?;
    let mut iops = 0.0;
    let mut cpu = 0.0;
    let mut waited = 0.0;
    for workload in &repeat.workloads {
        let metric = |name: &str| {
            let value = workload.metrics.get(name).copied();
            value.ok_or_else(|| format!("`{}` has no metric `{name}`", workload.workload))
        };
        let own = metric(&format!("{direction}_iops"))?;
        let latency = workload.latency.get(direction).ok_or("fio reported no latency")?;
        iops += own;
        cpu += (metric("user_cpu_percent")? + metric("system_cpu_percent")?) / 100.0;
        waited += own * latency.mean_ns * 1e-9;
    }
    if iops <= 0.0 {
        return Err(format!("no request completed in the measurement of `{rw}`"));
    }
    let (busy, idle) = processors(repeat, samples)?;
    let seconds = repeat.stopped_ns.saturating_sub(repeat.all_released_ns) as f64 * 1e-9;
    Ok(Measurement {
        rw,
        bytes,
        depth,
        groups: u32::try_from(trial.groups.len()).unwrap_or(u32::MAX),
        iops,
        latency_s: waited / iops,
        submit_cpu_s: cpu / iops,
        cpu_s: busy / seconds.max(1e-9) / iops,
        idle,
    })
}

/// CPU seconds of the host in the window, and the idle part of all CPU time.
fn processors(repeat: &RepeatRecord, samples: &[Table]) -> Result<(f64, f64), String> {
    let table = samples.iter().find(|table| table.source == "host_cpu");
    let table = table.ok_or("the CPU time of the host was not recorded")?;
    let (from, to) = (repeat.all_released_ns, repeat.stopped_ns);
    let window_s = to.saturating_sub(from) as f64 * 1e-9;
    let grown = |names: &[&str]| -> f64 {
        let of = |name: &&str| {
            let series = table.series("host", name).map(|(time, value)| (time, value as f64));
            let grown = growth(&series.collect(), from, to);
            grown.map_or(0.0, |(grown, seconds)| grown.max(0.0) * 1e-9 / seconds * window_s)
        };
        names.iter().map(of).sum()
    };
    let busy = grown(&["user_ns", "nice_ns", "system_ns", "irq_ns", "softirq_ns"]);
    let idle = grown(&["idle_ns", "iowait_ns"]);
    if busy + idle <= 0.0 {
        return Err("the counters of `host_cpu` did not move".to_owned());
    }
    Ok((busy, idle / (busy + idle)))
}

/// Stores the calibration atomically where predictions look for it; returns the file.
fn store_calibration(state_dir: &Path, calibration: &Calibration) -> Result<PathBuf, String> {
    let path =
        calibration_store::file(state_dir, &calibration.disk, calibration.scheduler.as_deref());
    let failed = |cause: &dyn std::fmt::Display| {
        format!(
            "cannot write {}: {cause}\n  hint: set $ASSAY_STATE to a writable folder",
            path.display()
        )
    };
    let folder = path.parent().ok_or_else(|| failed(&"the path has no folder"))?;
    let folder = Dir::make_all(folder).map_err(|cause| failed(&cause))?;
    let text = serde_json::to_string_pretty(calibration).map_err(|cause| failed(&cause))?;
    let name = path.file_name().unwrap_or_default();
    folder.replace(name, text.as_bytes()).map_err(|cause| failed(&cause))?;
    Ok(path)
}
