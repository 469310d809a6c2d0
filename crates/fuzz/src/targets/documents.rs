//! Targets: studies, ledgers, and the documents of a run folder.

use std::path::Path;
use std::sync::Arc;

use assay_cause::judge;
use assay_fleet::FleetMerge;
use assay_fuzzer::{Reader, answer};
use assay_judge::verdict::Judgement;
use assay_record::run_folder::{
    EvidenceRecord, Run, Table, parse_events, parse_evidence, parse_json, parse_manifest,
};
use assay_study::workload::fio::sections;

const COLUMNS: usize = 80;

/// A study and its diagnostics.
pub(super) fn study() -> Reader {
    Box::new(|bytes| {
        let text = String::from_utf8_lossy(bytes);
        let none = |path: &str| Err(format!("no such file: {path}"));
        let (study, findings) = assay_study::parse("fuzz", &text, &none);
        let rendered = assay_study::render(&findings, "fuzz.toml", &text, false);
        let codes: Vec<&str> = findings.iter().map(|finding| finding.code).collect();
        answer(&format!("{} {} {}", study.is_some(), rendered.is_empty(), codes.join(" ")))
    })
}

/// A snapshot of a host, judged and shown.
pub(super) fn audit() -> Reader {
    Box::new(|bytes| match assay_audit::Snapshot::parse(&String::from_utf8_lossy(bytes)) {
        Ok(snapshot) => {
            let audit = assay_audit::audit(&snapshot);
            let codes: Vec<&str> = audit.findings.iter().map(|finding| finding.code).collect();
            let page = assay_audit::audit_page(&audit, true).unwrapped();
            answer(&format!("{} {}", codes.join(" "), page.lines().count().min(99)))
        }
        Err(refused) => answer(&refused),
    })
}

/// A manifest, as YAML and as a unit of systemd, held against a small host.
pub(super) fn audit_manifest() -> Reader {
    const HOST: &str = include_str!("../../corpus/manifest/host.json");
    Box::new(|bytes| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let lines = |name: &str| {
            let host = assay_audit::Snapshot::parse(HOST).map_err(|refused| refused.to_string())?;
            let manifest = assay_audit::manifest(&[(name.to_owned(), text.clone())])?;
            let fulfilment = assay_audit::fulfilment(&manifest, None, &host)?;
            Ok::<usize, String>(
                assay_audit::told_page(&fulfilment).unwrapped().lines().count().min(99),
            )
        };
        match (lines("a.yaml"), lines("a.service")) {
            (Ok(yaml), unit) => answer(&format!("{yaml} lines, {unit:?}")),
            (Err(why), _) => answer(&why.chars().take(24).collect::<String>()),
        }
    })
}

pub(super) fn job_file() -> Reader {
    Box::new(|bytes| match sections(&String::from_utf8_lossy(bytes)) {
        Ok(sections) => answer(&format!("{} sections", sections.len().min(9))),
        Err(error) => answer(&format!("{error:?}")),
    })
}

pub(super) fn ledger() -> Reader {
    Box::new(|bytes| {
        let (open, damaged) = assay_host::ledger::count_changes(bytes);
        (open.min(9) * 10 + damaged.min(9)) as u64
    })
}

pub(super) fn manifest() -> Reader {
    Box::new(|bytes| {
        let text = String::from_utf8_lossy(bytes);
        match parse_manifest(&text, Path::new("manifest.json")) {
            Ok(manifest) => answer(&format!("{} trials", manifest.trials.len().min(9))),
            Err(error) => answer(&error),
        }
    })
}

/// A manifest with the samples of a recorded run: judged, and rendered as text and as a page.
pub(super) fn judged() -> Reader {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../test-support/faults/one-cpu");
    let samples: Vec<Vec<Vec<Table>>> = Run::load(&folder).expect("a recorded run").samples;
    Box::new(move |bytes| {
        let text = String::from_utf8_lossy(bytes);
        let Ok(manifest) = parse_manifest(&text, Path::new("manifest.json")) else { return 0 };
        let judgement = judge(&manifest, &samples);
        let text = assay_report::text(&manifest, &judgement, COLUMNS, false);
        let page = assay_report::html(&manifest, &judgement, &samples, None);
        let reasons = judgement.trials.iter().flat_map(|trial| &trial.promises);
        let reasons: Vec<&str> = reasons.map(|promise| promise.reason.as_str()).collect();
        answer(&format!("{} {} {}", page.is_empty(), text.is_empty(), reasons.join(" ")))
    })
}

/// Evidence of each repeat of a recorded run: judged, and rendered as text and as a page.
pub(super) fn evidence() -> Reader {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../test-support/faults/one-cpu");
    let recorded = Run::load(&folder).expect("a recorded run");
    Box::new(move |bytes| match parse_evidence(&String::from_utf8_lossy(bytes)) {
        Ok(evidence) => {
            let document = Some(Arc::new(evidence));
            let cost = document.as_ref().and_then(|evidence| evidence.cost_s(2));
            let record = EvidenceRecord { cpu_s: cost, document };
            let mut manifest = recorded.manifest.clone();
            let repeats = manifest.trials.iter_mut().flat_map(|trial| &mut trial.repeats);
            repeats.for_each(|repeat| repeat.evidence = Some(record.clone()));
            let judgement = judge(&manifest, &recorded.samples);
            let text = assay_report::text(&manifest, &judgement, COLUMNS, false);
            let page = assay_report::html(&manifest, &judgement, &recorded.samples, None);
            answer(&format!("{} {}", page.is_empty(), text.is_empty()))
        }
        Err(error) => answer(&error),
    })
}

/// A verdict, for a CI service, and as that of two hosts of a fleet.
pub(super) fn verdict() -> Reader {
    Box::new(|bytes| match parse_json::<Judgement>(&String::from_utf8_lossy(bytes)) {
        Ok(judgement) => {
            let mut merge = FleetMerge::default();
            ["a", "b"].iter().for_each(|node| merge.add(node, &judgement));
            let (trials, comparisons) = merge.finish();
            let text = assay_report::export::junit(&judgement, None);
            answer(&format!("{} {} {text}", trials.is_empty(), comparisons.is_empty()))
        }
        Err(error) => answer(&error),
    })
}

pub(super) fn events() -> Reader {
    Box::new(|bytes| parse_events(&String::from_utf8_lossy(bytes)).len().min(9) as u64)
}
