//! Faults injected into real runs of a few seconds: each must be ranked first among the causes, by a
//! check, by suspicion, or after `assay diagnose`.
//!
//! A busy host may void a run before its fault shows; such a case counts as skipped, not as passed.
//! `crates/judge/tests/judge/recorded.rs` judges a recorded run of each fault, on any host.
//! `ASSAY_RECORD_FAULTS=1` replaces those recordings by the runs of this test.

use std::fmt::Write as _;
use std::path::Path;

use crate::bench::Bench;
use assay_test_support::{Fault, Named, keep, skip};

/// The test of `diagnose` injects this one, which takes as long as four others.
const ELSEWHERE: &str = "requests-32";

#[test]
fn injected_faults_are_ranked_first() {
    let Some(bench) = Bench::alone("injected faults") else { return };
    let assay = bench.executable();
    let never = || false;
    let mut table = String::new();
    let (mut first, mut busy) = (0, 0);
    let mut faults = Fault::all().unwrap();
    faults.retain(|fault| fault.name != ELSEWHERE);
    for fault in &faults {
        let run = fault.inject(assay, bench.folder(), &never).unwrap();
        let outcome = fault.outcome(assay, &run, &never).unwrap();
        let named = fault.named(&outcome);
        writeln!(table, "{:<40} {named:?}: {outcome:?}", fault.what).unwrap();
        match named {
            Named::First => first += 1,
            Named::TooBusy => {
                busy += 1;
                skip(&format!("injected: {}", fault.what), "the host was too busy for a verdict");
            }
            Named::No => {}
        }
        if std::env::var_os("ASSAY_RECORD_FAULTS").is_some() && named == Named::First {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../test-support/faults");
            keep(&run, &folder.join(fault.name)).unwrap();
        }
        std::fs::remove_dir_all(&run).unwrap();
    }
    bench.assert_host_is_as_before("after all faults");
    println!("{table}");
    assert_eq!(faults.len(), 9);
    assert!(first + busy >= 8, "{first} of 9 named first, {busy} too busy to tell:\n{table}");
}
