//! Builds the records of the manifest from the plan and the ledger.

use std::collections::BTreeMap;

use assay_host::Ledger;
use assay_host::facts::Available;
use assay_host::scratch::ScratchDisk;
use assay_record::run_folder::{
    Change, DiskRecord, Event, GroupRecord, Manifest, TrialRecord, WorkloadRecord,
};
use assay_study::DiskSource;
use assay_study::plan::{AfterPlan, GroupPlan, ToolPlan, Trial};
use assay_sys::units::format_duration;

use crate::runner::context::{Context, Request};

pub(crate) fn manifest(request: &Request) -> Manifest {
    let repeats = |trial| request.plan.slots.iter().filter(|slot| slot.trial == trial).count();
    let trials = request.plan.trials.iter().enumerate().map(|(number, planned)| TrialRecord {
        planned_repeats: Some(repeats(number)),
        ..trial(planned)
    });
    Manifest {
        trials: trials.collect(),
        comparisons: request.plan.comparisons.clone(),
        references: request.plan.references.clone(),
        ..request.manifest.clone()
    }
}

/// A trial before its first repeat.
pub(crate) fn trial(trial: &Trial) -> TrialRecord {
    let value = |scalar| serde_json::to_value(scalar).unwrap_or(serde_json::Value::Null);
    TrialRecord {
        factors: trial.factors.iter().map(|(name, scalar)| (name.clone(), value(scalar))).collect(),
        groups: trial.groups.iter().map(|planned| group(planned, trial)).collect(),
        disks: trial.disks.iter().map(disk).collect(),
        settings: trial.settings.iter().map(|plan| plan.record.clone()).collect(),
        placements: trial.placements.clone(),
        promises: trial.promises.clone(),
        warm_up: trial.warm_up,
        at_most_s: trial.at_most.as_secs_f64(),
        stop: trial.stop,
        ..TrialRecord::default()
    }
}

fn group(group: &GroupPlan, trial: &Trial) -> GroupRecord {
    let workload = |workload: &assay_study::plan::WorkloadPlan| WorkloadRecord {
        name: workload.name.clone(),
        tool: workload.tool_name().to_owned(),
        io: workload.io.clone(),
        threads: workload.threads,
        taken_over: workload.taken_over.clone(),
        command_line: match &workload.tool {
            ToolPlan::Fio(_) => String::new(),
            ToolPlan::Invocation(call) => call.display(),
        },
        starts: workload.after.as_ref().map(|after| match after {
            AfterPlan::Workload(name) => format!("when `{name}` has ended"),
            AfterPlan::Time(length) => format!("{} after the others", format_duration(*length)),
        }),
    };
    GroupRecord {
        name: group.name.clone(),
        existing: group.existing.clone(),
        measured: group.measured,
        knobs: group.knobs.iter().map(|knob| knob.record.clone()).collect(),
        workloads: group.workloads.iter().map(workload).collect(),
        disk: group.disk.map(|index| trial.disks[index].name.clone()),
        outside: group.outside,
    }
}

fn disk(disk: &assay_study::plan::DiskPlan) -> DiskRecord {
    let source = match disk.source {
        DiskSource::Loop => "loop",
        DiskSource::Block { .. } => "block",
        DiskSource::Directory { .. } => "directory",
        DiskSource::NullBlk(_) => "null_blk",
    };
    DiskRecord {
        name: disk.name.clone(),
        source: source.to_owned(),
        device: None,
        scheduler: disk.scheduler.clone(),
        queue: disk.queue.iter().cloned().collect::<BTreeMap<_, _>>(),
    }
}

/// Records which devices became the disks of a trial.
pub(crate) fn name_devices(record: &mut TrialRecord, disks: &[ScratchDisk]) {
    for (record, disk) in record.disks.iter_mut().zip(disks) {
        record.device = Some(disk.device.clone());
    }
}

pub(crate) fn changes(ledger: &Ledger) -> Vec<Change> {
    ledger
        .changes()
        .into_iter()
        .map(|report| Change {
            what: report.what,
            before: report.before,
            set: report.set,
            restored: match report.restored {
                Some(Ok(())) => Available::Value(true),
                Some(Err(error)) => Available::NotAvailable(error.to_string()),
                None => Available::Value(false),
            },
        })
        .collect()
}

impl Context<'_> {
    /// Appends an event of this slot.
    pub(crate) fn event(
        &mut self,
        slot: assay_study::plan::RepeatId,
        kind: &str,
        text: impl Into<String>,
    ) -> Result<(), assay_record::run_folder::Error> {
        self.events.append(&Event {
            time_ns: assay_sys::kernel::clock::monotonic_ns(),
            kind: kind.to_owned(),
            trial: Some(slot.trial),
            repeat: Some(slot.repeat),
            text: text.into(),
        })
    }
}
