//! `place` of groups and workloads: CPUs, memory policy, huge pages.

use std::collections::BTreeMap;

use crate::key;
use crate::reader::{At, Reader};
use crate::section::Section;
use crate::syntax::Placement;

/// Reads a placement; `what` names its owner in messages.
pub(crate) fn read(reader: &mut Reader<'_>, at: &At<'_>, what: &str) -> Placement {
    let section = Section::open(reader, at.clone(), format!("`place` of {what}"), key::PLACE);
    Placement {
        cpus: section.templated(reader, "cpus"),
        memory: section.templated(reader, "memory"),
        huge_pages: section.templated(reader, "huge_pages"),
    }
}

/// Placements of workloads, by their names. Other mistakes in these tables are reported where
/// workloads are read.
pub(crate) fn of_workloads(reader: &mut Reader<'_>, table: &At<'_>) -> BTreeMap<String, Placement> {
    let mut placements = BTreeMap::new();
    let Some(workloads) = table.value.as_table() else { return placements };
    for (name, workload) in workloads {
        let place = workload.get_ref().as_table().and_then(|table| table.get_key_value("place"));
        let Some((key, value)) = place.filter(|(_, value)| value.get_ref().is_table()) else {
            continue;
        };
        let name = name.get_ref().as_ref();
        let path = format!("{}.{name}.place", table.path);
        let at = reader.at(value.get_ref(), key.span(), path);
        placements.insert(name.to_owned(), read(reader, &at, &format!("the workload `{name}`")));
    }
    placements
}
