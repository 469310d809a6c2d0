//! From the settings asked for to files and texts of this host, before anything is changed.

use std::collections::{BTreeMap, BTreeSet};

use assay_facts::{CORE, CgroupLayout, Disk, Home, HostFacts};
use assay_knob::{DiskQueue, Translation, translate};
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
    let (mut planned, mut refused) = (Vec::new(), Vec::new());
    for setting in &request.settings {
        match translated(setting, &facts.cgroup, queue.as_ref()) {
            Ok(translation) => planned.push(Planned { setting: setting.clone(), translation }),
            Err(refusal) => refused.push(refusal),
        }
    }
    let (homes, absent) = homes(&facts.cgroup, &planned);
    let device = disk.map(|disk| format!("{}:{}", disk.major, disk.minor));
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

fn translated(
    setting: &Setting,
    layout: &CgroupLayout,
    queue: Option<&DiskQueue>,
) -> Result<Translation, Refused> {
    let refuse = |reason: String, fault| Refused {
        knob: setting.knob.clone(),
        value: setting.value.clone(),
        reason,
        fault,
    };
    let known = assay_knob::find(&setting.knob);
    let usage = known.is_none_or(|knob| knob.check(&setting.value).is_err());
    if setting.knob == "io.weight" && !usage && queue.is_none() {
        let reason = "who obeys `io.weight` depends on the scheduler of the disk; name the disk \
                      with --disk, as --disk sda";
        return Err(refuse(reason.to_owned(), WhoseFault::Usage));
    }
    translate(&setting.knob, &setting.value, layout, queue).map_err(|why| {
        let fault = if usage { WhoseFault::Usage } else { WhoseFault::Host };
        refuse(why.to_string(), fault)
    })
}

/// The hierarchies of the knobs and of the counters. cgroup2 is among them wherever it is mounted,
/// also where v1 holds every controller: only there does a group have pressure counters.
fn homes(layout: &CgroupLayout, planned: &[Planned]) -> (Vec<Home>, BTreeMap<String, String>) {
    let mut wanted: BTreeSet<&str> = COUNTERS.into();
    // v1 alone has `cpuacct`; on v2 its absence is no lack.
    if layout.is_on_v2("cpu") {
        wanted.remove("cpuacct");
    }
    wanted.extend(planned.iter().map(|planned| planned.translation.controller.as_str()));
    let (mut homes, mut absent) = layout.homes(wanted);
    if !homes.iter().any(|home| home.is_v2) {
        let (bare, why_none) = layout.homes([CORE]);
        homes.extend(bare);
        absent.extend(why_none);
    }
    (homes, absent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_facts::{Controller, Hierarchy, Layout};

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
        translated(&setting, &layout(), None).unwrap_err()
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
    fn the_group_is_made_on_cgroup2_too_for_its_pressure() {
        let (homes, absent) = homes(&layout(), &[]);
        let v2: Vec<&Home> = homes.iter().filter(|home| home.is_v2).collect();
        assert_eq!(v2.len(), 1);
        assert_eq!(v2[0].enabled().count(), 0);
        assert_eq!(homes.len(), 3);
        assert_eq!(absent["pids"], "not built in");
    }
}
