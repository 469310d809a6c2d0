//! Collects the run folders that exist, one after the other, into one judgement.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use assay_judge::verdict::{FleetHost, FleetJudgement, Judgement, RunErrors, Verdict};
use assay_record::run_folder::{Manifest, RunFolder, parse_json};
use assay_sys::exit::Error;
use assay_sys::files::Dir;
use rustix::io::Errno;
use serde::Deserialize;

use crate::conclude::{conclude, leave_open};
use crate::folder::{Fleet, FleetFolder, MAX_DOCUMENT};
use crate::merge::FleetMerge;
use crate::plan_digest::plan_of;
use crate::traits::{differences, traits};

/// Signs shown of a text that a host wrote, and bytes read of a log.
const SHOWN: usize = 300;
const MAX_LOG: u64 = 1 << 20;

/// Trials, promises and groups in the verdict of one run: numbers of all runs are in memory.
const MAX_ENTRIES: usize = 1 << 16;

/// How deep a run may lie below a folder of copies, and names in all of these folders.
const MAX_DEPTH: usize = 12;
const MAX_NAMES: usize = 1 << 20;

/// Folders of runs that were copied from their hosts, open: one that is not there is an error before anything is made.
#[derive(Debug, Default)]
pub struct CopySources(Vec<(PathBuf, Dir)>);

impl CopySources {
    /// Opens them.
    pub fn open(named: &[PathBuf]) -> Result<Self, Error> {
        let open = |path: &PathBuf| match Dir::open(path) {
            Ok(dir) => Ok((dir.current_path().map_err(Error::usage)?, dir)),
            Err(error) => {
                let hint = "hint: name folders that hold runs copied from hosts";
                Err(Error::usage(format!("{error}\n  {hint}")))
            }
        };
        named.iter().map(open).collect::<Result<_, _>>().map(Self)
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Merges the runs of a fleet and those copied from hosts; without a fleet the first run decides the plan. A task
/// without a verdict is listed with the reason, and the others count. Only the numbers of each run stay in memory.
#[must_use]
pub fn collect(fleet: Option<(&FleetFolder, &Fleet)>, copies: &CopySources) -> FleetJudgement {
    let mut all = Collection { fleet: fleet.map(|(_, fleet)| fleet), ..Collection::default() };
    if let Some((folder, fleet)) = fleet {
        all.plan = Some(fleet.plan.clone());
        all.submitted(folder.dir());
    }
    let mut names = MAX_NAMES;
    for (path, dir) in &copies.0 {
        if let Err(error) = dir.dir(".").map(|dir| all.copied(dir, path, 0, &mut names)) {
            all.refuse(path, &error.cause);
        }
    }
    if let Some((folder, fleet)) = fleet {
        all.missing(folder.dir(), fleet);
    }
    all.finish()
}

/// Writes the judgement and its report into a folder.
pub fn write(dir: &Dir, judgement: &FleetJudgement) -> Result<(), Error> {
    let json = serde_json::to_string_pretty(judgement).map_err(Error::host)?;
    let html = assay_report::fleet_html(judgement);
    dir.replace("fleet-verdict.json", format!("{json}\n").as_bytes())
        .and_then(|()| dir.replace("report.html", html.as_bytes()))
        .map_err(Error::host)
}

/// The results so far.
#[derive(Default)]
struct Collection<'f> {
    fleet: Option<&'f Fleet>,
    plan: Option<String>,
    /// Title and question, and when the first run began, of a collection without a fleet.
    head: Option<[String; 4]>,
    merge: FleetMerge,
    hosts: Vec<FleetHost>,
    nodes: BTreeSet<String>,
    /// Hosts whose run has no verdict.
    unread: Vec<FleetHost>,
    refused: BTreeMap<String, String>,
}

impl Collection<'_> {
    /// Runs in `nodes/NODE/JOB_TASK` of a fleet, each with the document of how it ended next to it.
    fn submitted(&mut self, fleet: &Dir) {
        let Ok(nodes) = fleet.dir("nodes") else { return };
        for (node, dir) in folders(&nodes) {
            let runs: BTreeSet<(u64, usize)> = dir
                .names()
                .unwrap_or_default()
                .iter()
                .filter_map(|name| job_and_task(name))
                .collect();
            for (job, task) in runs {
                let name = format!("{job}_{task}");
                let path = Path::new("nodes").join(&node).join(&name);
                let end = end_of_run(&dir, &format!("{name}.json"));
                let mut host = FleetHost { task, node: node.clone(), ..blank() };
                host.code = end.as_ref().map(|end| end.code);
                host.why = end.and_then(|end| reason(&end));
                host.run = dir.dir(&name).is_ok().then(|| path.display().to_string());
                let run = dir.dir(&name).map_err(|error| error.cause.to_string());
                let counted = run.and_then(|run| self.count(&mut host, run, true));
                if let Err(why) = counted {
                    self.unread.push(FleetHost { why: host.why.clone().or(Some(why)), ..host });
                }
            }
        }
    }

    /// Runs anywhere below a folder. No link is followed, and no run is entered.
    fn copied(&mut self, dir: Dir, path: &Path, depth: usize, remaining: &mut usize) {
        if ["manifest.json", "verdict.json", "events.jsonl"].iter().any(|name| dir.has_file(name)) {
            let mut host = FleetHost { run: Some(path.display().to_string()), ..blank() };
            if let Err(why) = self.count(&mut host, dir, false) {
                self.refuse(path, &why);
            }
            return;
        }
        let names = match dir.names() {
            Ok(names) if depth < MAX_DEPTH && names.len() <= *remaining => names,
            Ok(_) => return self.refuse(path, &"it holds too many names, or too deep ones"),
            Err(error) => return self.refuse(path, &error.cause),
        };
        *remaining -= names.len();
        for name in names {
            let path = path.join(&name);
            match dir.dir(&name) {
                Ok(inner) => self.copied(inner, &path, depth + 1, remaining),
                // A file beside the runs.
                Err(_) if dir.has_file(&name) => {}
                Err(error) if error.is(Errno::NOTDIR) => {
                    self.refuse(&path, &"it is a link or a special file, and neither is followed");
                }
                Err(error) => self.refuse(&path, &error.cause),
            }
        }
    }

    fn refuse(&mut self, path: &Path, why: &dyn std::fmt::Display) {
        self.refused.insert(format!("folder {}", path.display()), excerpt(&why.to_string()));
    }

    /// Counts a run: the first one with a verdict of each host, so that running again undoes nothing. The error says
    /// why it is no run of this fleet; one without a verdict is remembered unless the caller does that itself.
    fn count(&mut self, host: &mut FleetHost, run: Dir, submitted: bool) -> Result<(), String> {
        let folder = RunFolder::from_dir(run).map_err(|_| "it has no manifest.json".to_owned())?;
        let manifest = folder.read_manifest().map_err(|error| error.cause.to_string())?;
        if manifest.recording.is_some() {
            return Err("it is a recording and not a run of a study".to_owned());
        }
        let plan = plan_of(&manifest);
        if self.plan.as_ref().is_some_and(|expected| *expected != plan) {
            return Err(
                "it is a run of another plan: of another study, or with other options".to_owned()
            );
        }
        host.task = match self.fleet {
            Some(fleet) => fleet
                .task_of(manifest.seed)
                .ok_or_else(|| format!("no task of this fleet has the seed {}", manifest.seed))?,
            None => self.hosts.len() + self.unread.len(),
        };
        if !submitted {
            host.node = excerpt(&manifest.host.host_name);
        }
        if self.nodes.contains(&host.node) {
            return Err(format!("{} has a verdict already", host.node));
        }
        host.seed = manifest.seed;
        host.restored = manifest.restored;
        let judgement = match judgement(&folder) {
            Ok(judgement) => judgement,
            Err(why) if submitted => return Err(why),
            Err(why) => {
                self.unread.push(FleetHost { why: Some(why), ..host.clone() });
                return Ok(());
            }
        };
        // What was broken stays broken; of anything else an interrupted run says nothing.
        if let Some(why) =
            manifest.ended_early.clone().filter(|_| judgement.verdict != Verdict::Broken)
        {
            return Err(why);
        }
        self.plan = Some(plan);
        self.head.get_or_insert_with(|| head(&manifest));
        let promises = judgement.trials.iter().any(|trial| !trial.promises.is_empty());
        let silent = !promises && judgement.comparisons.is_empty();
        host.code = host.code.or(silent.then_some(0));
        host.traits = traits(&manifest);
        host.why = None;
        host.verdict = Some(judgement.verdict);
        self.merge.add(&host.node, &judgement);
        self.nodes.insert(host.node.clone());
        self.hosts.push(host.clone());
        Ok(())
    }

    /// Lists the tasks without a verdict.
    fn missing(&mut self, dir: &Dir, fleet: &Fleet) {
        let counted: BTreeSet<usize> = self.hosts.iter().map(|host| host.task).collect();
        let mut unread: BTreeMap<usize, FleetHost> =
            self.unread.drain(..).map(|host| (host.task, host)).collect();
        for task in (0..fleet.tasks).filter(|task| !counted.contains(task)) {
            let node = fleet.hosts.get(task).cloned().unwrap_or_else(|| format!("task {task}"));
            let mut host = unread.remove(&task).unwrap_or_else(|| FleetHost { node, ..blank() });
            (host.task, host.seed) = (task, fleet.seed.wrapping_add(task as u64));
            let said = last_line(dir, fleet, task).filter(|_| host.code.is_none());
            let nothing = || "it has left nothing (`squeue` shows whether it waits)".to_owned();
            host.why = said.or(host.why).or_else(|| Some(nothing()));
            self.hosts.push(host);
        }
    }

    fn finish(mut self) -> FleetJudgement {
        // Without a fleet: hosts of which no run has a verdict.
        let mut nodes = self.nodes;
        self.hosts.extend(self.unread.into_iter().filter(|host| nodes.insert(host.node.clone())));
        let mut hosts = self.hosts;
        hosts.sort_by_key(|host| host.task);
        let (mut trials, mut comparisons) = self.merge.finish();
        leave_open(&hosts, &mut trials, &mut comparisons);
        let (verdict, reason) = conclude(&hosts);
        let [study, title, question, started_at] = self.head.unwrap_or_default();
        let fleet = self.fleet;
        FleetJudgement {
            schema: 1,
            study: fleet.map_or(study, |fleet| fleet.study.clone()),
            title: fleet.map_or(title, |fleet| fleet.title.clone()),
            question: fleet.map_or_else(
                || Some(question).filter(|text| !text.is_empty()),
                |fleet| fleet.question.clone(),
            ),
            started_at: fleet.map_or(started_at, |fleet| fleet.started_at.clone()),
            verdict,
            reason,
            restored: restored(&hosts),
            differences: differences(&hosts),
            hosts,
            trials,
            comparisons,
            not_available: self.refused,
        }
    }
}

/// A host of which nothing is known.
pub(crate) fn blank() -> FleetHost {
    FleetHost {
        task: 0,
        node: String::new(),
        why: None,
        verdict: None,
        code: None,
        seed: 0,
        run: None,
        restored: None,
        traits: BTreeMap::new(),
    }
}

fn head(manifest: &Manifest) -> [String; 4] {
    let question = manifest.question.clone().unwrap_or_default();
    [&manifest.study, &manifest.title, &question, &manifest.started_at].map(|text| excerpt(text))
}

/// The folders in a folder, by name.
fn folders(dir: &Dir) -> Vec<(String, Dir)> {
    let names = dir.names().unwrap_or_default();
    names.iter().filter_map(|name| Some((name.to_str()?.to_owned(), dir.dir(name).ok()?))).collect()
}

/// `17_3`, or `17_3.json`.
fn job_and_task(name: &OsStr) -> Option<(u64, usize)> {
    let name = name.to_str()?;
    let (job, task) = name.strip_suffix(".json").unwrap_or(name).split_once('_')?;
    Some((job.parse().ok()?, task.parse().ok()?))
}

/// What a run said of its end (`assay run --errors-json`).
fn end_of_run(dir: &Dir, name: &str) -> Option<RunErrors> {
    parse_json(&dir.text(name, MAX_LOG).ok()?).ok()
}

/// The first error of a run, without its hint.
fn reason(end: &RunErrors) -> Option<String> {
    let first = end.errors.first().and_then(|text| text.lines().next()).map(excerpt);
    first.or_else(|| Some(format!("its run ended with exit code {}", end.code)))
}

/// The last line that the latest job of a task printed, unless it is a hint.
fn last_line(fleet_dir: &Dir, fleet: &Fleet, task: usize) -> Option<String> {
    let log = |job: &u64| fleet_dir.bytes(format!("log/{job}_{task}.txt"), MAX_LOG).ok();
    let text = fleet.jobs.iter().rev().find_map(log)?;
    let text = String::from_utf8_lossy(&text);
    text.lines().rfind(|line| !line.trim().is_empty() && !line.starts_with(' ')).map(excerpt)
}

fn excerpt(text: &str) -> String {
    text.chars().take(SHOWN).collect()
}

/// The format of a judgement, read before the rest of it.
#[derive(Deserialize)]
struct Format {
    schema: Option<u64>,
}

/// The verdict of a run; the error says why it has none.
fn judgement(folder: &RunFolder) -> Result<Judgement, String> {
    const NAME: &str = "verdict.json";
    let text = folder.dir().text(NAME, MAX_DOCUMENT);
    let text = text.map_err(|error| format!("cannot read {NAME}: {}", error.cause))?;
    let wrong = |cause: serde_json::Error| format!("cannot read {NAME}: {cause}");
    let Format { schema } = parse_json(&text).map_err(wrong)?;
    if schema != Some(1) {
        let schema = schema.map_or_else(|| "none".to_owned(), |number| number.to_string());
        return Err(format!("{NAME} has schema {schema}, written by another version of Assay"));
    }
    let judgement: Judgement = parse_json(&text).map_err(wrong)?;
    let promises = judgement.trials.iter().flat_map(|trial| &trial.promises);
    let entries = judgement.trials.len()
        + judgement.comparisons.len()
        + promises.map(|promise| 1 + promise.groups.len()).sum::<usize>();
    match entries {
        0..=MAX_ENTRIES => Ok(judgement),
        _ => Err(format!("{NAME} has more than {MAX_ENTRIES} trials, promises and groups")),
    }
}

/// Whether every host was restored: `false` if one was not, `None` if one did not say. A host that never started has
/// nothing to restore.
fn restored(hosts: &[FleetHost]) -> Option<bool> {
    let began = || hosts.iter().filter(|host| host.run.is_some());
    if began().any(|host| host.restored == Some(false)) {
        return Some(false);
    }
    began().all(|host| host.restored == Some(true)).then_some(true)
}

#[cfg(test)]
mod tests;
