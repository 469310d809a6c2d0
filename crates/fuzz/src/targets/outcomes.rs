//! Targets: documents of fleets, searches and conformance.

use std::path::Path;

use assay_cause::{Tuning, judge};
use assay_conform::Document;
use assay_fleet::Fleet;
use assay_fuzzer::{Reader, answer};
use assay_record::run_folder::Run;
use serde::de::DeserializeOwned;

const COLUMNS: usize = 80;

/// A JSON document and its rendering.
fn document<T: DeserializeOwned>(show: impl Fn(&T) -> String + 'static) -> Reader {
    Box::new(move |bytes| match serde_json::from_slice(bytes) {
        Ok(parsed) => answer(&show(&parsed)),
        Err(error) => answer(&error),
    })
}

/// A recorded run.
fn recorded() -> Run {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../test-support/faults/one-cpu");
    Run::load(&folder).expect("a recorded run")
}

pub(super) fn fleet() -> Reader {
    document(|fleet: &Fleet| format!("{:?} {}", fleet.task_of(2), fleet.jobs.len().min(9)))
}

/// The document of a search, as text and in the page of its run.
pub(super) fn tune() -> Reader {
    let run = recorded();
    let judgement = judge(&run.manifest, &run.samples);
    document(move |parsed: &Tuning| {
        let page = assay_report::html(
            &run.manifest,
            &judgement,
            &run.samples,
            Some(assay_cause::tune::section(parsed)),
        );
        format!("{} {}", page.is_empty(), assay_cause::tuning_text(parsed, COLUMNS))
    })
}

pub(super) fn conformance() -> Reader {
    document(|parsed: &Document| assay_conform::table(parsed, COLUMNS))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A corpus without any valid document would be ineffective.
    #[test]
    fn every_corpus_begins_with_a_valid_document() {
        fn read<T: DeserializeOwned>(name: &str) {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
            let parsed = serde_json::from_slice::<T>(&std::fs::read(path).unwrap());
            assert!(parsed.is_ok(), "{name}: {:?}", parsed.err());
        }
        read::<Fleet>("fleet/two-hosts.json");
        read::<Tuning>("tune/found.json");
        read::<Document>("conform/guest.json");
    }
}
