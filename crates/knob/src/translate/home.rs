//! Which hierarchy of a host holds a knob.

use assay_facts::{CgroupLayout, Hierarchy};

use super::{CORE, Untranslatable, Version};
use crate::knob::{Counterpart, Home, Knob};

/// The version of the hierarchy that holds the knob on this host, and the name under which a
/// group finds its directory there.
pub(super) fn of(knob: &Knob, layout: &CgroupLayout) -> Result<(Version, String), Untranslatable> {
    if knob.controller == CORE {
        return of_core(knob, layout);
    }
    let controller = knob.controller;
    let version = match layout.controllers.get(controller).map(|found| &found.hierarchy) {
        Some(Hierarchy::V1(_)) => Version::V1,
        Some(Hierarchy::V2(_)) => Version::V2,
        // What v2 does by other means needs no controller there.
        _ if by_means(knob) && layout.v2_mount.is_some() => {
            return Ok((Version::V2, CORE.to_owned()));
        }
        Some(Hierarchy::Absent(why)) => return Err(absent(controller, why)),
        None => return Err(absent(controller, "this kernel does not list it")),
    };
    match (knob.home(), version) {
        (Home::V1Only, Version::V2) => Err(only_on(knob, version)),
        (Home::V2Only, Version::V1) => Err(only_on(knob, version)),
        _ => Ok((version, controller.to_owned())),
    }
}

/// Files of every group: on v2 there is one hierarchy to look in. On v1 each hierarchy has its
/// own, so that a knob of a study, which says nothing of hierarchies, cannot mean one of them.
fn of_core(knob: &Knob, layout: &CgroupLayout) -> Result<(Version, String), Untranslatable> {
    if knob.v2.is_some() && layout.v2_mount.is_some() {
        return Ok((Version::V2, CORE.to_owned()));
    }
    let freezer = layout.controllers.get("freezer").map(|found| &found.hierarchy);
    match freezer {
        Some(Hierarchy::V1(_)) if knob.name == "cgroup.freeze" => {
            Ok((Version::V1, "freezer".to_owned()))
        }
        _ if knob.v2.is_some() => Err(Untranslatable::new(
            format!("`{}` needs cgroup v2, which is not mounted here{}", knob.name, why(knob)),
            "mount cgroup2 (`mount -t cgroup2 none DIR`), or leave the knob out",
        )),
        _ => Err(Untranslatable::new(
            format!("`{}` is in every group of every v1 hierarchy", knob.name),
            "leave it out: Assay sees to these files itself",
        )),
    }
}

fn by_means(knob: &Knob) -> bool {
    matches!(knob.counterpart, Counterpart::Means(_))
}

fn only_on(knob: &Knob, here: Version) -> Untranslatable {
    let (name, controller) = (knob.name, knob.controller);
    let (has, is) = match here {
        Version::V1 => ("v2", "v1"),
        Version::V2 => ("v1", "v2"),
    };
    let remedy = match (here, knob.counterpart) {
        (Version::V2, Counterpart::Files(files)) => {
            format!("write `{}`, which works on both", files.join("` or `"))
        }
        (Version::V2, _) => "leave the knob out".to_owned(),
        (Version::V1, _) => {
            "boot with `systemd.unified_cgroup_hierarchy=1`, use a guest (`assay lab run STUDY \
             --cgroup v2`), or leave the knob out"
                .to_owned()
        }
    };
    Untranslatable::new(
        format!(
            "`{name}` exists on cgroup {has} only, and `{controller}` is on {is} here{}",
            why(knob)
        ),
        remedy,
    )
}

/// Why the other version has nothing of the kind, as the end of a sentence.
fn why(knob: &Knob) -> String {
    match knob.counterpart {
        Counterpart::Nothing(why) => format!("; {why}"),
        _ => String::new(),
    }
}

fn absent(controller: &str, why: &str) -> Untranslatable {
    Untranslatable::new(
        format!("the controller `{controller}` is not available: {why}"),
        "enable the controller at boot or run on a host that has it",
    )
}
