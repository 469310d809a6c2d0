//! Every target for a short time with reproducible inputs; `make fuzz` runs them for any time.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::path::Path;

use assay_cause::judge;
use assay_fuzz::TARGETS;
use assay_record::run_folder::{Column, Run, SampleStream, Table};

#[test]
fn no_reader_panics_on_the_inputs_of_the_seed() {
    for target in &TARGETS {
        target.run_inputs_of_tests().unwrap_or_else(|why| panic!("{why}"));
    }
}

#[test]
fn names_of_targets_are_unique() {
    let names: std::collections::BTreeSet<&str> =
        TARGETS.iter().map(|target| target.name).collect();
    assert_eq!(names.len(), TARGETS.len());
}

/// Inputs in formats that only Assay writes, in their current version: `ASSAY_BLESS=1` rewrites them.
#[test]
fn corpora_in_assay_s_own_formats_are_current() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().unwrap();
    let table = |from: u64| Table {
        source: "io".to_owned(),
        time_ns: (from..from + 20).collect(),
        subject: (0..20).map(|row| row % 3).collect(),
        subjects: ["a", "outer/inner", "g\u{fc}n, \"x\""].map(str::to_owned).to_vec(),
        columns: ["read_bytes", "write_bytes"]
            .map(|name| Column {
                name: name.to_owned(),
                values: (0..20).map(|row| (row % 7 != 0).then_some(from * row)).collect(),
            })
            .to_vec(),
    };
    let names = ["read_bytes", "write_bytes"].map(str::to_owned);
    let mut stream = SampleStream::create(folder.path(), "io", &names).unwrap();
    [1, 100, 200].into_iter().for_each(|from| stream.append(&table(from)).unwrap());
    let stream = std::fs::read(folder.path().join("io.csv")).unwrap();
    let run = Run::load(&here.join("../test-support/faults/one-cpu")).unwrap();
    let verdict = serde_json::to_vec_pretty(&judge(&run.manifest, &run.samples)).unwrap();
    for (name, bytes) in [("samples/io.csv", stream), ("verdict/one-cpu.json", verdict)] {
        let path = here.join("corpus").join(name);
        if std::env::var_os("ASSAY_BLESS").is_some() {
            std::fs::write(&path, &bytes).unwrap();
        }
        let committed = std::fs::read(&path).unwrap();
        let bless = "ASSAY_BLESS=1 cargo test -p assay-fuzz";
        assert!(committed == bytes, "{name} is outdated: {bless}");
    }
}
