//! The registry of workload kinds. A new kind needs an entry here and a section in docs; one whose output is not that of
//! `assay-load` has a file in `kinds/`.

use crate::workload::generator::generator;
use crate::workload::kind::{Key, Kind, Rendering, Threads};
use crate::workload::kinds::{stressapptest, ycsb};

/// The variables of filebench's four classic scripts.
const FILEBENCH_VARIABLES: &str = "dir nfiles meandirwidth filesize nthreads iosize meanappendsize \
                                   meanfilesize runtime";

/// All kinds except fio, which also has job files, and `command`, which runs any program.
pub const KINDS: [Kind; 13] = [
    generator("graph500", "searches through a large graph", "load/compute.md#graph500"),
    // A key that is not an option sets a variable of the script. Without `run` it runs until the window is over,
    // regardless of the script.
    Kind {
        keys: &[
            Key::word("script", "a script: a file, or fileserver, varmail, webserver or webproxy"),
            Key::directory(
                "dir",
                "the variable `dir` of the script: the directory of its files",
                Rendering::Property,
            ),
        ],
        property_option: Some("--set"),
        known_properties: FILEBENCH_VARIABLES,
        seconds: Some("run"),
        reports_on_sigint: true,
        threads: Threads::Unknown,
        does_io: true,
        ..generator(
            "filebench",
            "file, mail and web servers, or any filebench script",
            "load/storage.md#filebench",
        )
    },
    ycsb::KIND,
    // Without `time` or `rounds` it runs until the window is over.
    Kind {
        seconds: Some("time"),
        instead_of_seconds: &["rounds"],
        reports_on_sigint: true,
        ..generator(
            "streamcluster",
            "clusters a stream of points: bound by memory bandwidth",
            "load/compute.md#streamcluster",
        )
    },
    // Without `time` or `runs` it runs until the window is over.
    Kind {
        seconds: Some("time"),
        instead_of_seconds: &["runs"],
        reports_on_sigint: true,
        ..generator(
            "blackscholes",
            "prices options: CPU-bound, with little memory traffic",
            "load/compute.md#blackscholes",
        )
    },
    Kind {
        reports_on_sigint: true,
        threads: Threads::Always(1),
        ..generator(
            "chase",
            "dependent loads through working sets from the first cache to memory",
            "load/memory.md#chase",
        )
    },
    // Without `time` or `repeats` it runs until the window is over.
    Kind {
        seconds: Some("time"),
        instead_of_seconds: &["repeats"],
        reports_on_sigint: true,
        ..generator(
            "bandwidth",
            "streams through memory: copy, scale, add, triad",
            "load/memory.md#bandwidth",
        )
    },
    Kind {
        reports_on_sigint: true,
        ..generator(
            "latency",
            "memory latency under step by step increasing load from other threads",
            "load/memory.md#latency",
        )
    },
    Kind {
        keys: &[Key::directory(
            "directory",
            "the directory of the file",
            Rendering::Option("--directory"),
        )],
        reports_on_sigint: true,
        threads: Threads::OptionOr("threads", 1),
        does_io: true,
        ..generator(
            "pages",
            "creates, reads and writes a file with and without the page cache",
            "load/storage.md#pages",
        )
    },
    // Without `time` it runs until the window is over.
    Kind {
        seconds: Some("time"),
        reports_on_sigint: true,
        ..generator("spin", "threads that use CPU time and nothing else", "load/compute.md#spin")
    },
    // Without `hold` it keeps its memory until the window is over.
    Kind {
        seconds: Some("hold"),
        reports_on_sigint: true,
        threads: Threads::Always(1),
        ..generator(
            "hog",
            "memory that grows step by step, with its contents checked",
            "load/memory.md#hog",
        )
    },
    stressapptest::KIND,
    // The compiler's processes need as many CPUs as there are jobs.
    Kind {
        needs: &[("cc", "gcc")],
        keys: &[Key::directory("dir", "the directory of the project", Rendering::Option("--dir"))],
        reports_on_sigint: true,
        threads: Threads::Option("jobs"),
        does_io: true,
        ..generator("build", "compiles a generated C project with cc", "load/compute.md#build")
    },
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
    use crate::workload::kind::Program;
    use crate::workload::options::ASSAY_LOAD;

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
