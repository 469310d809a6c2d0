//! Documents of what came of something: of fleets, searches, predictions, calibrations and conformance.

use std::path::Path;

use assay_conformance::{Document, merge};
use assay_fleet::{Fleet, TaskRecord};
use assay_intervention::Tuning;
use assay_judge::judge;
use assay_predict::Calibration;
use assay_run_folder::Run;
use assay_verdict::{Prediction, Score, score};
use serde::de::DeserializeOwned;

use super::{Reader, answer};

const COLUMNS: usize = 80;

/// A JSON document, and what is made of it.
fn document<T: DeserializeOwned>(show: impl Fn(&T) -> String + 'static) -> Reader {
    Box::new(move |bytes| match serde_json::from_slice(bytes) {
        Ok(found) => answer(&show(&found)),
        Err(error) => answer(&error),
    })
}

/// A run that was recorded once.
fn recorded() -> Run {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../test-support/faults/one-cpu");
    Run::load(&folder).expect("a recorded run")
}

pub(super) fn fleet() -> Reader {
    document(|fleet: &Fleet| {
        let tasks = 0..fleet.tasks.len() + 1;
        let jobs = tasks.clone().filter(|task| fleet.job_of(*task).is_some()).count();
        let names: Vec<String> = tasks.map(|task| fleet.name_of(task)).collect();
        format!("{} {}", "x".repeat(jobs.min(9)), names.join(" "))
    })
}

pub(super) fn task() -> Reader {
    document(|task: &TaskRecord| {
        format!("{:?} {:?} {:?}", task.phase, task.restored, task.code.is_some())
    })
}

/// The document of a search, as text and in the page of its run.
pub(super) fn tune() -> Reader {
    let run = recorded();
    let judgement = judge(&run.manifest, &run.samples);
    document(move |found: &Tuning| {
        let page =
            assay_report::html_of_tuning(&run.manifest, &judgement, &run.samples, found).is_ok();
        format!("{page} {}", assay_report::tuning_text(found, COLUMNS))
    })
}

/// A prediction, shown and set beside a judgement.
pub(super) fn prediction() -> Reader {
    let run = recorded();
    let judgement = judge(&run.manifest, &run.samples);
    document(move |found: &Prediction| {
        let scored = score(found, &judgement);
        format!(
            "{} {}",
            assay_report::score_text(&scored, COLUMNS),
            assay_report::prediction_text(found, COLUMNS)
        )
    })
}

pub(super) fn scored() -> Reader {
    document(|found: &Score| assay_report::score_text(found, COLUMNS))
}

/// A calibration, with the simulations that a prediction makes of it.
pub(super) fn calibration() -> Reader {
    document(|found: &Calibration| match found.flaw() {
        Some(why) => why,
        None => format!("{:?} {}", found.doubt(), "x".repeat(found.costs().len())),
    })
}

pub(super) fn conformance() -> Reader {
    document(|found: &Document| {
        let table = assay_conformance::table(found, COLUMNS);
        format!("{} {}", merge(&[found.clone(), found.clone()]).len() > table.len(), table)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What begins with nothing but errors finds nothing.
    #[test]
    fn every_corpus_begins_with_a_document_that_is_read() {
        fn read<T: DeserializeOwned>(name: &str) {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
            let found = serde_json::from_slice::<T>(&std::fs::read(path).unwrap());
            assert!(found.is_ok(), "{name}: {:?}", found.err());
        }
        read::<Fleet>("fleet/two-hosts.json");
        read::<TaskRecord>("task/ended.json");
        read::<Tuning>("tune/found.json");
        read::<Prediction>("prediction/one-cpu.json");
        read::<Score>("score/one.json");
        read::<Calibration>("calibration/loop.json");
    }
}
