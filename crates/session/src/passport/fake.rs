//! Results and passports made up for tests.

use assay_conformance::{CaseRecord, Document, SCHEMA, Verdict};
use assay_verdict::{CaseResult, CaseVerdict, Passport, PassportCase, PassportKernel};

pub(super) fn record(behaviour: &str, verdict: Verdict) -> CaseRecord {
    CaseRecord {
        controller: "cpu".to_owned(),
        behaviour: behaviour.to_owned(),
        verdict,
        reason: String::new(),
        evidence: vec!["25.0 %".to_owned()],
        seconds: 1.5,
    }
}

pub(super) fn document(kernel: &str, cases: Vec<CaseRecord>) -> Document {
    Document {
        schema: SCHEMA,
        kernel: kernel.to_owned(),
        layout: "v2".to_owned(),
        virtual_machine: Some("QEMU".to_owned()),
        started_at: "2026-11-26T12:00:00Z".to_owned(),
        command: "assay conform --json".to_owned(),
        patience: 3.0,
        restored: true,
        cases,
    }
}

/// A passport of kernels with the results of the cases `a`, `b`, ...
pub(super) fn passport(kernels: &[(&str, &[CaseVerdict])]) -> Passport {
    let cases = kernels.iter().map(|(_, verdicts)| verdicts.len()).max().unwrap_or(0);
    let case = |at: usize| {
        let result = |verdict: CaseVerdict| CaseResult {
            verdict,
            reason: if verdict == CaseVerdict::Kept { "" } else { "so \u{1b}it\nis" }.to_owned(),
            evidence: vec!["25.0 % # of it".to_owned()],
            seconds: 1.0,
            file: "kernels/host/001.json".to_owned(),
        };
        let results = kernels
            .iter()
            .filter_map(|(name, verdicts)| Some(((*name).to_owned(), result(*verdicts.get(at)?))));
        PassportCase {
            controller: "cpu".to_owned(),
            behaviour: char::from(b'a' + at as u8).to_string(),
            promise: "It holds.".to_owned(),
            documented: "Documentation/".to_owned(),
            results: results.collect(),
            history: Vec::new(),
        }
    };
    let kernel = |(name, verdicts): &(&str, &[CaseVerdict])| PassportKernel {
        name: (*name).to_owned(),
        release: Some("6.1.0".to_owned()),
        layout: Some("v2".to_owned()),
        build: None,
        machine: None,
        patience: Some(1.0),
        seconds: verdicts.len() as f64,
        boots: vec![],
        missing: cases - verdicts.len(),
        lost: vec![],
    };
    Passport {
        schema: 1,
        assay: "0".to_owned(),
        started_at: String::new(),
        kernels: kernels.iter().map(kernel).collect(),
        cases: (0..cases).map(case).collect(),
    }
}
