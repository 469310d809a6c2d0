//! Samples as Polars and pandas write them by default are compressed, and refused.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::fs;
use std::path::Path;

use assay_record::run_folder::read_tables;

#[test]
fn a_compressed_file_is_refused_by_its_name_with_what_to_do() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compressed");
    for (name, codec) in [("polars-zstd", "ZSTD"), ("pandas-snappy", "SNAPPY")] {
        let place = tempfile::tempdir().unwrap();
        let file = folder.join(format!("{name}.parquet"));
        fs::copy(file, place.path().join("io.parquet")).unwrap();
        let error = read_tables(place.path()).unwrap_err().to_string();
        let what = format!("column `time_ns` is compressed with {codec}\n");
        for part in ["io.parquet", &what, "write it uncompressed"] {
            assert!(error.contains(part), "{part}: {error}");
        }
    }
}
