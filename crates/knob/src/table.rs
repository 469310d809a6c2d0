//! The table of knobs. A new knob is one entry here, and a rule in `translate` only if v1 knows
//! it under another name.
//!
//! Sources: Documentation/admin-guide/cgroup-v2.rst, Documentation/admin-guide/cgroup-v1/ and
//! Documentation/block/bfq-iosched.rst of the kernel.

use assay_diagnostic::closest;

use crate::knob::{Home, Knob, Unit, ValueRange};

static KNOBS: &[Knob] = &[
    Knob {
        name: "io.weight",
        controller: "io",
        home: Home::Both,
        unit: Unit::Weight,
        range: ValueRange::Integer { low: 1, high: 10_000 },
        default: "100",
        about: "share of a disk's time relative to sibling groups",
        since: "v2: 5.4 with iocost; translated to BFQ's or CFQ's weight where those serve the disk",
    },
    Knob {
        name: "io.bfq.weight",
        controller: "io",
        home: Home::Both,
        unit: Unit::Weight,
        range: ValueRange::Integer { low: 1, high: 1_000 },
        default: "100",
        about: "share of a disk relative to sibling groups, under the scheduler bfq",
        since: "4.12",
    },
    Knob {
        name: "blkio.bfq.weight",
        controller: "io",
        home: Home::V1Only,
        unit: Unit::Weight,
        range: ValueRange::Integer { low: 1, high: 1_000 },
        default: "100",
        about: "share of a disk relative to sibling groups, under the scheduler bfq",
        since: "4.12",
    },
    Knob {
        name: "blkio.weight",
        controller: "io",
        home: Home::V1Only,
        unit: Unit::Weight,
        range: ValueRange::Integer { low: 10, high: 1_000 },
        default: "500",
        about: "share of a disk relative to sibling groups, under the scheduler cfq",
        since: "2.6.33, gone with cfq in 5.0",
    },
    Knob {
        name: "cpu.weight",
        controller: "cpu",
        home: Home::Both,
        unit: Unit::Weight,
        range: ValueRange::Integer { low: 1, high: 10_000 },
        default: "100",
        about: "share of CPU time relative to sibling groups",
        since: "4.15",
    },
    Knob {
        name: "cpu.shares",
        controller: "cpu",
        home: Home::V1Only,
        unit: Unit::Weight,
        range: ValueRange::Integer { low: 2, high: 262_144 },
        default: "1024",
        about: "share of CPU time relative to sibling groups",
        since: "2.6.24",
    },
    Knob {
        name: "cpu.max",
        controller: "cpu",
        home: Home::Both,
        unit: Unit::CpuBandwidth,
        range: ValueRange::CpuBandwidth,
        default: "max 100000",
        about: "CPU time in microseconds that a group may use in each period",
        since: "4.15",
    },
    Knob {
        name: "memory.max",
        controller: "memory",
        home: Home::Both,
        unit: Unit::Bytes,
        range: ValueRange::BytesOrMax,
        default: "max",
        about: "memory that a group may use before its processes are killed",
        since: "4.5",
    },
    Knob {
        name: "memory.high",
        controller: "memory",
        home: Home::V2Only,
        unit: Unit::Bytes,
        range: ValueRange::BytesOrMax,
        default: "max",
        about: "memory above which a group is throttled and reclaimed from",
        since: "4.5",
    },
    Knob {
        name: "memory.low",
        controller: "memory",
        home: Home::V2Only,
        unit: Unit::Bytes,
        range: ValueRange::BytesOrMax,
        default: "0",
        about: "memory that is taken from a group only when nothing unprotected is left",
        since: "4.5",
    },
    Knob {
        name: "memory.min",
        controller: "memory",
        home: Home::V2Only,
        unit: Unit::Bytes,
        range: ValueRange::BytesOrMax,
        default: "0",
        about: "memory that is never taken from a group",
        since: "4.18",
    },
    Knob {
        name: "pids.max",
        controller: "pids",
        home: Home::Both,
        unit: Unit::Tasks,
        range: ValueRange::IntegerOrMax { low: 0, high: 4_194_304 },
        default: "max",
        about: "processes and threads that a group may hold",
        since: "4.3",
    },
    Knob {
        name: "cpuset.cpus",
        controller: "cpuset",
        home: Home::Both,
        unit: Unit::Ids,
        range: ValueRange::IdList,
        default: "",
        about: "CPUs that a group may run on",
        since: "5.0",
    },
    Knob {
        name: "cpuset.mems",
        controller: "cpuset",
        home: Home::Both,
        unit: Unit::Ids,
        range: ValueRange::IdList,
        default: "",
        about: "memory nodes that a group may allocate from",
        since: "5.0",
    },
];

/// Every knob that a study may set.
#[must_use]
pub fn all() -> &'static [Knob] {
    KNOBS
}

/// The knob of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Knob> {
    KNOBS.iter().find(|knob| knob.name == name)
}

/// The knob whose name is closest to `name`, if one is close.
#[must_use]
pub fn suggest(name: &str) -> Option<&'static str> {
    closest(name, KNOBS.iter().map(|knob| knob.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_stands_once_and_begins_with_its_family() {
        for knob in all() {
            assert_eq!(KNOBS.iter().filter(|other| other.name == knob.name).count(), 1);
            let family = knob.name.split('.').next().unwrap();
            let controller = if family == "blkio" { "io" } else { family };
            assert_eq!(controller, knob.controller, "{}", knob.name);
        }
    }

    #[test]
    fn defaults_are_values_of_the_range() {
        for knob in all().iter().filter(|knob| !knob.default.is_empty()) {
            assert_eq!(knob.check(knob.default), Ok(()), "{}", knob.name);
        }
    }

    #[test]
    fn suggests_the_name_that_was_meant() {
        assert_eq!(suggest("io.wieght"), Some("io.weight"));
        assert_eq!(suggest("memory.maximum.of.all"), None);
    }
}
