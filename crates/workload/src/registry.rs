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
    use std::path::Path;

    use super::*;
    use crate::kind::Program;

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

    #[test]
    fn every_generator_of_assay_load_is_a_kind() {
        for entry in assay_load::GENERATORS {
            let is_registered = kind(entry.name).is_some_and(|kind| kind.program == Program::Load);
            assert!(
                is_registered,
                "`{}` of assay-load is not registered as a workload kind: CONTRIBUTING.md, \"a workload\"",
                entry.name
            );
        }
    }

    #[test]
    fn names_are_fio_the_kinds_and_command() {
        assert_eq!(NAMES.first(), Some(&FIO));
        assert_eq!(NAMES.last(), Some(&COMMAND));
        assert!(NAMES.contains(&"graph500"));
    }

    /// The options of every generator as clap knows them, in the format of the list.
    fn known_to_assay_load() -> String {
        let mut lines = String::from(
            "# Options of assay-load; written by `ASSAY_BLESS=1 cargo test -p assay-workload`.\n",
        );
        for entry in assay_load::GENERATORS {
            let command = (entry.command)();
            for argument in command.get_arguments().filter(|argument| !argument.is_positional()) {
                let takes = if argument.get_action().takes_values() { "value" } else { "flag" };
                let letter = argument.get_short().map(String::from);
                let names = argument.get_long().map(str::to_owned).into_iter().chain(letter);
                for name in names.filter(|name| name != "help" && name != "h") {
                    lines.push_str(&format!("{} {name} {takes}\n", entry.name));
                }
            }
        }
        lines
    }

    #[test]
    fn the_list_of_options_matches_assay_load() {
        let current = known_to_assay_load();
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/assay-load-options.txt");
        if std::env::var_os("ASSAY_BLESS").is_some() {
            std::fs::write(&path, &current).unwrap();
        }
        assert!(
            std::fs::read_to_string(&path).unwrap() == current,
            "run `ASSAY_BLESS=1 cargo test -p assay-workload` to write {}",
            path.display()
        );
    }
}
