//! Collects the runs of all hosts, one after the other, into one judgement.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use assay_facts::Available;
use assay_files::Dir;
use assay_run_folder::{RunFolder, merge_samples, parse_json};
use assay_verdict::{FleetComparison, FleetHost, FleetJudgement, HostState, Judgement, Verdict};
use serde::Deserialize;

use crate::conclude::{conclude, leave_open};
use crate::document::{Fleet, SplitPromise};
use crate::error::Error;
use crate::folder::{FleetFolder, MOST_DOCUMENT};
use crate::merge::FleetMerge;
use crate::slurm::Slurm;
use crate::state::TaskState;
use crate::traits::{differences, traits};

/// The supported version of `verdict.json`.
const VERDICT_SCHEMA: u32 = 1;

/// Trials, promises and groups in the verdict of one host.
const MOST_ENTRIES: usize = 1 << 16;

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
        .enumerate()
        .map(|(task, state)| host(folder, fleet, task, state, &mut merge))
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

fn host(
    folder: &FleetFolder,
    fleet: &Fleet,
    task: usize,
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
        broken_before: broken_before(folder, fleet, task, merge),
        restored: record.and_then(|record| record.restored),
        restored_first: record.map(|record| record.restored_first.clone()).unwrap_or_default(),
        traits: BTreeMap::new(),
    };
    let Some(job) = fleet.job_of(task) else { return host };
    let path = FleetFolder::task_folder(task, job).join("run");
    // A symbolic link may lead out of the fleet's folder and is not accepted as a run.
    let run = folder.dir().dir(&path);
    if run.is_ok() {
        host.run = Some(path.display().to_string());
    }
    if state.state == HostState::Ended {
        match read(run) {
            Ok((traits, judgement)) => {
                host.traits = traits;
                host.verdict = Some(judgement.verdict);
                merge.add(&host.node, &judgement);
            }
            // The task's own reason is more specific than a missing file.
            Err(why) => host.why = host.why.or(Some(why)),
        }
    }
    host
}

/// Earlier runs of a resubmitted task that broke a promise, as paths in the folder.
fn broken_before(
    folder: &FleetFolder,
    fleet: &Fleet,
    task: usize,
    merge: &mut FleetMerge,
) -> Vec<String> {
    let mut broken = Vec::new();
    for job in fleet.jobs_of(task).skip(1) {
        let path = FleetFolder::task_folder(task, job).join("run");
        let run = folder.dir().dir(&path).ok().and_then(|run| RunFolder::from_dir(run).ok());
        let judgement = run.and_then(|run| read_judgement(&run).ok());
        let Some(judgement) = judgement else { continue };
        merge.add_earlier(&format!("{} (job {job})", fleet.tasks[task].node), &judgement);
        if judgement.verdict == Verdict::Broken {
            broken.push(path.display().to_string());
        }
    }
    broken
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
             levels do; without `--slices` every host runs them all"
                .to_owned(),
        ),
        hosts: Vec::new(),
    }
}

fn read_error(error: &assay_run_folder::Error) -> String {
    format!("cannot read {}: {}", file_name(&error.path), error.cause)
}

/// Reads the traits of a run's host and its judgement.
fn read(
    run: Result<Dir, assay_files::Error>,
) -> Result<(BTreeMap<String, String>, Judgement), String> {
    let folder = run
        .map_err(assay_run_folder::Error::from)
        .and_then(RunFolder::from_dir)
        .map_err(|error| format!("the run folder is missing or empty: {}", error.cause))?;
    let manifest = folder.read_manifest().map_err(|error| read_error(&error))?;
    Ok((traits(&manifest), read_judgement(&folder)?))
}

/// The format of a judgement, read before the rest of it.
#[derive(Deserialize)]
struct Format {
    schema: Option<u64>,
}

fn read_judgement(folder: &RunFolder) -> Result<Judgement, String> {
    const NAME: &str = "verdict.json";
    let text = folder.dir().text(NAME, MOST_DOCUMENT).map_err(|error| read_error(&error.into()))?;
    let wrong = |cause: serde_json::Error| format!("cannot read {NAME}: {cause}");
    let Format { schema } = parse_json(&text).map_err(wrong)?;
    if schema != Some(u64::from(VERDICT_SCHEMA)) {
        return Err(format!(
            "{NAME} has schema {}, written by another version of Assay",
            schema.map_or_else(|| "none".to_owned(), |number| number.to_string())
        ));
    }
    let judgement: Judgement = parse_json(&text).map_err(wrong)?;
    let promises = || judgement.trials.iter().flat_map(|trial| &trial.promises);
    let entries = judgement.trials.len()
        + judgement.comparisons.len()
        + promises().map(|promise| 1 + promise.groups.len()).sum::<usize>();
    if entries > MOST_ENTRIES {
        return Err(format!(
            "cannot read {NAME}: it has {entries} trials, promises and groups; the limit is {MOST_ENTRIES}"
        ));
    }
    Ok(judgement)
}

/// The file name without its folder, which differs from fleet to fleet.
fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
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
        .filter_map(|host| Some((host.node.clone(), folder.file(host.run.as_ref()?))))
        .collect();
    Ok(merge_samples(&runs, &folder.dir().make_dir("samples")?)?.left_out)
}

#[cfg(test)]
mod tests {
    use assay_files::Trust;
    use assay_verdict::TrialJudgement;

    use super::*;
    use crate::document::{Submission, Task};
    use crate::merge::tests::judgement;

    /// A fleet of one host whose task was submitted twice: the first run broke the promise and one
    /// of its workloads failed.
    fn resumed(place: &Path) -> (FleetFolder, Fleet) {
        let folder = FleetFolder::create(place, Trust::Checked).unwrap();
        let submission =
            |job| Submission { job, tasks: vec![0], at: String::new(), script: String::new() };
        let (node, host_name) = ("a".to_owned(), "a".to_owned());
        let fleet = Fleet {
            tasks: vec![Task { node, host_name, seed: 1, slice: None }],
            submissions: vec![submission(17), submission(18)],
            ..Fleet::default()
        };
        let run = FleetFolder::task_folder(0, 17).join("run");
        folder.make_dir(&run).unwrap();
        folder.write_text(&run.join("manifest.json"), "{}").unwrap();
        let found = judgement(4, Verdict::Broken, 100.0, 0.25);
        folder.write_json(&run.join("verdict.json"), &found).unwrap();
        (folder, fleet)
    }

    #[test]
    fn resubmitting_a_task_does_not_undo_its_broken_promise() {
        let place = tempfile::tempdir().unwrap();
        let (folder, fleet) = resumed(&place.path().join("fleet"));
        let slurm = Slurm::from_fleet(&fleet);
        let state =
            TaskState { state: HostState::Ended, why: None, record: None, may_change: false };
        let found = collect(&folder, &fleet, &[state], &slurm);
        assert_eq!(found.verdict, Verdict::Broken, "{}", found.reason);
        assert_eq!(found.hosts[0].broken_before, ["tasks/00/job-17/run"]);
        assert!(found.reason.starts_with("broken on 1 of 1 host"), "{}", found.reason);
        let promise = &found.trials[0].promises[0];
        assert_eq!((found.trials[0].verdict, promise.verdict), (Verdict::Broken, Verdict::Broken));
        assert_eq!(promise.hosts[0].node, "a (job 17)");
        // Nor if the second run kept the promise.
        let kept = FleetHost { verdict: Some(Verdict::Kept), ..found.hosts[0].clone() };
        assert_eq!(conclude(&[kept], &[], &[]).0, Verdict::Broken);
    }

    /// The run of one host has a verdict of more trials than any study.
    #[test]
    fn an_oversized_verdict_is_named_and_the_other_hosts_count() {
        let place = tempfile::tempdir().unwrap();
        let (folder, mut fleet) = resumed(&place.path().join("fleet"));
        fleet.submissions.truncate(1);
        fleet.submissions[0].tasks.push(1);
        fleet.tasks.push(Task { node: "b".to_owned(), ..fleet.tasks[0].clone() });
        let manifest = include_str!("../../test-support/faults/one-cpu/manifest.json");
        let mut found = judgement(4, Verdict::Kept, 100.0, 0.25);
        for task in [0, 1] {
            let run = FleetFolder::task_folder(task, 17).join("run");
            folder.make_dir(&run).unwrap();
            folder.write_text(&run.join("manifest.json"), manifest).unwrap();
            folder.write_json(&run.join("verdict.json"), &found).unwrap();
            let mut trial = found.trials[0].clone();
            trial.promises.clear();
            found.trials.extend((0..MOST_ENTRIES).map(|number| {
                let factors = BTreeMap::from([("x".to_owned(), number.into())]);
                TrialJudgement { factors, ..trial.clone() }
            }));
        }
        let state =
            TaskState { state: HostState::Ended, why: None, record: None, may_change: false };
        let states = [state.clone(), state];
        let collected = collect(&folder, &fleet, &states, &Slurm::from_fleet(&fleet));
        assert_eq!(collected.hosts[0].verdict, Some(Verdict::Kept), "{:?}", collected.hosts[0]);
        assert_eq!(collected.hosts[1].verdict, None);
        let why = collected.hosts[1].why.as_ref().unwrap();
        assert!(why.contains("verdict.json") && why.contains("65536"), "{why}");
        assert_eq!(collected.trials.len(), 1);
    }

    #[test]
    fn the_verdict_is_written_before_the_samples() {
        let place = tempfile::tempdir().unwrap();
        let (folder, fleet) = resumed(&place.path().join("fleet"));
        let state =
            TaskState { state: HostState::Ended, why: None, record: None, may_change: false };
        let found = collect(&folder, &fleet, &[state], &Slurm::from_fleet(&fleet));
        folder.write_text(Path::new("samples"), "a file in the way").unwrap();
        assert!(write(&folder, &found).is_err());
        for name in ["fleet-verdict.json", "report.html"] {
            assert!(folder.dir().has_file(name), "{name}");
        }
    }

    #[test]
    fn promises_over_trials_of_different_hosts_are_undecided() {
        let promise = SplitPromise {
            measure: "io.bytes".to_owned(),
            group: None,
            is: "equal".to_owned(),
            over: vec!["x".to_owned()],
        };
        let found = split_comparison(&promise);
        assert_eq!(found.verdict, Verdict::Undecided);
        let host = |node: &str, verdict, code| FleetHost {
            task: 0,
            node: node.to_owned(),
            state: HostState::Ended,
            why: None,
            verdict: Some(verdict),
            code: Some(code),
            seed: 1,
            slice: Some("1/2".to_owned()),
            run: None,
            broken_before: Vec::new(),
            restored: Some(true),
            restored_first: Vec::new(),
            traits: BTreeMap::new(),
        };
        for (verdict, code, expected) in [
            (Verdict::Kept, 0, Verdict::Undecided),
            // Nothing is promised of a single trial.
            (Verdict::Void, 0, Verdict::Undecided),
            (Verdict::Void, 3, Verdict::Void),
            (Verdict::Broken, 1, Verdict::Broken),
        ] {
            let hosts = [host("a", verdict, code), host("b", verdict, code)];
            let (verdict, reason) = conclude(&hosts, std::slice::from_ref(&found), &[]);
            assert_eq!(verdict, expected, "{reason}");
            assert!(reason.contains("not judged across trials: `io.bytes` over x"), "{reason}");
        }
    }
}
