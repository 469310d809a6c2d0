//! Translates the requested settings to files and values of this host, before anything is changed.

use std::collections::{BTreeMap, BTreeSet};

use assay_host::facts::{CORE, CgroupLayout, Disk, HostFacts, UsedHierarchy};
use assay_host::knob::{DiskQueue, PLACEHOLDER, Translation, Untranslatable, translate};
use serde::Serialize;

use crate::exec::request::{Request, Setting};

/// Controllers whose counters measure the command's usage.
const COUNTERS: [&str; 5] = ["cpu", "cpuacct", "memory", "io", "pids"];

/// Whether a refused setting is a mistake of the user or a limitation of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Fault {
    /// No host knows this knob or this value.
    Usage,
    /// This host does not support it.
    Host,
}

/// A setting that cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refused {
    /// The requested knob.
    pub knob: String,
    /// The requested value.
    pub value: String,
    /// Why not, and what to do about it.
    pub reason: String,
    /// A mistake, or a limitation of the host.
    pub fault: Fault,
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cannot set {}={}: {}", self.knob, self.value, self.reason)
    }
}

/// A setting, translated for this host.
#[derive(Debug, Clone)]
pub(crate) struct Planned {
    pub(crate) setting: Setting,
    pub(crate) translation: Translation,
}

impl Planned {
    /// `device` is `MAJOR:MINOR` of the requested disk; it replaces the placeholder of a translation.
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

/// Everything known before the first change.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) hierarchies: Vec<UsedHierarchy>,
    /// Controllers that no hierarchy of this host serves, with the reason.
    pub(crate) absent: BTreeMap<String, String>,
    pub(crate) planned: Vec<Planned>,
    pub(crate) refused: Vec<Refused>,
    /// `MAJOR:MINOR` of the requested disk.
    pub(crate) device: Option<String>,
}

/// Translates every setting and finds the hierarchies in which to create the group.
pub(crate) fn prepare(request: &Request, facts: &HostFacts) -> Result<Prepared, Refused> {
    let disk = disk(request, facts)?;
    let queue = disk.and_then(|disk| disk.scheduler.as_ref());
    let queue =
        queue.map(|scheduler| DiskQueue { scheduler: scheduler.active.clone(), iops: None });
    let device = disk.map(|disk| format!("{}:{}", disk.major, disk.minor));
    let (mut planned, mut refused) = (Vec::new(), Vec::new());
    refused.extend(memory_refused(request, facts));
    for setting in &request.settings {
        match translate_setting(setting, &facts.cgroup, &facts.kernel, queue.as_ref()) {
            Ok(translation) => planned.push(Planned::new(setting, translation, device.as_deref())),
            Err(refusal) => refused.push(refusal),
        }
    }
    // A stable sort: where the order is free, it is the requested one.
    planned.sort_by_key(|one| one.translation.rank);
    let (hierarchies, absent) = hierarchies(&facts.cgroup, &planned);
    let (planned, beyond) = within_reach(planned, &absent);
    refused.extend(beyond);
    Ok(Prepared { hierarchies, absent, planned, refused, device })
}

fn disk<'f>(request: &Request, facts: &'f HostFacts) -> Result<Option<&'f Disk>, Refused> {
    let Some(name) = &request.disk else { return Ok(None) };
    let name = name.trim_start_matches("/dev/");
    let disk = facts.disks.iter().find(|disk| disk.name == name);
    disk.map(Some).ok_or_else(|| {
        let names: Vec<&str> = facts.disks.iter().map(|disk| disk.name.as_str()).collect();
        Refused {
            knob: "--disk".to_owned(),
            value: name.to_owned(),
            reason: format!("this host has no such disk; it has {}", names.join(", ")),
            fault: Fault::Usage,
        }
    })
}

/// Refuses a memory policy on nodes that this host lacks.
fn memory_refused(request: &Request, facts: &HostFacts) -> Option<Refused> {
    let policy = request.memory.as_ref()?;
    let nodes = policy.nodes()?;
    (!nodes.is_subset(&facts.memory_nodes)).then(|| Refused {
        knob: "memory".to_owned(),
        value: policy.to_string(),
        reason: format!("this host has memory on the nodes {} only", facts.memory_nodes),
        fault: Fault::Host,
    })
}

fn translate_setting(
    setting: &Setting,
    layout: &CgroupLayout,
    kernel: &str,
    queue: Option<&DiskQueue>,
) -> Result<Translation, Refused> {
    let known = assay_host::knob::find(&setting.knob);
    let usage = known.is_none_or(|knob| knob.check(&setting.value).is_err());
    if !usage && queue.is_none() && depends_on_disk(setting, layout) {
        let reason = "the translation depends on the disk; name it with --disk, such as --disk sda";
        return Err(setting.refused(reason, Fault::Usage));
    }
    let fault = if usage { Fault::Usage } else { Fault::Host };
    let refuse = |why: Untranslatable| setting.refused(why.to_string(), fault);
    let translation = translate(&setting.knob, &setting.value, layout, queue).map_err(refuse)?;
    translation.why_not_in(kernel).map_or(Ok(translation), |why| Err(refuse(why)))
}

/// Whether the knob needs a disk that the value does not name, or depends on the scheduler of a disk:
/// the translation then needs a disk.
fn depends_on_disk(setting: &Setting, layout: &CgroupLayout) -> bool {
    let queue = DiskQueue { scheduler: "bfq".to_owned(), iops: None };
    let with = |queue| translate(&setting.knob, &setting.value, layout, queue);
    setting.knob == "io.weight" || with(None).is_err() && with(Some(&queue)).is_ok()
}

/// Separates the settings in hierarchies where no group can be created, with the reason.
fn within_reach(
    planned: Vec<Planned>,
    absent: &BTreeMap<String, String>,
) -> (Vec<Planned>, Vec<Refused>) {
    let (mut reached, mut refused) = (Vec::new(), Vec::new());
    for one in planned {
        match absent.get(&one.translation.controller) {
            Some(why) => refused.push(one.setting.refused(why.clone(), Fault::Host)),
            None => reached.push(one),
        }
    }
    (reached, refused)
}

impl Setting {
    fn refused(&self, reason: impl Into<String>, fault: Fault) -> Refused {
        let (knob, value) = (self.knob.clone(), self.value.clone());
        Refused { knob, value, reason: reason.into(), fault }
    }
}

/// The hierarchies of the knobs and of the counters. Includes cgroup2 wherever it is mounted and groups
/// can be created in it, even if v1 holds every controller: only cgroup2 groups have pressure counters.
fn hierarchies(
    layout: &CgroupLayout,
    planned: &[Planned],
) -> (Vec<UsedHierarchy>, BTreeMap<String, String>) {
    let mut controllers: BTreeSet<&str> = COUNTERS.into();
    // Only v1 has `cpuacct`; on v2 it is not missing.
    if layout.is_on_v2("cpu") {
        controllers.remove("cpuacct");
    }
    controllers.insert(CORE);
    controllers.extend(planned.iter().map(|planned| planned.translation.controller.as_str()));
    layout.hierarchies_with(controllers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_host::facts::{Available, Controller, Hierarchy, Layout};

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

    fn refusal(knob: &str, value: &str) -> Refused {
        let setting = Setting { knob: knob.to_owned(), value: value.to_owned() };
        translate_setting(&setting, &layout(), KERNEL, None).unwrap_err()
    }

    #[test]
    fn mistakes_and_host_limitations_are_distinguished() {
        let unknown = refusal("memory.mxa", "64M");
        assert_eq!(unknown.fault, Fault::Usage);
        assert!(unknown.reason.contains("did you mean `memory.max`"), "{unknown}");
        assert_eq!(refusal("cpu.weight", "0").fault, Fault::Usage);
        assert_eq!(refusal("pids.max", "8").fault, Fault::Host);
        assert!(refusal("pids.max", "8").reason.contains("not built in"));
        assert_eq!(refusal("memory.high", "8M").fault, Fault::Host);
        assert!(refusal("io.weight", "100").reason.contains("--disk"));
    }

    #[test]
    fn a_disk_limit_gets_its_device_numbers() {
        let queue = DiskQueue { scheduler: "none".to_owned(), iops: None };
        let setting: Setting = "io.max=rbps=1M".parse().unwrap();
        let refused = translate_setting(&setting, &on_v2(), KERNEL, None).unwrap_err();
        assert_eq!(refused.fault, Fault::Usage);
        assert!(refused.reason.contains("--disk"), "{refused}");
        let translation = translate_setting(&setting, &on_v2(), KERNEL, Some(&queue)).unwrap();
        let planned = Planned::new(&setting, translation, Some("7:3"));
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
    fn a_controller_not_delegated_is_refused_with_the_reason() {
        let why = "needs root, because no group was delegated".to_owned();
        let mut layout = on_v2();
        layout.bases.insert("io".to_owned(), Available::NotAvailable(why.clone()));
        layout.bases.insert(CORE.to_owned(), Available::Value("/cg/users/1000".into()));
        let setting: Setting = "io.max=7:3 rbps=1M".parse().unwrap();
        let translation = translate_setting(&setting, &layout, KERNEL, None).unwrap();
        let planned = vec![Planned::new(&setting, translation, None)];
        let (hierarchies, absent) = hierarchies(&layout, &planned);
        let (reached, refused) = within_reach(planned, &absent);
        assert!(reached.is_empty());
        assert_eq!((refused[0].fault, &refused[0].reason), (Fault::Host, &why));
        assert_eq!(hierarchies.len(), 1, "{hierarchies:?}");
        assert_eq!(hierarchies[0].base, std::path::Path::new("/cg/users/1000"));
    }

    #[test]
    fn the_group_is_also_created_on_cgroup2_for_its_pressure() {
        let (hierarchies, absent) = hierarchies(&layout(), &[]);
        let v2: Vec<&UsedHierarchy> =
            hierarchies.iter().filter(|hierarchy| hierarchy.is_v2).collect();
        assert_eq!(v2.len(), 1);
        assert_eq!(v2[0].enabled().count(), 0);
        assert_eq!(hierarchies.len(), 3);
        assert_eq!(absent["pids"], "not built in");
    }
}
