//! Collects the runs of all hosts, one after the other, into one judgement.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use assay_facts::Available;
use assay_files::Dir;
use assay_run_folder::{RunFolder, merge_samples};
use assay_verdict::{FleetComparison, FleetHost, FleetJudgement, HostState, Judgement, Verdict};

use crate::conclude::{conclude, leave_open};
use crate::document::{Fleet, SplitPromise};
use crate::error::Error;
use crate::folder::{FleetFolder, run_path};
use crate::merge::FleetMerge;
use crate::slurm::Slurm;
use crate::state::TaskState;
use crate::task_runs::{TaskRuns, Unread, read_error};
use crate::traits::{differences, traits};

/// Merges the results of all hosts. A host whose run is missing, incomplete or of another version
/// is listed with the reason, and the others count. Only the numbers of each run stay in memory.
#[must_use]
pub fn collect(
    folder: &FleetFolder,
    fleet: &Fleet,
    states: &[TaskState],
    slurm: &Slurm,
) -> FleetJudgement {
    let mut merge = FleetMerge::default();
    let hosts: Vec<FleetHost> = states
        .iter()
        .zip(fleet.jobs_by_task())
        .enumerate()
        .map(|(task, (state, jobs))| host(folder, fleet, (task, &jobs), state, &mut merge))
        .collect();
    let verdicts = merge.verdicts().to_vec();
    let (mut trials, mut comparisons) = merge.finish();
    comparisons.extend(fleet.torn.iter().flatten().map(split_comparison));
    leave_open(&hosts, &mut trials, &mut comparisons);
    let (verdict, reason) = conclude(&hosts, &comparisons, &verdicts);
    FleetJudgement {
        schema: 1,
        study: fleet.study.clone(),
        title: fleet.title.clone(),
        question: fleet.question.clone(),
        started_at: fleet.started_at.clone(),
        verdict,
        reason,
        restored: restored(&hosts),
        differences: differences(&hosts),
        hosts,
        trials,
        comparisons,
        not_available: not_available(fleet, slurm),
    }
}

/// Whether every host was restored: `false` if one was not, `None` if one did not report it. A host
/// that never started has nothing to restore.
fn restored(hosts: &[FleetHost]) -> Option<bool> {
    let began = || hosts.iter().filter(|host| host.run.is_some() || host.restored.is_some());
    if began().any(|host| host.restored == Some(false)) {
        return Some(false);
    }
    began().all(|host| host.restored == Some(true)).then_some(true)
}

/// The result of a task; `jobs` are its jobs, the latest first.
fn host(
    folder: &FleetFolder,
    fleet: &Fleet,
    (task, jobs): (usize, &[u64]),
    state: &TaskState,
    merge: &mut FleetMerge,
) -> FleetHost {
    let task_spec = &fleet.tasks[task];
    let record = state.record.as_ref();
    let mut host = FleetHost {
        task,
        node: task_spec.node.clone(),
        state: state.state,
        why: state.why.clone(),
        verdict: None,
        code: record.and_then(|record| record.code),
        seed: task_spec.seed,
        slice: task_spec.slice.clone(),
        run: None,
        broken_before: Vec::new(),
        restored: record.and_then(|record| record.restored),
        restored_first: record.map(|record| record.restored_first.clone()).unwrap_or_default(),
        traits: BTreeMap::new(),
    };
    let Some((job, earlier)) = jobs.split_first() else { return host };
    let mut runs = TaskRuns::new(task, &host.node);
    let mut exceeded = None;
    for job in earlier {
        if let Err(why) = add_earlier(folder, *job, &mut host, &mut runs, merge) {
            exceeded = Some(why);
            break;
        }
    }
    let path = run_path(task, *job);
    // A symbolic link may lead out of the fleet's folder and is not accepted as a run.
    let run = folder.dir().dir(&path);
    if run.is_ok() {
        host.run = Some(path.display().to_string());
    }
    if let Some(why) = exceeded {
        // A promise may have been broken in a run that was not read.
        host.why = Some(why);
    } else if state.state == HostState::Ended {
        match read(run, &mut runs) {
            Ok((traits, judgement)) => {
                host.traits = traits;
                host.verdict = Some(judgement.verdict);
                merge.add(&host.node, &judgement);
            }
            Err(Unread::Limit(why)) => host.why = Some(why),
            // The task's own reason is more specific than a missing file.
            Err(Unread::Run(why)) => host.why = host.why.or(Some(why)),
        }
    }
    host
}

/// Adds an earlier run of a resubmitted task, and its path if it broke a promise. The error says that the
/// runs of the task hold more than is read.
fn add_earlier(
    folder: &FleetFolder,
    job: u64,
    host: &mut FleetHost,
    runs: &mut TaskRuns,
    merge: &mut FleetMerge,
) -> Result<(), String> {
    let path = run_path(host.task, job);
    let run = folder.dir().dir(&path).ok().and_then(|run| RunFolder::from_dir(run).ok());
    let judgement = match run.map(|run| runs.judgement(&run)) {
        None | Some(Err(Unread::Run(_))) => return Ok(()),
        Some(Err(Unread::Limit(why))) => return Err(why),
        Some(Ok(judgement)) => judgement,
    };
    merge.add_earlier(&format!("{} (job {job})", host.node), &judgement);
    if judgement.verdict == Verdict::Broken {
        host.broken_before.push(path.display().to_string());
    }
    Ok(())
}

/// A promise across trials that ran on different hosts cannot be judged: hosts may differ as much
/// as levels do.
fn split_comparison(promise: &SplitPromise) -> FleetComparison {
    FleetComparison {
        measure: promise.measure.clone(),
        group: promise.group.clone(),
        is: promise.is.clone(),
        over: promise.over.clone(),
        held: BTreeMap::new(),
        verdict: Verdict::Undecided,
        reason: Some(
            "its trials were divided over hosts, and what hosts differ by would count as what the \
             levels do; without `--shards` every host runs them all"
                .to_owned(),
        ),
        hosts: Vec::new(),
    }
}

/// Reads the traits of a run's host and its judgement.
fn read(
    run: Result<Dir, assay_files::Error>,
    runs: &mut TaskRuns,
) -> Result<(BTreeMap<String, String>, Judgement), Unread> {
    let folder = run
        .map_err(assay_run_folder::Error::from)
        .and_then(RunFolder::from_dir)
        .map_err(|error| format!("the run folder is missing or empty: {}", error.cause))
        .map_err(Unread::Run)?;
    let manifest = folder.read_manifest().map_err(|error| Unread::Run(read_error(&error)))?;
    Ok((traits(&manifest), runs.judgement(&folder)?))
}

fn not_available(fleet: &Fleet, slurm: &Slurm) -> BTreeMap<String, String> {
    let mut unavailable = BTreeMap::new();
    for left_out in &fleet.left_out {
        unavailable.insert(format!("node {}", left_out.node), left_out.why.clone());
    }
    // Older fleets did not record which promises these are.
    if fleet.torn.is_none() && fleet.tasks.iter().any(|task| task.slice.is_some()) {
        let why = "trials were divided over hosts, and a promise across trials needs one host that ran \
                           all of them";
        unavailable.insert("promises across trials".to_owned(), why.to_owned());
    }
    for refused in &fleet.refused {
        unavailable.insert(format!("folder {}", refused.folder), refused.why.clone());
    }
    if fleet.copied {
        let why = "the runs were copied from their hosts";
        unavailable.insert("states in a scheduler".to_owned(), why.to_owned());
        return unavailable;
    }
    let job = fleet.submissions.last().map(|submission| submission.job);
    if let Some(Available::NotAvailable(why)) = job.map(|job| slurm.accounting(job)) {
        unavailable.insert("Slurm's accounting".to_owned(), why);
    }
    unavailable
}

/// Writes the judgement, its report, and then the samples of all hosts, one file per source, into
/// the fleet's folder. Returns the samples that could not be read, with the reason.
pub fn write(
    folder: &FleetFolder,
    judgement: &FleetJudgement,
) -> Result<Vec<(PathBuf, String)>, Error> {
    folder.write_json(Path::new("fleet-verdict.json"), judgement)?;
    let html =
        assay_report::fleet_html(judgement).map_err(|error| Error::new(error.to_string()))?;
    folder.write_text(Path::new("report.html"), &html)?;
    let runs: Vec<(String, PathBuf)> = judgement
        .hosts
        .iter()
        .filter(|host| host.verdict.is_some())
        .filter_map(|host| Some((host.node.clone(), PathBuf::from(host.run.as_ref()?))))
        .collect();
    Ok(merge_samples(&runs, folder.dir(), &folder.dir().make_dir("samples")?)?.left_out)
}

#[cfg(test)]
mod tests;
