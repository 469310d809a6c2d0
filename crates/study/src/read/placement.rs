//! `place` of groups and workloads: CPUs, memory policy, huge pages.

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
