//! Finds the hierarchy of a host that has a knob.

use crate::facts::{CgroupLayout, Hierarchy};

use super::{CORE, Untranslatable, Version};
use crate::knob::entry::{Counterpart, Knob, SupportedVersions};

/// The version of the hierarchy that has the knob on this host, and the name under which its
/// directory is found there.
pub(super) fn find(
    knob: &Knob,
    layout: &CgroupLayout,
) -> Result<(Version, String), Untranslatable> {
    if knob.controller == CORE {
        return find_core(knob, layout);
    }
    let controller = knob.controller;
    let version = match layout.controllers.get(controller).map(|controller| &controller.hierarchy) {
        Some(Hierarchy::V1(_)) => Version::V1,
        Some(Hierarchy::V2(_)) => Version::V2,
        // On v2 other means need no controller.
        _ if by_means(knob) && layout.v2_mount.is_some() => {
            return Ok((Version::V2, CORE.to_owned()));
        }
        Some(Hierarchy::Absent(why)) => return Err(absent(controller, why)),
        None => return Err(absent(controller, "this kernel does not list it")),
    };
    match (knob.supported_versions(), version) {
        (SupportedVersions::V1Only, Version::V2) => Err(only_on(knob, version)),
        (SupportedVersions::V2Only, Version::V1) => Err(only_on(knob, version)),
        _ => Ok((version, controller.to_owned())),
    }
}

/// Finds the hierarchy for files of every group. On v2 there is one. On v1 each hierarchy has its
/// own files, and a study cannot choose one of them.
fn find_core(knob: &Knob, layout: &CgroupLayout) -> Result<(Version, String), Untranslatable> {
    if knob.v2.is_some() && layout.v2_mount.is_some() {
        return Ok((Version::V2, CORE.to_owned()));
    }
    let freezer = layout.controllers.get("freezer").map(|controller| &controller.hierarchy);
    match freezer {
        Some(Hierarchy::V1(_)) if knob.name == "cgroup.freeze" => {
            Ok((Version::V1, "freezer".to_owned()))
        }
        _ if knob.v2.is_some() => Err(Untranslatable::new(
            format!("`{}` needs cgroup v2, which is not mounted here{}", knob.name, why(knob)),
            "mount cgroup2 (`mount -t cgroup2 none DIR`), or remove the knob",
        )),
        _ => Err(Untranslatable::new(
            format!("`{}` is in every group of every v1 hierarchy", knob.name),
            "remove it: Assay sets these files itself",
        )),
    }
}

fn by_means(knob: &Knob) -> bool {
    matches!(knob.counterpart, Counterpart::Means(_))
}

fn only_on(knob: &Knob, here: Version) -> Untranslatable {
    let (name, controller) = (knob.name, knob.controller);
    let (available, current) = match here {
        Version::V1 => ("v2", "v1"),
        Version::V2 => ("v1", "v2"),
    };
    let remedy = match (here, knob.counterpart) {
        (Version::V2, Counterpart::Files(files)) => {
            format!("write `{}`, which works on both", files.join("` or `"))
        }
        (Version::V2, _) => "remove the knob".to_owned(),
        (Version::V1, _) => {
            "boot with `systemd.unified_cgroup_hierarchy=1`, use a guest (`assay lab run STUDY \
             --cgroup v2`), or remove the knob"
                .to_owned()
        }
    };
    Untranslatable::new(
        format!(
            "`{name}` exists on cgroup {available} only, and `{controller}` is on {current} here{}",
            why(knob)
        ),
        remedy,
    )
}

/// The reason why the other version has no counterpart, as the end of a sentence.
fn why(knob: &Knob) -> String {
    match knob.counterpart {
        Counterpart::Nothing(why) => format!("; {why}"),
        _ => String::new(),
    }
}

fn absent(controller: &str, why: &str) -> Untranslatable {
    Untranslatable::new(
        format!("the controller `{controller}` is not available: {why}"),
        "enable the controller at boot, or run on a host that has it",
    )
}
