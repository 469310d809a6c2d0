//! The list of generators. A new one needs its folder, a line here and a section in docs/load.

use crate::bandwidth::Bandwidth;
use crate::build::Build;
use crate::chase::Chase;
use crate::filebench::Filebench;
use crate::generator::Entry;
use crate::graph500::Graph500;
use crate::hog::Hog;
use crate::latency::Latency;
use crate::pages::PagesOfFile;
use crate::parsec::{Blackscholes, Streamcluster};
use crate::spin::Spin;
use crate::ycsb::Ycsb;

/// All generators, in the order of the help text.
pub const GENERATORS: &[Entry] = &[
    Entry::new::<Graph500>(),
    Entry::new::<Filebench>(),
    Entry::new::<Ycsb>(),
    Entry::new::<Blackscholes>(),
    Entry::new::<Streamcluster>(),
    Entry::new::<Chase>(),
    Entry::new::<Bandwidth>(),
    Entry::new::<Latency>(),
    Entry::new::<PagesOfFile>(),
    Entry::new::<Spin>(),
    Entry::new::<Hog>(),
    Entry::new::<Build>(),
];

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const BLESS: &str = "cd loadgen && ASSAY_BLESS=1 cargo test -p assay-load options";

    #[test]
    fn every_generator_has_a_section_and_a_line_in_the_table_of_generators() {
        let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/load");
        let table = std::fs::read_to_string(pages.join("README.md")).unwrap();
        for entry in GENERATORS {
            let name = entry.name;
            let row = table.split_once(&format!("| [{name}](")).map(|(_, row)| row);
            let (link, _) = row.and_then(|row| row.split_once(')')).unwrap_or_else(|| {
                panic!("docs/load/README.md has no row for {name}");
            });
            let page = link.strip_suffix(&format!("#{name}")).unwrap();
            let text = std::fs::read_to_string(pages.join(page)).unwrap();
            let has_section = text.lines().any(|line| line == format!("## {name}"));
            assert!(has_section, "docs/load/{page} has no section {name}");
        }
    }
    /// The options of every generator as clap knows them, in the format of the list.
    fn options() -> String {
        let mut lines = format!("# Options of assay-load; written by `{BLESS}`.\n");
        for entry in GENERATORS {
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

    /// Studies are checked against this list without starting a generator.
    #[test]
    fn the_list_of_options_that_studies_are_checked_against_is_current() {
        let current = options();
        let workload = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/study");
        let path = workload.join("data/assay-load-options.txt");
        if std::env::var_os("ASSAY_BLESS").is_some() {
            std::fs::write(&path, &current).unwrap();
        }
        let is_current = std::fs::read_to_string(&path).unwrap() == current;
        assert!(is_current, "run `{BLESS}` to write {}", path.display());
    }
}
