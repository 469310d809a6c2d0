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
}
