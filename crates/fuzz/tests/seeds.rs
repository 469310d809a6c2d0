//! Every reader for a moment, with the same inputs each time: what `make fuzz` does for as long as
//! one likes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use assay_fuzz::{Limits, Round, TARGETS};
use assay_judge::judge;
use assay_run_folder::{Column, Run, SampleStream, Table};

/// So many inputs of a seed, or as many as can be had in this time on a busy host.
const LIMITS: Limits = Limits { time: Duration::from_secs(2), executions: 4_000 };

#[test]
fn no_reader_panics_at_what_the_seed_gives() {
    for target in &TARGETS {
        let round = Round::run(target, 1, LIMITS, None, &Arc::new(AtomicU64::new(0)));
        println!("{}: {} executions, slowest {:?}", target.name, round.executions, round.slowest);
        assert!(round.executions > 0, "{} read nothing", target.name);
        if let Some(found) = round.panics.first() {
            panic!(
                "{} panics: {}\ninput: {:?}",
                target.name,
                found.why,
                String::from_utf8_lossy(&found.input)
            );
        }
    }
}

#[test]
fn every_target_has_a_name_of_its_own() {
    let names: std::collections::BTreeSet<&str> =
        TARGETS.iter().map(|target| target.name).collect();
    assert_eq!(names.len(), TARGETS.len());
}

/// Inputs that only Assay writes, as it writes them today: `ASSAY_BLESS=1` writes them anew.
#[test]
fn the_corpora_that_assay_writes_are_of_today() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let place = tempfile::tempdir().unwrap();
    let table = |from: u64| Table {
        source: "io".to_owned(),
        time_ns: (from..from + 20).collect(),
        subject: (0..20).map(|row| row % 3).collect(),
        subjects: ["a", "outer/inner", "g\u{fc}n"].map(str::to_owned).to_vec(),
        columns: ["read_bytes", "write_bytes"]
            .map(|name| Column {
                name: name.to_owned(),
                values: (0..20).map(|row| (row % 7 != 0).then_some(from * row)).collect(),
            })
            .to_vec(),
    };
    let names = ["read_bytes", "write_bytes"].map(str::to_owned);
    let mut stream = SampleStream::create(place.path(), "io", &names).unwrap();
    [1, 100, 200].into_iter().for_each(|from| stream.append(&table(from)).unwrap());
    stream.finish().unwrap();
    let stream = std::fs::read(place.path().join("io.arrows")).unwrap();
    let run = Run::load(&here.join("../test-support/faults/one-cpu")).unwrap();
    let verdict = serde_json::to_vec_pretty(&judge(&run.manifest, &run.samples)).unwrap();
    for (name, bytes) in [("arrow/io.arrows", stream), ("verdict/one-cpu.json", verdict)] {
        let path = here.join("corpus").join(name);
        if std::env::var_os("ASSAY_BLESS").is_some() {
            std::fs::write(&path, &bytes).unwrap();
        }
        let known = std::fs::read(&path).unwrap();
        let bless = "ASSAY_BLESS=1 cargo test -p assay-fuzz";
        assert!(known == bytes, "{name} is another by now: {bless}");
    }
}
