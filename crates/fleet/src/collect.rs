//! The runs of all hosts as one judgement, read one after the other.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use assay_facts::Available;
use assay_judge::{FleetHost, FleetJudgement, HostState, Judgement};
use assay_record::{RunFolder, gather};

use crate::conclude::conclude;
use crate::document::Fleet;
use crate::error::Error;
use crate::folder::FleetFolder;
use crate::merge::FleetMerge;
use crate::slurm::Slurm;
use crate::state::TaskState;
use crate::traits::{differences, traits};

/// The version of `verdict.json` that is understood here.
const VERDICT_SCHEMA: u32 = 1;

/// What all hosts found. A host whose run is missing, half-written or of another version is named
/// with the reason, and the others count. Of each run only its numbers stay in memory.
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
    let (verdict, reason) = conclude(&hosts);
    let (trials, comparisons) = merge.finish();
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

/// Whether every host was put back: one that was not decides, and one that never said leaves it
/// open. A host that never began has nothing to put back.
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
    let asked = &fleet.tasks[task];
    let record = state.record.as_ref();
    let mut host = FleetHost {
        task,
        node: asked.node.clone(),
        state: state.state,
        why: state.why.clone(),
        verdict: None,
        code: record.and_then(|record| record.code),
        seed: asked.seed,
        slice: asked.slice.clone(),
        run: None,
        restored: record.and_then(|record| record.restored),
        restored_first: record.map(|record| record.restored_first.clone()).unwrap_or_default(),
        traits: BTreeMap::new(),
    };
    let Some(job) = fleet.job_of(task) else { return host };
    let place = FleetFolder::place_of(task, job).join("run");
    if folder.file(&place).is_dir() {
        host.run = Some(place.display().to_string());
    }
    if state.state == HostState::Ended {
        match read(&folder.file(&place)) {
            Ok((found, judgement)) => {
                host.traits = found;
                host.verdict = Some(judgement.verdict);
                merge.add(&host.node, &judgement);
            }
            // What the task said of itself is nearer to the reason than a file that is not there.
            Err(why) => host.why = host.why.or(Some(why)),
        }
    }
    host
}

/// What a run's host is, and what was judged of it.
fn read(place: &Path) -> Result<(BTreeMap<String, String>, Judgement), String> {
    let said =
        |error: assay_record::Error| format!("cannot read {}: {}", shown(&error.path), error.cause);
    let folder = RunFolder::open(place)
        .map_err(|error| format!("its run folder is missing or empty: {}", error.cause))?;
    let manifest = folder.read_manifest().map_err(said)?;
    let verdict: serde_json::Value = folder.read_json("verdict.json").map_err(said)?;
    let schema = verdict.get("schema").and_then(serde_json::Value::as_u64);
    if schema != Some(u64::from(VERDICT_SCHEMA)) {
        return Err(format!(
            "its verdict.json has schema {}, which another version of Assay wrote",
            schema.map_or_else(|| "none".to_owned(), |number| number.to_string())
        ));
    }
    let judgement = serde_json::from_value(verdict)
        .map_err(|cause| format!("cannot read verdict.json: {cause}"))?;
    Ok((traits(&manifest), judgement))
}

/// The name of a file without the place, which differs from fleet to fleet.
fn shown(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn not_available(fleet: &Fleet, slurm: &Slurm) -> BTreeMap<String, String> {
    let mut lacking = BTreeMap::new();
    for left_out in &fleet.left_out {
        lacking.insert(format!("node {}", left_out.node), left_out.why.clone());
    }
    if fleet.tasks.iter().any(|task| task.slice.is_some()) {
        let why = "trials were divided over hosts, and what is promised across them needs one \
                   host that ran them all";
        lacking.insert("promises across trials".to_owned(), why.to_owned());
    }
    let job = fleet.submissions.last().map(|submission| submission.job);
    if let Some(Available::NotAvailable(why)) = job.map(|job| slurm.accounting(job)) {
        lacking.insert("Slurm's accounting".to_owned(), why);
    }
    lacking
}

/// Writes the judgement, its report, and the samples of all hosts in one file a source, into the
/// folder of the fleet. Files of samples that could not be read are returned with the reason.
pub fn write(
    folder: &FleetFolder,
    judgement: &FleetJudgement,
) -> Result<Vec<(PathBuf, String)>, Error> {
    let runs: Vec<(String, PathBuf)> = judgement
        .hosts
        .iter()
        .filter(|host| host.verdict.is_some())
        .filter_map(|host| Some((host.node.clone(), folder.file(host.run.as_ref()?))))
        .collect();
    let gathered = gather(&runs, &folder.dir().make_dir("samples")?)?;
    folder.write_json(Path::new("fleet-verdict.json"), judgement)?;
    let html =
        assay_report::fleet_html(judgement).map_err(|error| Error::new(error.to_string()))?;
    folder.write_text(Path::new("report.html"), &html)?;
    Ok(gathered.left_out)
}
