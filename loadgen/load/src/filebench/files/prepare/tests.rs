//! File sets in a real directory.

use std::fs;

use super::super::super::workload::Amount;
use super::*;

fn set(path: &Path, entries: u64) -> FileSet {
    FileSet {
        name: "set".to_owned(),
        path: path.to_owned(),
        single: false,
        entries,
        leafdirs: 0,
        size: Amount::Fixed(5000),
        width: Amount::Fixed(20),
        gamma: 1500,
        depth: None,
        prealloc: 100,
        paralloc: false,
        reuse: false,
        trusttree: false,
        readonly: false,
        writeonly: false,
    }
}

fn create(set: &FileSet) -> Result<Ready, Failure> {
    let source = Drand48::unseeded();
    let mut draws = Draws { source: &source, rand: Rand::seeded(1), own: ThreadRandom::seeded(1) };
    prepare(set, &mut draws, 1, &mut |_| {}, &|_, _| {})
}

fn sizes(ready: &Ready) -> Vec<u64> {
    let size = |at| fs::metadata(ready.root.join(ready.files.text(at))).map(|m| m.len());
    (0..ready.files.len()).filter_map(|at| size(at).ok()).collect()
}

#[test]
fn all_files_have_their_size_and_all_directories_exist() {
    let place = tempfile::tempdir().unwrap();
    let ready = create(&FileSet { leafdirs: 7, ..set(place.path(), 100) }).unwrap();
    assert_eq!(sizes(&ready), vec![5000; 100]);
    let leafdirs = (0..7).filter(|at| ready.root.join(ready.leafdirs.text(*at)).is_dir());
    assert_eq!(leafdirs.count(), 7);
    assert_eq!(ready.file_pool.existing(), 100);
}

#[test]
fn about_as_many_exist_as_the_percentage_says() {
    let place = tempfile::tempdir().unwrap();
    let some = FileSet { prealloc: 80, size: Amount::Fixed(0), ..set(place.path(), 1000) };
    let ready = create(&some).unwrap();
    let existing = sizes(&ready).len();
    // Five standard deviations of a binomial distribution around 800.
    assert!((existing as f64 - 800.0).abs() < 5.0 * 160f64.sqrt(), "{existing}");
    assert_eq!(ready.file_pool.existing(), existing);
    let none = create(&FileSet { prealloc: 0, ..some }).unwrap();
    assert_eq!((sizes(&none).len(), none.file_pool.existing()), (0, 0));
}

#[test]
fn parallel_creation_makes_the_same_set() {
    let place = tempfile::tempdir().unwrap();
    let ready = create(&FileSet { paralloc: true, ..set(place.path(), 300) }).unwrap();
    assert_eq!(sizes(&ready), vec![5000; 300]);
}

#[test]
fn a_tree_that_is_reused_is_cut_and_filled_to_its_sizes() {
    let place = tempfile::tempdir().unwrap();
    let reusing = FileSet { reuse: true, ..set(place.path(), 3) };
    let path = |ready: &Ready, at| ready.root.join(ready.files.text(at));
    let first = create(&reusing).unwrap();
    fs::write(path(&first, 0), vec![7; 9000]).unwrap();
    fs::remove_file(path(&first, 1)).unwrap();
    fs::write(path(&first, 2), vec![7; 5000]).unwrap();
    let again = create(&reusing).unwrap();
    assert_eq!(sizes(&again), [5000; 3]);
    assert_eq!(
        fs::read(path(&again, 2)).unwrap()[0],
        7,
        "a file of the right size is not rewritten"
    );
    assert!(!again.is_new);
}

#[test]
fn missing_or_refused_directories_are_reported_with_a_remedy() {
    let place = tempfile::tempdir().unwrap();
    let failure = create(&set(&place.path().join("nowhere"), 1)).unwrap_err().to_string();
    assert!(
        failure.contains("nowhere/set") && failure.contains("create the directory"),
        "{failure}"
    );
    let trusting = FileSet { trusttree: true, ..set(place.path(), 1) };
    assert!(create(&trusting).unwrap_err().to_string().contains("cannot open"));
}
