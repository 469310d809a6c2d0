//! Valid names.

use std::ops::Range;

use assay_sys::diagnostic::Diagnostic;

use crate::code;
use crate::reader::Reader;

/// The kernel's interface files begin with these words and a dot; a group of such a name would
/// collide with them.
const CONTROLLERS: &[&str] = &[
    "cgroup",
    "cpu",
    "cpuacct",
    "cpuset",
    "memory",
    "io",
    "blkio",
    "pids",
    "hugetlb",
    "rdma",
    "misc",
    "devices",
    "freezer",
    "net_cls",
    "net_prio",
    "perf_event",
    "dmem",
    "irq",
];

/// Interface files of cgroup v1 without a dot.
const V1_FILES: &[&str] = &["tasks", "notify_on_release", "release_agent"];

/// The longest name of a directory (NAME_MAX), less space for the number of a member.
const LONGEST: usize = 240;

/// Checks the name of a control group, which becomes a directory.
pub(crate) fn group(reader: &mut Reader<'_>, name: &str, span: Range<usize>) {
    let family = name.split_once('.').map(|(family, _)| family);
    let reserved = family.is_some_and(|family| CONTROLLERS.contains(&family));
    if reserved || V1_FILES.contains(&name) {
        reader.add(
            invalid(&format!("the group name `{name}` is reserved for an interface file"), span)
                .hint("choose a name that does not begin with a controller, such as `task`"),
        );
    } else if !is_plain(name, "_.-") || name.starts_with('.') || name.len() > LONGEST {
        reader.add(
            invalid(&format!("invalid group name `{name}`"), span).hint(
                "use letters, digits, `_`, `-` and `.` only; the first character cannot be `.`",
            ),
        );
    }
}

/// Checks the name of a factor, a disk or a workload.
pub(crate) fn part(reader: &mut Reader<'_>, what: &str, name: &str, span: Range<usize>) {
    let starts_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if !is_plain(name, "_-") || !starts_well || name.len() > LONGEST {
        reader.add(
            invalid(&format!("invalid {what} name `{name}`"), span)
                .hint("begin with a letter or `_`, followed by letters, digits, `_` and `-` only"),
        );
    }
}

/// Checks the path of an attribute below `/sys/block/X/queue/`.
pub(crate) fn attribute(reader: &mut Reader<'_>, name: &str, span: Range<usize>) {
    let parts_are_plain = name.split('/').all(|part| is_plain(part, "_-") && !part.is_empty());
    if !parts_are_plain {
        reader.add(
            invalid(&format!("invalid queue attribute `{name}`"), span)
                .hint("write the path below `/sys/block/X/queue/`, such as `iosched/low_latency`"),
        );
    }
}

fn invalid(message: &str, span: Range<usize>) -> Diagnostic {
    Diagnostic::error(code::INVALID_NAME, message).at(span, "expected another name")
}

fn is_plain(name: &str, also: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || also.contains(c))
}
