//! The registry of workload kinds. A new kind needs a file in `kinds/`, a line here, and a section
//! in docs.

use crate::kind::Kind;
use crate::kinds::{
    bandwidth, blackscholes, build, chase, filebench, graph500, hog, latency, pages, spin,
    streamcluster, stressapptest, ycsb,
};

/// All kinds except fio, which also has job files, and `command`, which runs any program.
pub const KINDS: [Kind; 13] = [
    graph500::KIND,
    filebench::KIND,
    ycsb::KIND,
    streamcluster::KIND,
    blackscholes::KIND,
    chase::KIND,
    bandwidth::KIND,
    latency::KIND,
    pages::KIND,
    spin::KIND,
    hog::KIND,
    stressapptest::KIND,
    build::KIND,
];

/// fio (see `fio/`).
pub const FIO: &str = "fio";

/// Any program, given in the study.
pub const COMMAND: &str = "command";

/// The accepted values of `use`.
pub const NAMES: [&str; KINDS.len() + 2] = names();

const fn names() -> [&'static str; KINDS.len() + 2] {
    let mut names = [FIO; KINDS.len() + 2];
    let mut index = 0;
    while index < KINDS.len() {
        names[index + 1] = KINDS[index].name;
        index += 1;
    }
    names[KINDS.len() + 1] = COMMAND;
    names
}

static ALL: [Kind; KINDS.len()] = KINDS;

/// Finds a kind by name.
#[must_use]
pub fn kind(name: &str) -> Option<&'static Kind> {
    ALL.iter().find(|kind| kind.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;
    use crate::kind::Program;
    use crate::options::ASSAY_LOAD;

    #[test]
    fn every_kind_has_a_section() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        let table = std::fs::read_to_string(docs.join("workloads.md")).unwrap();
        for kind in &ALL {
            let (page, section) = kind.page.split_once('#').unwrap();
            assert_eq!(section, kind.name);
            let text = std::fs::read_to_string(docs.join(page)).unwrap();
            let has_section = text.lines().any(|line| line == format!("## {section}"));
            assert!(has_section, "docs/{page} has no section {section}");
            assert!(table.contains(&format!("`{}`", kind.name)), "no row for {}", kind.name);
        }
    }

    /// The list is written from `assay-load` itself, by a test of its own workspace.
    #[test]
    fn the_kinds_of_assay_load_are_the_generators_of_its_list_of_options() {
        let lines = ASSAY_LOAD.lines().filter(|line| !line.starts_with('#'));
        let listed: BTreeSet<&str> = lines.filter_map(|line| line.split(' ').next()).collect();
        let of_load = ALL.iter().filter(|kind| kind.program == Program::Load);
        let registered: BTreeSet<&str> = of_load.map(|kind| kind.name).collect();
        assert_eq!(
            registered, listed,
            "a generator is not registered as a workload kind: CONTRIBUTING.md, \"a workload\""
        );
    }

    #[test]
    fn names_are_fio_the_kinds_and_command() {
        assert_eq!(NAMES.first(), Some(&FIO));
        assert_eq!(NAMES.last(), Some(&COMMAND));
        assert!(NAMES.contains(&"graph500"));
    }
}
