//! Places: whether their words mean something. Whether this host has such places is for the plan.

use std::str::FromStr;

use assay_units::{CpuChoice, MemoryPolicy};

use super::{Check, Complaint};
use crate::code;
use crate::reader::quoted;
use crate::syntax::{Group, HUGE_PAGE_MODES, Place};
use crate::template::Templated;

pub(super) fn check(check: &mut Check<'_>) {
    for (name, place) in &check.study.workload_places {
        one(check, place, &format!("workloads.{name}.place"));
    }
    groups(check, &check.study.groups, "groups");
}

fn groups(check: &mut Check<'_>, groups_here: &[Group], path: &str) {
    for (index, group) in groups_here.iter().enumerate() {
        let path = format!("{path}[{index}]");
        if let Some(place) = &group.place {
            one(check, place, &format!("{path}.place"));
        }
        groups(check, &group.groups, &format!("{path}.groups"));
    }
}

fn one(check: &mut Check<'_>, place: &Place, path: &str) {
    parsed::<CpuChoice>(check, place.cpus.as_ref(), path, "cpus");
    parsed::<MemoryPolicy>(check, place.memory.as_ref(), path, "memory");
    let Some(huge_pages) = &place.huge_pages else { return };
    check.each_value(huge_pages, &format!("{path}.huge_pages"), "`huge_pages`", |word| {
        (!HUGE_PAGE_MODES.contains(&word.as_str())).then(|| Complaint {
            code: code::PLACE_VALUE,
            message: format!("`huge_pages` is `{word}`"),
            expected: format!("one of {}", quoted(HUGE_PAGE_MODES)),
            remedy: "a process cannot have more than the host allows: `thp = \"always\"` at the \
                     top of the study gives huge pages to all"
                .to_owned(),
        })
    });
}

fn parsed<T: FromStr<Err = assay_units::UnitError>>(
    check: &mut Check<'_>,
    value: Option<&Templated<String>>,
    path: &str,
    key: &str,
) {
    let Some(value) = value else { return };
    check.each_value(value, &format!("{path}.{key}"), &format!("`{key}`"), |text| {
        let wrong = text.parse::<T>().err()?;
        Some(Complaint {
            code: code::PLACE_VALUE,
            message: format!("`{key}` of the place is `{}`", wrong.text),
            expected: wrong.expected.to_owned(),
            remedy: format!("write {}", wrong.expected),
        })
    });
}
