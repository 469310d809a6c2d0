//! From the settings asked for to files and texts of this host, before anything is changed.

use std::collections::{BTreeMap, BTreeSet};

use assay_facts::{CORE, CgroupLayout, Disk, Home, HostFacts};
use assay_knob::{DiskQueue, PLACEHOLDER, Translation, Untranslatable, translate};
use serde::Serialize;

use crate::request::{Request, Setting};

/// Controllers whose counters say what the command has used.
const COUNTERS: [&str; 5] = ["cpu", "cpuacct", "memory", "io", "pids"];

/// Whose mistake a refused setting is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum WhoseFault {
    /// No host knows this knob or this value.
    Usage,
    /// This host cannot do it.
    Host,
}

/// A setting that cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refused {
    /// The knob asked for.
    pub knob: String,
    /// The value asked for.
    pub value: String,
    /// Why not, and what to do about it.
    pub reason: String,
    /// Whose mistake it is.
    pub fault: WhoseFault,
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cannot set {}={}: {}", self.knob, self.value, self.reason)
    }
}

/// A setting as this host knows it.
#[derive(Debug, Clone)]
pub(crate) struct Planned {
    pub(crate) setting: Setting,
    pub(crate) translation: Translation,
}

impl Planned {
    /// `device` is `MAJOR:MINOR` of the disk that was named; a translation that waits for one is
    /// made only where there is one.
    fn new(setting: &Setting, mut translation: Translation, device: Option<&str>) -> Self {
        if let Some(device) = device {
            let also = translation.also.iter_mut().map(|(_, value)| value);
            for value in also.chain([&mut translation.written]) {
                *value = value.replace(PLACEHOLDER, device);
            }
        }
        Self { setting: setting.clone(), translation }
    }
}

/// All that is known before the first change.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) homes: Vec<Home>,
    /// Controllers that no hierarchy of this host serves, with the reason.
    pub(crate) absent: BTreeMap<String, String>,
    pub(crate) planned: Vec<Planned>,
    pub(crate) refused: Vec<Refused>,
    /// `MAJOR:MINOR` of the disk that was named.
    pub(crate) device: Option<String>,
}

/// Translates every setting and finds the hierarchies in which the group is made.
pub(crate) fn prepare(request: &Request, facts: &HostFacts) -> Result<Prepared, Refused> {
    let disk = disk(request, facts)?;
    let queue = disk.and_then(|disk| disk.scheduler.as_ref());
    let queue =
        queue.map(|scheduler| DiskQueue { scheduler: scheduler.active.clone(), iops: None });
    let device = disk.map(|disk| format!("{}:{}", disk.major, disk.minor));
    let (mut planned, mut refused) = (Vec::new(), Vec::new());
    refused.extend(memory_refused(request, facts));
    for setting in &request.settings {
        match translated(setting, &facts.cgroup, &facts.kernel, queue.as_ref()) {
            Ok(found) => planned.push(Planned::new(setting, found, device.as_deref())),
            Err(refusal) => refused.push(refusal),
        }
    }
    // Stable: where the order is free, it is the one asked for.
    planned.sort_by_key(|one| one.translation.rank);
    let (homes, absent) = homes(&facts.cgroup, &planned);
    let (planned, beyond) = within_reach(planned, &absent);
    refused.extend(beyond);
    Ok(Prepared { homes, absent, planned, refused, device })
}

fn disk<'f>(request: &Request, facts: &'f HostFacts) -> Result<Option<&'f Disk>, Refused> {
    let Some(name) = &request.disk else { return Ok(None) };
    let name = name.trim_start_matches("/dev/");
    let found = facts.disks.iter().find(|disk| disk.name == name);
    found.map(Some).ok_or_else(|| {
        let names: Vec<&str> = facts.disks.iter().map(|disk| disk.name.as_str()).collect();
        Refused {
            knob: "--disk".to_owned(),
            value: name.to_owned(),
            reason: format!("this host has no such disk; it has {}", names.join(", ")),
            fault: WhoseFault::Usage,
        }
    })
}

/// A memory policy on nodes that this host lacks.
fn memory_refused(request: &Request, facts: &HostFacts) -> Option<Refused> {
    let policy = request.memory.as_ref()?;
    let nodes = policy.nodes()?;
    (!nodes.is_subset(&facts.memory_nodes)).then(|| Refused {
        knob: "memory".to_owned(),
        value: policy.to_string(),
        reason: format!("this host has memory on the nodes {} only", facts.memory_nodes),
        fault: WhoseFault::Host,
    })
}

fn translated(
    setting: &Setting,
    layout: &CgroupLayout,
    kernel: &str,
    queue: Option<&DiskQueue>,
) -> Result<Translation, Refused> {
    let known = assay_knob::find(&setting.knob);
    let usage = known.is_none_or(|knob| knob.check(&setting.value).is_err());
    if !usage && queue.is_none() && depends_on_disk(setting, layout) {
        let reason = "what this becomes depends on the disk; name it with --disk, as --disk sda";
        return Err(setting.refused(reason, WhoseFault::Usage));
    }
    let fault = if usage { WhoseFault::Usage } else { WhoseFault::Host };
    let refuse = |why: Untranslatable| setting.refused(why.to_string(), fault);
    let found = translate(&setting.knob, &setting.value, layout, queue).map_err(refuse)?;
    found.why_not_in(kernel).map_or(Ok(found), |why| Err(refuse(why)))
}

/// Whether the knob is for one disk that the value does not name, or is obeyed by the scheduler
/// of a disk: then there is a translation only where a disk is.
fn depends_on_disk(setting: &Setting, layout: &CgroupLayout) -> bool {
    let queue = DiskQueue { scheduler: "bfq".to_owned(), iops: None };
    let with = |queue| translate(&setting.knob, &setting.value, layout, queue);
    setting.knob == "io.weight" || with(None).is_err() && with(Some(&queue)).is_ok()
}

/// Takes out what lies in a hierarchy in which no group can be made, with the reason.
fn within_reach(
    planned: Vec<Planned>,
    absent: &BTreeMap<String, String>,
) -> (Vec<Planned>, Vec<Refused>) {
    let (mut reached, mut refused) = (Vec::new(), Vec::new());
    for one in planned {
        match absent.get(&one.translation.controller) {
            Some(why) => refused.push(one.setting.refused(why.clone(), WhoseFault::Host)),
            None => reached.push(one),
        }
    }
    (reached, refused)
}

impl Setting {
    fn refused(&self, reason: impl Into<String>, fault: WhoseFault) -> Refused {
        let (knob, value) = (self.knob.clone(), self.value.clone());
        Refused { knob, value, reason: reason.into(), fault }
    }
}

/// The hierarchies of the knobs and of the counters. cgroup2 is among them wherever it is mounted
/// and groups can be made there, also where v1 holds every controller: only there does a group
/// have pressure counters.
fn homes(layout: &CgroupLayout, planned: &[Planned]) -> (Vec<Home>, BTreeMap<String, String>) {
    let mut wanted: BTreeSet<&str> = COUNTERS.into();
    // v1 alone has `cpuacct`; on v2 its absence is no lack.
    if layout.is_on_v2("cpu") {
        wanted.remove("cpuacct");
    }
    wanted.insert(CORE);
    wanted.extend(planned.iter().map(|planned| planned.translation.controller.as_str()));
    layout.homes(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_facts::{Available, Controller, Hierarchy, Layout};

    const KERNEL: &str = "6.18.1";

    fn layout() -> CgroupLayout {
        let on = |hierarchy| Controller { hierarchy, own_group: "/".to_owned() };
        let v1 = |name: &str| on(Hierarchy::V1(std::path::PathBuf::from("/cg").join(name)));
        CgroupLayout {
            layout: Layout::Hybrid,
            v2_mount: Some(std::path::PathBuf::from("/cg/unified")),
            controllers: BTreeMap::from([
                ("cpu".to_owned(), v1("cpu")),
                ("memory".to_owned(), v1("memory")),
                ("pids".to_owned(), on(Hierarchy::Absent("not built in".to_owned()))),
            ]),
            bases: BTreeMap::new(),
        }
    }

    fn refused(knob: &str, value: &str) -> Refused {
        let setting = Setting { knob: knob.to_owned(), value: value.to_owned() };
        translated(&setting, &layout(), KERNEL, None).unwrap_err()
    }

    #[test]
    fn a_mistake_is_told_from_what_this_host_cannot_do() {
        let unknown = refused("memory.mxa", "64M");
        assert_eq!(unknown.fault, WhoseFault::Usage);
        assert!(unknown.reason.contains("did you mean `memory.max`"), "{unknown}");
        assert_eq!(refused("cpu.weight", "0").fault, WhoseFault::Usage);
        assert_eq!(refused("pids.max", "8").fault, WhoseFault::Host);
        assert!(refused("pids.max", "8").reason.contains("not built in"));
        assert_eq!(refused("memory.high", "8M").fault, WhoseFault::Host);
        assert!(refused("io.weight", "100").reason.contains("--disk"));
    }

    #[test]
    fn a_limit_on_a_disk_gets_its_numbers() {
        let queue = DiskQueue { scheduler: "none".to_owned(), iops: None };
        let setting: Setting = "io.max=rbps=1M".parse().unwrap();
        let refused = translated(&setting, &on_v2(), KERNEL, None).unwrap_err();
        assert_eq!(refused.fault, WhoseFault::Usage);
        assert!(refused.reason.contains("--disk"), "{refused}");
        let found = translated(&setting, &on_v2(), KERNEL, Some(&queue)).unwrap();
        let planned = Planned::new(&setting, found, Some("7:3"));
        assert_eq!(planned.translation.written, "7:3 rbps=1048576");
    }

    fn on_v2() -> CgroupLayout {
        let mount = std::path::PathBuf::from("/cg");
        let io = Controller { hierarchy: Hierarchy::V2(mount.clone()), own_group: "/".to_owned() };
        CgroupLayout {
            layout: Layout::V2,
            v2_mount: Some(mount),
            controllers: BTreeMap::from([("io".to_owned(), io)]),
            bases: BTreeMap::new(),
        }
    }

    #[test]
    fn what_was_not_delegated_is_refused_with_the_reason() {
        let why = "needs root, because no group was delegated".to_owned();
        let mut layout = on_v2();
        layout.bases.insert("io".to_owned(), Available::NotAvailable(why.clone()));
        layout.bases.insert(CORE.to_owned(), Available::Value("/cg/users/1000".into()));
        let setting: Setting = "io.max=7:3 rbps=1M".parse().unwrap();
        let found = translated(&setting, &layout, KERNEL, None).unwrap();
        let planned = vec![Planned::new(&setting, found, None)];
        let (homes, absent) = homes(&layout, &planned);
        let (reached, refused) = within_reach(planned, &absent);
        assert!(reached.is_empty());
        assert_eq!((refused[0].fault, &refused[0].reason), (WhoseFault::Host, &why));
        assert_eq!(homes.len(), 1, "{homes:?}");
        assert_eq!(homes[0].base, std::path::Path::new("/cg/users/1000"));
    }

    #[test]
    fn the_group_is_made_on_cgroup2_too_for_its_pressure() {
        let (homes, absent) = homes(&layout(), &[]);
        let v2: Vec<&Home> = homes.iter().filter(|home| home.is_v2).collect();
        assert_eq!(v2.len(), 1);
        assert_eq!(v2[0].enabled().count(), 0);
        assert_eq!(homes.len(), 3);
        assert_eq!(absent["pids"], "not built in");
    }
}
