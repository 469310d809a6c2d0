//! Trees compared with the output of filebench 1.5-alpha3.

use std::path::PathBuf;
use std::sync::Arc;

use proptest::prelude::*;

use super::super::super::distribution::Trim;
use super::*;

fn gamma(mean: f64, source: &Arc<Drand48>) -> Amount {
    let shape = Shape::Gamma { gamma: 1.5, mean };
    let source = Arc::clone(source);
    Amount::Random(Arc::new(Distribution { shape, trim: Trim { min: 0.0, ..Trim::NONE }, source }))
}

fn set(entries: u64, width: u64, size: Amount) -> FileSet {
    FileSet {
        name: "set".to_owned(),
        path: PathBuf::from("/tmp"),
        single: false,
        entries,
        leafdirs: 0,
        size,
        width: Amount::Fixed(width),
        gamma: 1500,
        depth: None,
        prealloc: 80,
        paralloc: false,
        reuse: false,
        trusttree: false,
        readonly: false,
        writeonly: false,
    }
}

fn draw(entries: u64, width: u64, mean: f64) -> Layout {
    let source = Arc::new(Drand48::unseeded());
    Layout::draw(&set(entries, width, gamma(mean, &source)), &source)
}

#[test]
fn sizes_are_those_that_filebench_draws() {
    // fileserver.f with nfiles=200: "24.608MB total size"; varmail.f with nfiles=200: "2.973MB".
    let megabytes = |layout: &Layout| format!("{:.3}", layout.bytes as f64 / 1_048_576.0);
    assert_eq!(megabytes(&draw(200, 20, 131_072.0)), "24.608");
    assert_eq!(megabytes(&draw(200, 1_000_000, 16_384.0)), "2.973");
}

#[test]
fn mean_depths_are_those_of_the_reference() {
    for (entries, width, depth) in
        [(10_000, 20, 3.07), (1000, 20, 2.31), (1000, 1_000_000, 0.5), (10_000, 1_000_000, 0.67)]
    {
        assert!((draw(entries, width, 1.0).mean_depth - depth).abs() < 0.006, "{entries} {width}");
    }
}

/// The first script of filebench's README has no dirwidth (fileset.c, fileset_populate).
#[test]
fn a_set_without_a_width_has_a_directory_for_each_file() {
    let layout = draw(50, 0, 1.0);
    let paths = layout.node_paths(&layout.files);
    assert_eq!((layout.files.len(), layout.directories.len()), (50, 51));
    assert_eq!(
        (paths.text(0), paths.text(49)),
        ("00000001/00000001".to_owned(), "00000050/00000001".to_owned())
    );
}

/// (int)(log(50) / log(1)) is -2147483648 on x86 (fileset.c, fileset_populate_subdir).
#[test]
fn a_set_of_width_one_ends_below_the_top() {
    for entries in [1, 50] {
        let layout = draw(entries, 1, 1.0);
        assert_eq!(layout.files.len() as u64, entries);
        let paths = layout.node_paths(&layout.files);
        assert!((0..paths.len()).all(|at| paths.text(at).len() == 17), "{}", paths.text(0));
    }
}

#[test]
fn a_very_wide_set_has_all_its_files_in_one_directory() {
    let layout = draw(1000, 1_000_000, 1.0);
    let paths = layout.node_paths(&layout.files);
    assert_eq!(paths.text(0), "00000001/00000001");
    let in_first = (0..paths.len()).filter(|at| paths.text(*at).starts_with("00000001/")).count();
    assert!(in_first > 990, "{in_first}");
}

#[test]
fn a_single_file_is_where_filebench_has_it() {
    let one = FileSet { single: true, gamma: 0, ..set(1, 10, Amount::Fixed(5)) };
    let layout = Layout::draw(&one, &Drand48::unseeded());
    assert_eq!(layout.node_paths(&layout.files).text(0), "00000001/00000001");
    assert_eq!(layout.directory_paths().text(0), "00000001");
}

#[test]
fn sizes_have_the_requested_mean() {
    let layout = draw(100_000, 20, 131_072.0);
    let mean = layout.bytes as f64 / 100_000.0;
    assert!((mean / 131_072.0 - 1.0).abs() < 0.015, "{mean}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn every_tree_has_its_files_in_existing_directories(
        entries in 1u64..2000, leafdirs in 0u64..50, width in 2u64..100, gamma in 0u64..4000,
    ) {
        let set = FileSet { leafdirs, gamma, ..set(entries, width, Amount::Fixed(1)) };
        let layout = Layout::draw(&set, &Drand48::seeded(entries));
        prop_assert_eq!(layout.files.len() as u64, entries);
        prop_assert_eq!(layout.leafdirs.len() as u64, leafdirs);
        let mut known_directories = std::collections::HashSet::from([String::new()]);
        let directories = layout.directory_paths();
        let parent = |path: &str| path.rsplit_once('/').map_or(String::new(), |(p, _)| p.to_owned());
        for at in 0..directories.len() {
            let path = directories.text(at);
            prop_assert!(known_directories.contains(&parent(&path)));
            prop_assert!(known_directories.insert(path));
        }
        for nodes in [&layout.files, &layout.leafdirs] {
            let paths = layout.node_paths(nodes);
            for at in 0..paths.len() {
                prop_assert!(known_directories.contains(&parent(&paths.text(at))));
            }
        }
    }
}
