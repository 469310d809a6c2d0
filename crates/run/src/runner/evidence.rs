//! Evidence from inside the kernel: eBPF programs that count, for exactly the common window, where each group
//! waited. What the kernel refuses is a reason in the record, and the repeat goes on without it.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZero;
use std::sync::Arc;

use assay_blame::watch::requests::{IoHierarchy, RequestWatch};
use assay_blame::watch::waits::{CpuHierarchy, WaitWatch};
use assay_blame::{EVIDENCE_SCHEMA, Evidence};
use assay_host::cgroup::Tree;
use assay_host::facts::Available;
use assay_record::run_folder::{EvidenceRecord, RepeatRecord};
use assay_study::plan::GroupPlan;
use assay_sys::kernel::Error;

use crate::runner::start::Starter;

/// The attached programs of one repeat. They go with this value, or with the process.
pub(crate) struct EvidenceWatch {
    cpu: Result<WaitWatch, String>,
    disks: Result<RequestWatch, String>,
    /// The names of the study's groups by their paths.
    names: BTreeMap<String, String>,
    /// What was counted, once the window is over.
    counted: Option<Evidence>,
}

impl EvidenceWatch {
    /// Attaches the programs; they count nothing yet.
    pub(crate) fn attach(starter: &Starter<'_>) -> Self {
        let (cpu, disks) = (attach_to_cpus(starter), attach_to_disks(starter));
        Self { cpu, disks, names: names(starter.tree, &starter.trial.groups), counted: None }
    }

    /// From now on the programs count.
    pub(crate) fn start(&mut self) {
        act(&mut self.disks, RequestWatch::start);
        act(&mut self.cpu, WaitWatch::start);
    }

    /// Ends the counting, of both before either is read, and reads what was counted.
    pub(crate) fn stop(&mut self) {
        act(&mut self.disks, RequestWatch::stop);
        act(&mut self.cpu, WaitWatch::stop);
        let over = || "the window is over".to_owned();
        let cpu = std::mem::replace(&mut self.cpu, Err(over()));
        let disks = std::mem::replace(&mut self.disks, Err(over()));
        let of_cpus = cpu.as_ref().ok().map(WaitWatch::elapsed);
        let seconds = of_cpus.or_else(|| disks.as_ref().ok().map(RequestWatch::elapsed));
        let disks = disks.and_then(|watch| watch.finish().map_err(|error| error.to_string()));
        let cpu = cpu.and_then(|watch| watch.finish().map_err(|error| error.to_string()));
        let mut evidence = Evidence {
            schema: EVIDENCE_SCHEMA,
            seconds: seconds.map_or(0.0, |length| length.as_secs_f64()),
            cpu: available(cpu),
            disks: available(disks),
        };
        evidence.name_groups(&self.names);
        self.counted = Some(evidence);
    }

    /// Adds what was counted to the record, or why it was not; nothing of a repeat that had no window.
    pub(crate) fn finish(self, record: &mut RepeatRecord) {
        let Some(evidence) = self.counted else { return };
        for (part, why) in [("cpu", evidence.cpu.reason()), ("disks", evidence.disks.reason())] {
            if let Some(why) = why {
                record.not_available.insert(format!("evidence.{part}"), why.to_owned());
            }
        }
        if evidence.cpu.value().is_some() || evidence.disks.value().is_some() {
            let cpus = std::thread::available_parallelism().map_or(1, NonZero::get);
            let cpu_s = evidence.cost_s(cpus);
            record.evidence = Some(EvidenceRecord { cpu_s, document: Some(Arc::new(evidence)) });
        }
    }
}

/// Starts or stops what is attached; where the kernel refuses it, that is the reason why there is nothing.
fn act<W>(watch: &mut Result<W, String>, action: fn(&mut W) -> Result<(), Error>) {
    if let Ok(Err(error)) = watch.as_mut().map(action) {
        *watch = Err(error.to_string());
    }
}

fn available<T>(result: Result<T, String>) -> Available<T> {
    match result {
        Ok(value) => Available::Value(value),
        Err(why) => Available::NotAvailable(why),
    }
}

/// The directories of all groups with workloads of their own, in the hierarchy of a controller: the waiting of a
/// group around others is theirs.
fn directories(starter: &Starter<'_>, controller: &str) -> Result<Vec<String>, String> {
    let groups = starter.trial.groups.iter().filter(|group| !group.is_inner && !group.outside);
    let directory = |group: &GroupPlan| {
        let path = starter.tree.directory(&group.name, controller);
        path.map(|path| path.display().to_string())
    };
    let all: Option<Vec<String>> = groups.map(directory).collect();
    all.ok_or_else(|| match starter.trial.absent.get(controller) {
        Some(why) => format!("the controller `{controller}`: {why}"),
        None => format!("the groups of the run are not in the hierarchy of `{controller}`"),
    })
}

fn attach_to_cpus(starter: &Starter<'_>) -> Result<WaitWatch, String> {
    let paths = directories(starter, "cpu")?;
    let hierarchy = CpuHierarchy::new(starter.facts).map_err(|error| error.to_string())?;
    WaitWatch::on_groups(starter.root, &hierarchy, &paths).map_err(|error| error.to_string())
}

fn attach_to_disks(starter: &Starter<'_>) -> Result<RequestWatch, String> {
    // A directory need not be on a block device.
    let devices: BTreeSet<String> = starter.disks.iter().map(|disk| disk.device.clone()).collect();
    let devices: Vec<String> = devices.into_iter().filter(|device| !device.is_empty()).collect();
    if devices.is_empty() {
        return Err("the study uses no block device".to_owned());
    }
    let paths = directories(starter, "io")?;
    let hierarchy = IoHierarchy::new(&starter.facts.cgroup).map_err(|error| error.to_string())?;
    RequestWatch::on_groups(starter.root, &hierarchy, &paths, &devices)
        .map_err(|error| error.to_string())
}

/// Every group of the study by its path below the mount, in both hierarchies, and the group of the run around them: what
/// else is in it, such as the observer, begins with the run's name.
fn names(tree: &Tree, groups: &[GroupPlan]) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    for controller in ["cpu", "io"] {
        let (Some(mount), Some(top)) = (tree.mount(controller), tree.directory("", controller))
        else {
            continue;
        };
        let run = top.file_name().map(|name| name.to_string_lossy().into_owned());
        let of_study = groups.iter().filter(|group| !group.outside).map(|group| &group.name);
        let of_study = of_study.map(|name| (top.join(name), name.clone()));
        for (directory, name) in of_study.chain(run.map(|run| (top.clone(), run))) {
            if let Ok(path) = directory.strip_prefix(mount) {
                names.insert(format!("/{}", path.display()), name);
            }
        }
    }
    names
}

#[cfg(test)]
mod tests;
