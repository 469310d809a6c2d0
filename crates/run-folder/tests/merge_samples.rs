//! Samples of many runs are merged into one file per source, in bounded memory.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a failure in a shared helper is a failure of the test"
)]

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use arrow_array::{Array, StringArray, UInt32Array, UInt64Array};
use assay_files::Dir;
use assay_run_folder::{Column, Merged, SampleStream, Table, merge_samples, to_parquet};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Merges runs in a folder into its folder `out`.
fn merge(runs: &[(String, PathBuf)], place: &Path) -> Merged {
    let within = Dir::open(place).unwrap();
    merge_samples(runs, &within, &within.make_dir("out").unwrap()).unwrap()
}

/// A run folder with one repeat of one source; returns its name.
fn run(place: &Path, name: &str, counter: &str, rows: u64) -> PathBuf {
    let run = place.join(name);
    let samples = run.join("samples/trial-01-repeat-02");
    fs::create_dir_all(&samples).unwrap();
    let table = Table {
        source: "io".to_owned(),
        time_ns: (0..rows).collect(),
        subject: vec![0; usize::try_from(rows).unwrap()],
        subjects: vec!["task1".to_owned()],
        columns: vec![Column {
            name: counter.to_owned(),
            values: (0..rows).map(|row| Some(row * 10)).collect(),
        }],
    };
    let mut stream = SampleStream::create(&samples, "io", &[counter.to_owned()]).unwrap();
    stream.append(&table).unwrap();
    stream.finish().unwrap();
    to_parquet(&samples).unwrap();
    PathBuf::from(name)
}

#[test]
fn rows_of_all_hosts_are_in_one_file_and_missing_counters_are_null() {
    let place = tempfile::tempdir().unwrap();
    let runs = [
        ("a".to_owned(), run(place.path(), "one", "read_bytes", 3)),
        ("b".to_owned(), run(place.path(), "two", "write_bytes", 2)),
        ("c".to_owned(), PathBuf::from("nothing")),
    ];
    let merged = merge(&runs, place.path());
    assert_eq!(merged.rows["io"], 5);
    let file = File::open(place.path().join("out/io.parquet")).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
    let batch = reader.map(Result::unwrap).next().unwrap();
    let text = |name: &str| {
        let column = batch.column_by_name(name).unwrap();
        column.as_any().downcast_ref::<StringArray>().unwrap().clone()
    };
    let number = |name: &str| {
        let column = batch.column_by_name(name).unwrap();
        column.as_any().downcast_ref::<UInt64Array>().unwrap().clone()
    };
    let hosts: Vec<String> = text("host").iter().map(|host| host.unwrap().to_owned()).collect();
    assert_eq!(hosts, ["a", "a", "a", "b", "b"]);
    let trial = batch.column_by_name("trial").unwrap();
    assert_eq!(trial.as_any().downcast_ref::<UInt32Array>().unwrap().value(4), 1);
    assert_eq!(number("read_bytes").iter().collect::<Vec<_>>()[2..4], [Some(20), None]);
    assert_eq!(number("write_bytes").iter().collect::<Vec<_>>()[2..4], [None, Some(0)]);
}

/// Samples of one row with this many counters, in this repeat.
fn wide(run: &Path, repeat: u32, names: impl Iterator<Item = String>) {
    let samples = run.join(format!("samples/trial-01-repeat-{repeat:02}"));
    fs::create_dir_all(&samples).unwrap();
    let names: Vec<String> = names.collect();
    let columns = names.iter().map(|name| Column { name: name.clone(), values: vec![Some(1)] });
    let table = Table {
        source: "io".to_owned(),
        time_ns: vec![1],
        subject: vec![0],
        subjects: vec!["task1".to_owned()],
        columns: columns.collect(),
    };
    let mut stream = SampleStream::create(&samples, "io", &names).unwrap();
    stream.append(&table).unwrap();
    stream.finish().unwrap();
    to_parquet(&samples).unwrap();
}

/// Every row of every host gets the columns of all.
#[test]
fn one_host_cannot_add_columns_without_end() {
    let place = tempfile::tempdir().unwrap();
    let runs = [
        ("a".to_owned(), run(place.path(), "one", "read_bytes", 1)),
        ("b".to_owned(), run(place.path(), "two", "read_bytes", 3)),
    ];
    let names = |from: u32| (from..from + 600).map(|number| format!("c{number}"));
    wide(&place.path().join("one"), 3, names(0));
    wide(&place.path().join("one"), 4, names(600));
    let merged = merge(&runs, place.path());
    assert_eq!(merged.rows["io"], 5, "the rows of all other files");
    let [(path, why)] = merged.left_out.as_slice() else { panic!("{:?}", merged.left_out) };
    assert_eq!(*path, place.path().join("one").join("samples/trial-01-repeat-04/io.parquet"));
    assert!(why.contains("1024 counters"), "{why}");
}

#[test]
fn an_incomplete_file_is_left_out_and_named() {
    let place = tempfile::tempdir().unwrap();
    let runs = [
        ("a".to_owned(), run(place.path(), "one", "read_bytes", 3)),
        ("b".to_owned(), run(place.path(), "two", "read_bytes", 3)),
    ];
    let torn = place.path().join("one").join("samples/trial-01-repeat-02/io.parquet");
    let bytes = fs::read(&torn).unwrap();
    fs::write(&torn, &bytes[..bytes.len() / 2]).unwrap();
    let merged = merge(&runs, place.path());
    assert_eq!(merged.rows["io"], 3);
    assert_eq!(merged.left_out.len(), 1);
    assert_eq!(merged.left_out[0].0, torn);
}

/// A link instead of a repeat's folder, a damaged page, and a counter with the name of an added column.
#[test]
fn a_damaged_run_does_not_affect_the_rows_of_others() {
    let place = tempfile::tempdir().unwrap();
    let runs = [
        ("a".to_owned(), run(place.path(), "one", "read_bytes", 3)),
        ("b".to_owned(), run(place.path(), "two", "read_bytes", 3)),
        ("c".to_owned(), run(place.path(), "three", "host", 3)),
        ("d".to_owned(), run(place.path(), "four", "read_bytes", 2)),
    ];
    let link = place.path().join("one").join("samples/trial-99-repeat-00");
    symlink("/etc", &link).unwrap();
    let file =
        |run: usize| place.path().join(&runs[run].1).join("samples/trial-01-repeat-02/io.parquet");
    // The header of the first page, which is not read before the rows.
    let mut bytes = fs::read(file(1)).unwrap();
    bytes[4..12].fill(0xff);
    fs::write(file(1), bytes).unwrap();
    let merged = merge(&runs, place.path());
    assert_eq!(merged.rows["io"], 3 + 2);
    let mut left_out: Vec<&PathBuf> = merged.left_out.iter().map(|(path, _)| path).collect();
    left_out.sort();
    assert_eq!(left_out, [&link, &file(2), &file(1)], "{:?}", merged.left_out);
}

/// Peak memory of this process in bytes (proc_pid_status(5), `VmHWM`).
fn peak() -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

#[test]
fn memory_does_not_grow_with_the_number_of_runs() {
    let place = tempfile::tempdir().unwrap();
    // Ten minutes of one group at 1 Hz; one folder under a thousand names represents as many runs.
    let one = run(place.path(), "one", "read_bytes", 600);
    let runs: Vec<(String, PathBuf)> =
        (0..1000).map(|host| (format!("node{host}"), one.clone())).collect();
    let before = peak();
    let merged = merge(&runs, place.path());
    assert_eq!(merged.rows["io"], 600_000);
    let grown = peak().saturating_sub(before);
    assert!(grown < 200 << 20, "merging took {} MiB", grown >> 20);
}

/// Each distinct name becomes a file in the folder of the collector.
#[test]
fn one_host_cannot_add_sources_without_end() {
    let place = tempfile::tempdir().unwrap();
    let runs = [
        ("a".to_owned(), run(place.path(), "one", "read_bytes", 1)),
        ("b".to_owned(), run(place.path(), "two", "read_bytes", 3)),
    ];
    let samples = place.path().join("one/samples");
    let file = samples.join("trial-01-repeat-02/io.parquet");
    for number in 0..1000 {
        fs::hard_link(&file, file.with_file_name(format!("x{number}.parquet"))).unwrap();
    }
    let merged = merge(&runs, place.path());
    let [(path, why)] = merged.left_out.as_slice() else { panic!("{:?}", merged.left_out) };
    assert_eq!(*path, samples);
    assert!(why.contains("256 sources"), "{why}");
    assert_eq!((merged.rows.len(), merged.rows["io"]), (256, 4));
}

/// A source gives its name to a file of the merged samples.
#[test]
fn names_that_are_no_sources_cost_no_other_host_its_samples() {
    let place = tempfile::tempdir().unwrap();
    let runs = [
        ("a".to_owned(), run(place.path(), "one", "read_bytes", 1)),
        ("b".to_owned(), run(place.path(), "two", "read_bytes", 3)),
    ];
    let file = place.path().join("one/samples/trial-01-repeat-02/io.parquet");
    let long = "a".repeat(240);
    for name in [long.as_str(), "a b", "\u{e4}", "..x"] {
        fs::hard_link(&file, file.with_file_name(format!("{name}.parquet"))).unwrap();
    }
    fs::write(file.with_file_name("damaged.parquet"), "no Parquet").unwrap();
    let merged = merge(&runs, place.path());
    assert_eq!(merged.rows.keys().collect::<Vec<_>>(), ["io"]);
    assert_eq!(merged.rows["io"], 4);
    assert_eq!(merged.left_out.len(), 5, "{:?}", merged.left_out);
    assert!(merged.left_out.iter().any(|(path, why)| {
        path.ends_with(format!("{long}.parquet")) && why.contains("64 letters")
    }));
    assert!(!place.path().join("out/damaged.parquet").exists(), "nothing could be read of it");
}

/// The folder of each repeat is open only while it is listed.
#[test]
fn one_host_cannot_use_up_the_open_files() {
    let place = tempfile::tempdir().unwrap();
    let runs = [
        ("a".to_owned(), run(place.path(), "one", "read_bytes", 1)),
        ("b".to_owned(), run(place.path(), "two", "read_bytes", 3)),
    ];
    let samples = place.path().join("one/samples");
    for number in 0..400 {
        let folder = samples.join(format!("trial-02-repeat-{number}"));
        fs::create_dir(&folder).unwrap();
        fs::hard_link(samples.join("trial-01-repeat-02/io.parquet"), folder.join("io.parquet"))
            .unwrap();
    }
    let limit = Rlimit { current: Some(256), ..getrlimit(Resource::Nofile) };
    setrlimit(Resource::Nofile, limit).unwrap();
    let merged = merge(&runs, place.path());
    assert_eq!((merged.left_out, merged.rows["io"]), (vec![], 404));
}
