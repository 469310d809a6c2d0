//! Memory that a hostile file of samples takes. Alone in its process, whose peak it reads.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::fs::{self, File};

use assay_files::Dir;
use assay_run_folder::{Budget, Column, SampleStream, Table, read_tables, sample_files};

/// The most memory that this process has used, in bytes (proc(5), `VmHWM`).
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

/// One after the other: a peak is that of the whole process.
#[test]
fn a_file_takes_memory_by_its_length() {
    a_stream_is_read_in_pieces_however_long_it_is();
    a_page_is_decompressed_to_what_its_rows_can_have();
}

/// A hole takes no space on disk.
fn a_stream_is_read_in_pieces_however_long_it_is() {
    const HOLE: u64 = 256 << 20;
    let place = tempfile::tempdir().unwrap();
    let table = Table {
        source: "io".to_owned(),
        time_ns: vec![1, 2],
        subject: vec![0, 0],
        subjects: vec!["a".to_owned()],
        columns: vec![Column { name: "bytes".to_owned(), values: vec![Some(1), None] }],
    };
    let mut stream = SampleStream::create(place.path(), "io", &["bytes".to_owned()]).unwrap();
    stream.append(&table).unwrap();
    let path = place.path().join("io.arrows");
    let length = fs::metadata(&path).unwrap().len();
    File::options().write(true).open(&path).unwrap().set_len(length + HOLE).unwrap();
    let before = peak();
    assert_eq!(read_tables(place.path()).unwrap(), [table]);
    let dir = Dir::open(place.path()).unwrap();
    let mut rows = 0;
    let mut take = |table: Table| {
        rows += table.time_ns.len();
        true
    };
    sample_files(&dir).unwrap()[0].each(&dir, &mut Budget::default(), &mut take).unwrap();
    assert_eq!(rows, 2);
    let grown = peak() - before;
    assert!(grown < HOLE / 4, "{grown} bytes for {length} bytes and a hole");
}

/// One row whose subject has a name of 512 MiB, in 17 kB (writers/make.py).
fn a_page_is_decompressed_to_what_its_rows_can_have() {
    let place = tempfile::tempdir().unwrap();
    let bomb = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/writers/bomb.parquet");
    fs::copy(bomb, place.path().join("io.parquet")).unwrap();
    let before = peak();
    let error = read_tables(place.path()).unwrap_err().to_string();
    assert!(error.contains("`subject`: ") && error.contains("when it is decompressed"), "{error}");
    let grown = peak() - before;
    assert!(grown < 16 << 20, "{grown} bytes");
}
