//! Placements: whether their values are valid. Whether the host has these CPUs and nodes is checked
//! by the plan.

use std::str::FromStr;

use assay_sys::units::{CpuChoice, MemoryPolicy};

use super::{Check, Complaint};
use crate::code;
use crate::reader::quoted;
use crate::syntax::{Group, HUGE_PAGE_MODES, Placement};
use crate::template::Templated;

pub(super) fn placements(check: &mut Check<'_>) {
    for (name, workload) in &check.study.workloads {
        if let Some(placement) = &workload.place {
            place_values(check, placement, &format!("workloads.{name}.place"));
        }
    }
    placements_of_groups(check, &check.study.groups, "groups");
}

fn placements_of_groups(check: &mut Check<'_>, groups_here: &[Group], path: &str) {
    for (index, group) in groups_here.iter().enumerate() {
        let path = format!("{path}[{index}]");
        if let Some(placement) = &group.place {
            place_values(check, placement, &format!("{path}.place"));
        }
        placements_of_groups(check, &group.groups, &format!("{path}.groups"));
    }
}

fn place_values(check: &mut Check<'_>, placement: &Placement, path: &str) {
    parsed::<CpuChoice>(check, placement.cpus.as_ref(), path, "cpus");
    parsed::<MemoryPolicy>(check, placement.memory.as_ref(), path, "memory");
    let Some(huge_pages) = &placement.huge_pages else { return };
    check.each_value(huge_pages, &format!("{path}.huge_pages"), "`huge_pages`", |word| {
        (!HUGE_PAGE_MODES.contains(&word.as_str())).then(|| Complaint {
            code: code::PLACE_VALUE,
            message: format!("`huge_pages` is `{word}`"),
            expected: format!("one of {}", quoted(HUGE_PAGE_MODES)),
            remedy: "a process cannot use huge pages that the host does not allow: `thp = \"always\"` at the \
                     top of the study allows them for all"
                .to_owned(),
        })
    });
}

fn parsed<T: FromStr<Err = assay_sys::units::UnitError>>(
    check: &mut Check<'_>,
    value: Option<&Templated<String>>,
    path: &str,
    key: &str,
) {
    let Some(value) = value else { return };
    check.each_value(value, &format!("{path}.{key}"), &format!("`{key}`"), |text| {
        let error = text.parse::<T>().err()?;
        Some(Complaint {
            code: code::PLACE_VALUE,
            message: format!("`{key}` of the placement is `{}`", error.text),
            expected: error.expected.to_owned(),
            remedy: format!("write {}", error.expected),
        })
    });
}
