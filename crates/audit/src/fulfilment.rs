//! What somebody asked for in a manifest, against what stands in the files of the group that got it.

mod compose;
mod installed;
mod kubelet;
mod pod;
mod quantity;
mod read;
mod subject;
mod unit;
mod wanted;

use assay_host::facts::Available;
use assay_host::facts::owner::Owner;
use serde::Serialize;

use crate::host::Host;
use crate::owner;
use crate::snapshot::Snapshot;
use crate::tree::Node;

pub use installed::asked_by_unit;
pub(crate) use installed::installed;
pub use kubelet::kubelet_settings;
pub use read::{Manifest, manifest};
pub use subject::Place;
use subject::{NoGroup, Subject};
pub use unit::unit_settings;
use wanted::Wanted;

/// The schema of the document.
const SCHEMA: u32 = 1;

/// Limits of cgroup2 that hold as well where they are set on the only group below. So crun has it for podman with systemd: `io.max` is there
/// alone, and the scope's `memory.swap.max` has memory and swap together.
const LIMITS: [&str; 7] = [
    "cpu.max",
    "cpuset.cpus",
    "io.max",
    "memory.high",
    "memory.max",
    "memory.swap.max",
    "pids.max",
];

/// A setting as its manager knows it, and what becomes of it in files.
#[derive(Debug, Clone)]
struct Asked {
    /// As in the manifest, `resources.limits.memory: 512Mi`.
    setting: String,
    /// The controller, by its v2 name.
    controller: &'static str,
    /// On cgroup2.
    v2: Target,
    /// On cgroup v1.
    v1: Target,
}

impl Asked {
    /// The same on both versions of the interface.
    fn alike(setting: String, controller: &'static str, target: Target) -> Self {
        Self { setting, controller, v2: target.clone(), v1: target }
    }

    /// What is named and not compared, and why.
    fn not_compared(setting: String, why: impl Into<String>) -> Self {
        Self::alike(setting, "", Target::Unknown(why.into()))
    }
}

/// What should stand in which file.
#[derive(Debug, Clone)]
enum Target {
    /// One of several files: those that exist count.
    File { name: &'static str, wanted: Wanted, how: String },
    /// The manager has nowhere to write it.
    Nowhere(&'static str),
    /// The group should be in one of this name.
    Below(String),
    /// It cannot be told here.
    Unknown(String),
}

impl Target {
    fn file(name: &'static str, wanted: Wanted, how: impl Into<String>) -> Self {
        Self::File { name, wanted, how: how.into() }
    }
}

/// What was asked for on behalf of one subject.
#[derive(Debug, Clone)]
struct Request {
    /// `container web of pod shop/web-0`.
    title: String,
    subject: Subject,
    asked: Vec<Asked>,
    /// What in the manifest is not compared, and why.
    not_looked_at: Vec<String>,
}

/// Whether a file says what was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// The file says it.
    Kept,
    /// The file says something else, or does not exist.
    Differs,
    /// It cannot be told.
    NotLookedAt(String),
}

/// A setting that was asked for, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row {
    /// As in the manifest.
    pub setting: String,
    /// The file, where one is meant.
    pub file: Option<String>,
    /// What it should say.
    pub expected: Option<String>,
    /// What it says.
    pub found: Option<String>,
    /// How the setting became what should stand in the file.
    pub how: String,
    /// Whether it does.
    pub standing: Standing,
}

/// What was asked for one group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fulfilment {
    /// For whom, in the manifest's words.
    pub subject: String,
    /// The group; absent if it was not found, or which it is cannot be told.
    pub group: Option<String>,
    /// What was looked for and is not there, if something was asked of it.
    pub not_found: Option<String>,
    /// Whose it is, if its path tells.
    pub owner: Option<Owner>,
    /// Whether nothing runs in the group, so that its files hold for nothing.
    pub is_empty: bool,
    /// The settings.
    pub rows: Vec<Row>,
    /// What was not compared, and why.
    pub not_looked_at: Vec<String>,
}

/// A manifest against a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Told {
    /// Its schema, 1.
    pub schema: u32,
    /// When the snapshot was taken.
    pub taken_at: String,
    /// The host.
    pub host: Available<String>,
    /// One for each group that was asked for.
    pub fulfilments: Vec<Fulfilment>,
}

impl Told {
    /// Whether any file says something else than was asked for, or a group is not there.
    #[must_use]
    pub fn differs(&self) -> bool {
        let is_missing = self.fulfilments.iter().any(|one| one.not_found.is_some());
        let mut rows = self.fulfilments.iter().flat_map(|one| &one.rows);
        is_missing || rows.any(|row| row.standing == Standing::Differs)
    }
}

/// Holds a manifest against a snapshot. A place stands for the subject of the manifest, if that has one only.
///
/// # Errors
/// The place does not fit the manifest, or is not there.
pub fn fulfilment(
    manifest: &Manifest,
    place: Option<&Place>,
    snapshot: &Snapshot,
) -> Result<Told, String> {
    let host = Host::new(snapshot);
    let requests = subject::placed(manifest.requests(&host), place)?;
    if place.is_some() {
        subject::check_place(&host, &requests)?;
    }
    let fulfilments = requests.iter().flat_map(|request| fulfil(&host, request)).collect();
    Ok(Told {
        schema: SCHEMA,
        taken_at: snapshot.taken_at.clone(),
        host: snapshot.machine.name.clone(),
        fulfilments,
    })
}

fn fulfil(host: &Host, request: &Request) -> Vec<Fulfilment> {
    let one = |group: Option<String>, rows: Vec<Row>| Fulfilment {
        subject: request.title.clone(),
        owner: group.as_ref().and_then(|path| owner::named(host.snapshot, path)),
        is_empty: group.as_ref().is_some_and(|path| is_empty(host, path)),
        group,
        not_found: None,
        rows,
        not_looked_at: request.not_looked_at.clone(),
    };
    match request.subject.groups(host) {
        // It is said of the pod.
        Err(NoGroup::PodNotFound) => Vec::new(),
        Err(NoGroup::NotFound(what)) => {
            let not_found = Some(what).filter(|_| !request.asked.is_empty());
            vec![Fulfilment { not_found, ..one(None, Vec::new()) }]
        }
        Err(NoGroup::Unknown(why)) => {
            let rows = request.asked.iter().map(|asked| not_looked_at(asked, &why)).collect();
            vec![one(None, rows)]
        }
        Ok(paths) => paths
            .into_iter()
            .map(|path| {
                let row = |asked| said_elsewhere(host, &request.subject, row(host, &path, asked));
                let rows = request.asked.iter().map(row).collect();
                one(Some(path), rows)
            })
            .collect(),
    }
}

/// Whether no hierarchy has a thread in the group or below.
fn is_empty(host: &Host, path: &str) -> bool {
    let mut nodes = host.trees.iter().filter_map(|tree| tree.node(path));
    nodes.all(|node| !node.is_populated())
}

/// What differs with the file of the host's own that says so: a drop-in that systemd reads later than the one that was given.
fn said_elsewhere(host: &Host, subject: &Subject, row: Row) -> Row {
    let line = || {
        let Subject::Unit(name) = subject else { return None };
        let key = row.setting.split_once('=')?.0;
        let files = host.snapshot.units.get(name)?;
        let all = files.iter().flat_map(|file| file.settings.iter().map(move |line| (file, line)));
        let mut of_key =
            all.filter(|(_, line)| line.split_once('=').is_some_and(|(own, _)| own == key));
        let (file, line) = of_key.next_back()?;
        (*line != row.setting).then(|| format!("{} says {line}", file.path))
    };
    match line().filter(|_| row.standing == Standing::Differs) {
        Some(how) => Row { how, ..row },
        None => row,
    }
}

fn not_looked_at(asked: &Asked, why: &str) -> Row {
    Row {
        setting: asked.setting.clone(),
        file: None,
        expected: None,
        found: None,
        how: String::new(),
        standing: Standing::NotLookedAt(why.to_owned()),
    }
}

fn row(host: &Host, path: &str, asked: &Asked) -> Row {
    let never = |how: &str| {
        let found = Some("never written".to_owned());
        let how = how.to_owned();
        Row { found, how, standing: Standing::Differs, ..not_looked_at(asked, "") }
    };
    match &asked.v2 {
        Target::Unknown(why) if asked.controller.is_empty() => return not_looked_at(asked, why),
        Target::Below(name) => return below(path, name, asked),
        _ => {}
    }
    let Some(tree) = host.tree_of(asked.controller) else {
        return match host.why_off(asked.controller) {
            Some(why) => never(&why),
            None => {
                let why = format!("no hierarchy of {} is mounted", asked.controller);
                not_looked_at(asked, &why)
            }
        };
    };
    let target = if tree.hierarchy.is_v2 { &asked.v2 } else { &asked.v1 };
    let (name, wanted, how) = match target {
        Target::File { name, wanted, how } => (*name, wanted, how.clone()),
        Target::Unknown(why) => return not_looked_at(asked, why),
        Target::Nowhere(why) => return never(why),
        Target::Below(name) => return below(path, name, asked),
    };
    let Some(node) = tree.node(path) else {
        let why = format!("{path} is not in the hierarchy {}", tree.hierarchy.name);
        return not_looked_at(asked, &why);
    };
    let is_met = |node: Node| node.text(name).is_some_and(|text| wanted.is_met(text));
    let inside = node.only_child().filter(|inside| LIMITS.contains(&name) && is_met(*inside));
    let node = inside.filter(|_| !is_met(node)).unwrap_or(node);
    let reading = node.reading(name);
    let standing = match (node.unreadable(name), node.text(name)) {
        (Some(why), _) => Standing::NotLookedAt(why.to_owned()),
        (None, Some(text)) if wanted.is_met(text) => Standing::Kept,
        _ => Standing::Differs,
    };
    Row {
        setting: asked.setting.clone(),
        file: Some(reading.file),
        expected: Some(wanted.to_string()),
        found: Some(reading.value),
        how,
        standing,
    }
}

/// Whether a group is in one of a name, `QM.slice` or `/jobs/web`.
fn below(path: &str, name: &str, asked: &Asked) -> Row {
    let above = path.rsplit_once('/').map_or("", |(above, _)| above);
    let is_there = above.ends_with(&format!("/{}", name.trim_matches('/')));
    let standing = if is_there { Standing::Kept } else { Standing::Differs };
    let above = if above.is_empty() { "/" } else { above };
    Row {
        expected: Some(name.to_owned()),
        found: Some(above.to_owned()),
        how: "the group above".to_owned(),
        standing,
        ..not_looked_at(asked, "")
    }
}

#[cfg(test)]
mod tests;
