//! Results made up for tests.

use crate::{CaseRecord, Document, SCHEMA, Verdict};

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
        command: "assay conform -o json".to_owned(),
        patience: 3.0,
        restored: true,
        cases,
    }
}
