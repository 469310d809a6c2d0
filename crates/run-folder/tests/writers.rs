//! Samples that Polars, pandas and DuckDB wrote, each as it does by default and in its other ways (writers/make.py).

#![allow(clippy::unwrap_used, reason = "a test")]

use std::fs;
use std::path::{Path, PathBuf};

use assay_run_folder::{Column, Table, read_tables};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/writers")
}

/// The tables of a folder that has this file alone.
fn read(path: &Path) -> Result<Vec<Table>, String> {
    let place = tempfile::tempdir().unwrap();
    fs::copy(path, place.path().join("io.parquet")).unwrap();
    read_tables(place.path()).map_err(|error| error.to_string())
}

/// What all of them hold, by the formulas of the script.
fn expected() -> Table {
    const ROWS: u64 = 300;
    let numbers = |of: &dyn Fn(u64) -> Option<u64>| (0..ROWS).map(of).collect();
    Table {
        source: "io".to_owned(),
        time_ns: (0..ROWS).map(|row| 1_000_000_000 + 100_000_000 * (row / 3)).collect(),
        subject: (0..ROWS).map(|row| u32::try_from(row % 3).unwrap()).collect(),
        subjects: ["one", "two", "a/b \u{e4}"].map(str::to_owned).to_vec(),
        columns: vec![
            Column { name: "bytes".to_owned(), values: numbers(&|row| Some(4096 * row * row)) },
            Column {
                name: "ios".to_owned(),
                values: numbers(&|row| (row % 5 != 0).then_some(row)),
            },
        ],
    }
}

#[test]
fn every_writer_is_read_alike() {
    let mut read_files = 0;
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if path.extension().is_none_or(|ending| ending != "parquet")
            || ["bomb", "pyarrow-gzip"].contains(&name.as_str())
        {
            continue;
        }
        assert_eq!(
            read(&path).unwrap_or_else(|why| panic!("{name}: {why}")),
            [expected()],
            "{name}"
        );
        read_files += 1;
    }
    assert_eq!(read_files, 15);
}

#[test]
fn another_compression_is_named_with_those_that_are_read() {
    let error = read(&folder().join("pyarrow-gzip.parquet")).unwrap_err();
    for part in ["io.parquet", "column `time_ns` is compressed with GZIP", "zstd or Snappy"] {
        assert!(error.contains(part), "{part}: {error}");
    }
}

/// Of every fourth byte of a compressed file, two damages: an error or a table, and no panic that leaves the library.
#[test]
fn a_damaged_file_is_refused_or_read() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("io.parquet");
    for name in ["duckdb-zstd", "polars-snappy"] {
        let whole = fs::read(folder().join(format!("{name}.parquet"))).unwrap();
        let mut refused = 0;
        for at in (0..whole.len()).step_by(4) {
            for flip in [0x01, 0x80] {
                let mut damaged = whole.clone();
                damaged[at] ^= flip;
                fs::write(&path, damaged).unwrap();
                refused += u32::from(read_tables(place.path()).is_err());
            }
        }
        assert!(refused > 50, "{name}: {refused}");
    }
}
