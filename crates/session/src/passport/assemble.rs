//! From the results of kernels to the passport.

use std::collections::BTreeMap;

use assay_conformance::{Case, CaseRecord, Verdict};
use assay_verdict::{CaseResult, CaseVerdict, Passport, PassportCase, PassportKernel};

use super::history::{Cell, history};
use super::kernel_name::PassportKernelName;
use super::release::Release;
use super::results::{KernelResults, Records};
use super::version;

/// Everything about one kernel.
pub(super) struct Column<'c> {
    pub(super) name: &'c PassportKernelName,
    pub(super) results: &'c KernelResults,
}

/// The passport of these kernels and cases, the oldest release first, and last those without a result.
pub(super) fn assemble(columns: &[Column<'_>], cases: &[&Case]) -> Passport {
    let mut columns: Vec<(&Column<'_>, Records)> =
        columns.iter().map(|column| (column, column.results.records())).collect();
    columns.sort_by_key(|(column, _)| {
        let release = column.results.release();
        (release.is_none(), release.map(Release::new))
    });
    let rows = cases.iter().map(|case| row(case, &columns)).collect();
    let first = columns.iter().flat_map(|(column, _)| &column.results.documents);
    Passport {
        schema: 1,
        assay: version::assay(),
        started_at: first.map(|(_, one)| one.started_at.clone()).min().unwrap_or_default(),
        kernels: columns.iter().map(|(column, records)| head(column, records, cases)).collect(),
        cases: rows,
    }
}

fn key(case: &Case) -> (String, String) {
    (case.controller.to_owned(), case.behaviour.to_owned())
}

fn head(column: &Column<'_>, records: &Records, cases: &[&Case]) -> PassportKernel {
    let results = column.results;
    let first = results.documents.first().map(|(_, document)| document);
    let has = |case: &&&Case| records.contains_key(&key(case));
    let recorded = cases.iter().filter_map(|case| records.get(&key(case)));
    PassportKernel {
        name: column.name.to_string(),
        release: results.release().map(str::to_owned),
        layout: first.map(|document| document.layout.clone()),
        build: results.guests.build.clone(),
        machine: first.and_then(|document| document.virtual_machine.clone()),
        patience: first.map(|document| document.patience),
        seconds: recorded.fold(0.0, |sum, (record, _)| sum + record.seconds),
        boots: results.guests.boots.clone(),
        missing: cases.len() - cases.iter().filter(has).count(),
        lost: results.guests.lost.clone(),
    }
}

fn row(case: &Case, columns: &[(&Column<'_>, Records)]) -> PassportCase {
    let mut results = BTreeMap::new();
    let mut cells = Vec::new();
    for (column, records) in columns {
        let found = records.get(&key(case)).map(|(record, file)| result(record, file));
        cells.push(Cell {
            label: label(column, columns),
            release: column.results.release().map(Release::new),
            layout: column.results.layout(),
            // A kernel without a result is a gap like one that could not decide.
            verdict: found.as_ref().map_or(CaseVerdict::Undecided, |result| result.verdict),
        });
        results.extend(found.map(|result| (column.name.to_string(), result)));
    }
    PassportCase {
        controller: case.controller.to_owned(),
        behaviour: case.behaviour.to_owned(),
        promise: case.promise.to_owned(),
        documented: case.documented.to_owned(),
        results,
        history: history(&cells),
    }
}

/// The release of a column; its name if that is not known, and both where another column has the same release.
fn label(column: &Column<'_>, columns: &[(&Column<'_>, Records)]) -> String {
    let has = |release: &str| {
        columns.iter().filter(|(one, _)| one.results.release() == Some(release)).count()
    };
    match column.results.release() {
        None => column.name.to_string(),
        Some(release) if has(release) == 1 => release.to_owned(),
        Some(release) => format!("{release} as {}", column.name),
    }
}

fn result(record: &CaseRecord, file: &str) -> CaseResult {
    let verdict = match record.verdict {
        Verdict::Kept => CaseVerdict::Kept,
        Verdict::Broken => CaseVerdict::Broken,
        Verdict::Undecided => CaseVerdict::Undecided,
        Verdict::Void => CaseVerdict::Void,
        Verdict::NotAvailable => CaseVerdict::NotAvailable,
    };
    CaseResult {
        verdict,
        reason: record.reason.clone(),
        evidence: record.evidence.clone(),
        seconds: record.seconds,
        file: file.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use assay_conformance::Document;
    use assay_files::Dir;

    use super::*;
    use crate::passport::fake::document;

    /// A passport of one case: kernels in any order, each with its verdict, if it has one.
    fn passport(kernels: &[(&str, &str, Option<Verdict>)]) -> Passport {
        let place = tempfile::tempdir().unwrap();
        let dir = Dir::open(place.path()).unwrap();
        let cases = assay_conformance::select(&["cpu".to_owned()]).unwrap();
        let made: Vec<_> = kernels
            .iter()
            .map(|(name, release, verdict)| {
                let name: PassportKernelName = name.parse().unwrap();
                let mut results = KernelResults::open(&dir, name.folder()).unwrap();
                if let Some(verdict) = verdict {
                    let record = CaseRecord {
                        controller: cases[0].controller.to_owned(),
                        behaviour: cases[0].behaviour.to_owned(),
                        verdict: *verdict,
                        reason: String::new(),
                        evidence: vec![],
                        seconds: 2.0,
                    };
                    let machine = name.choice.as_ref().map(|_| "QEMU".to_owned());
                    let document = document(release, vec![record]);
                    results.add(Document { virtual_machine: machine, ..document }).unwrap();
                }
                (name, results)
            })
            .collect();
        let columns: Vec<Column<'_>> =
            made.iter().map(|(name, results)| Column { name, results }).collect();
        assemble(&columns, &cases[..2])
    }

    #[test]
    fn columns_are_in_the_order_of_releases_and_undecided_ones_are_named() {
        let whole = passport(&[
            ("host", "6.18.44-fc", Some(Verdict::Broken)),
            ("debian-6.1", "6.1.0-56-amd64", Some(Verdict::Kept)),
            ("debian-6.12", "6.12.117-amd64", Some(Verdict::Undecided)),
            ("debian-5.10", "5.10.0-46-amd64", Some(Verdict::Kept)),
        ]);
        let names: Vec<&str> = whole.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
        assert_eq!(names, ["debian-5.10", "debian-6.1", "debian-6.12", "host"]);
        assert_eq!(
            whole.cases[0].since(),
            "broken by 6.18.44-fc (6.12.117-amd64 not decided); \
             kept from 5.10.0-46-amd64 to 6.1.0-56-amd64"
        );
        assert_eq!(whole.kernels[0].missing, 1, "the second case did not run");
        assert_eq!(whole.cases[0].results["host"].file, "kernels/host/001.json");
        assert_eq!(whole.cases[1].since(), "not decided");
    }

    #[test]
    fn columns_of_one_release_are_told_apart() {
        let whole = passport(&[
            ("host", "6.1.0", Some(Verdict::Broken)),
            ("./vmlinuz", "6.1.0", Some(Verdict::Kept)),
            ("debian-5.10", "5.10.0-46-amd64", Some(Verdict::Kept)),
        ]);
        assert_eq!(whole.cases[0].since(), "differs between columns");
        let alike = passport(&[
            ("host", "6.1.0", Some(Verdict::Kept)),
            ("./vmlinuz", "6.1.0", Some(Verdict::Void)),
        ]);
        let since = alike.cases[0].since();
        assert_eq!(since, "kept in 6.1.0 as host (6.1.0 as ./vmlinuz not decided)");
    }

    #[test]
    fn a_kernel_that_never_came_up_has_a_column_without_results() {
        let whole = passport(&[
            ("host", "6.18.44-fc", Some(Verdict::Kept)),
            ("debian-5.10", "5.10.0-46-amd64", None),
        ]);
        let lost = &whole.kernels[1];
        assert_eq!((lost.release.as_deref(), lost.missing), (None, 2));
        assert_eq!(whole.cases[0].since(), "kept in 6.18.44-fc (debian-5.10 not decided)");
    }
}
