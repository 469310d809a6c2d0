//! From the results of kernels, by their names on the command line, to the passport.

use std::fmt;
use std::str::FromStr;

use assay_lab::KernelChoice;
use sha2::{Digest, Sha256};

use super::document::{Passport, PassportCase, PassportKernel};
use super::results::{KernelResults, Records};
use crate::Case;

/// A kernel of a passport.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassportKernelName {
    pub(super) text: String,
    /// The guest's kernel; `None` for the running one.
    pub(super) choice: Option<KernelChoice>,
}

impl PassportKernelName {
    /// Whether it is the running kernel.
    #[must_use]
    pub const fn is_host(&self) -> bool {
        self.choice.is_none()
    }

    /// The name of its folder.
    pub(super) fn folder(&self) -> String {
        let keep = |c: char| if c.is_ascii_alphanumeric() || "+-._".contains(c) { c } else { '_' };
        let name: String = self.text.chars().map(keep).collect();
        name.trim_start_matches('.').to_owned()
    }
}

impl FromStr for PassportKernelName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let choice = match text {
            "host" => None,
            text => {
                let choice = text.parse::<KernelChoice>();
                Some(choice.map_err(|why| format!("{why}, or `host`"))?)
            }
        };
        Ok(Self { text: text.to_owned(), choice })
    }
}

impl fmt::Display for PassportKernelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The version, with a fingerprint of the cases' names and promises.
pub(super) fn assay_version() -> String {
    let mut promises = Sha256::new();
    for case in crate::all() {
        for text in [case.controller, case.behaviour, case.promise] {
            promises.update(text);
            promises.update([0]);
        }
    }
    let print: String = promises.finalize()[..6].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{} (cases {print})", env!("CARGO_PKG_VERSION"))
}

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
        (release.is_none(), release.map(order))
    });
    let rows = cases.iter().map(|case| row(case, &columns)).collect();
    let documents = columns.iter().flat_map(|(column, _)| &column.results.state.documents);
    Passport {
        schema: 1,
        assay: assay_version(),
        started_at: documents.map(|one| one.started_at.clone()).min().unwrap_or_default(),
        kernels: columns.iter().map(|(column, records)| head(column, records, cases)).collect(),
        cases: rows,
    }
}

fn key(case: &Case) -> (String, String) {
    (case.controller.to_owned(), case.behaviour.to_owned())
}

fn head(column: &Column<'_>, records: &Records, cases: &[&Case]) -> PassportKernel {
    let results = column.results;
    let first = results.state.documents.first();
    let has = |case: &&&Case| records.contains_key(&key(case));
    let recorded = cases.iter().filter_map(|case| records.get(&key(case)));
    PassportKernel {
        name: column.name.to_string(),
        release: results.release().map(str::to_owned),
        layout: first.map(|document| document.layout.clone()),
        machine: first.and_then(|document| document.virtual_machine.clone()),
        patience: first.map(|document| document.patience),
        seconds: recorded.fold(0.0, |sum, record| sum + record.seconds),
        boots: results.state.boots.clone(),
        missing: cases.len() - cases.iter().filter(has).count(),
        lost: results.state.lost.clone(),
    }
}

fn row(case: &Case, columns: &[(&Column<'_>, Records)]) -> PassportCase {
    let of = |(column, records): &(&Column<'_>, Records)| {
        Some((column.name.to_string(), records.get(&key(case))?.clone()))
    };
    PassportCase {
        controller: case.controller.to_owned(),
        behaviour: case.behaviour.to_owned(),
        promise: case.promise.to_owned(),
        documented: case.documented.to_owned(),
        results: columns.iter().filter_map(of).collect(),
    }
}

/// A release by its numbers: 6.12.43 is before 6.12.117, and 6.19.0-rc1 before 6.19.0.
fn order(release: &str) -> ([u64; 3], u64) {
    let end = release.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(release.len());
    let (version, rest) = release.split_at(end);
    let mut numbers = version.split('.').map(|digits| digits.parse().unwrap_or(0));
    let candidate = rest.strip_prefix("-rc").and_then(|text| {
        text.split(|c: char| !c.is_ascii_digit()).next().and_then(|digits| digits.parse().ok())
    });
    ([0; 3].map(|_| numbers.next().unwrap_or(0)), candidate.unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use assay_sys::files::Dir;

    use super::*;
    use crate::passport::fake::document;
    use crate::{CaseRecord, Document, Verdict};

    #[test]
    fn a_name_is_the_host_or_a_kernel_of_the_lab() {
        let of = |text: &str| text.parse::<PassportKernelName>();
        assert_eq!(of("host").unwrap().choice, None);
        assert!(matches!(of("debian-newest").unwrap().choice, Some(KernelChoice::DebianNewest)));
        let image = of("./out/bzImage:./mods").unwrap();
        assert_eq!(image.folder(), "_out_bzImage_._mods");
        assert!(of("6.1").unwrap_err().contains("or `host`"));
    }

    /// A passport of one case: kernels in any order, each with its verdict, if it has one.
    fn passport(kernels: &[(&str, &str, Option<Verdict>)]) -> Passport {
        let place = tempfile::tempdir().unwrap();
        let dir = Dir::open(place.path()).unwrap();
        let cases = crate::select(&["cpu".to_owned()]).unwrap();
        let made: Vec<_> = kernels
            .iter()
            .map(|(name, release, verdict)| {
                let name: PassportKernelName = name.parse().unwrap();
                let mut results = KernelResults::open(&dir, &name.folder()).unwrap();
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
    fn columns_are_in_the_order_of_releases() {
        let whole = passport(&[
            ("host", "6.18.44-fc", Some(Verdict::Broken)),
            ("debian-6.1", "6.1.0-56-amd64", Some(Verdict::Kept)),
            ("debian-6.12", "6.12.117-amd64", Some(Verdict::Undecided)),
            ("debian-5.10", "5.10.0-46-amd64", Some(Verdict::Kept)),
        ]);
        let names: Vec<&str> = whole.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
        assert_eq!(names, ["debian-5.10", "debian-6.1", "debian-6.12", "host"]);
        assert_eq!(whole.kernels[0].missing, 1, "the second case did not run");
        let sorted = ["6.12.43+deb12", "6.12.117", "6.19.0-rc2", "6.19.0-rc10+", "6.19.0", "7.3.4"];
        assert!(sorted.is_sorted_by_key(|release| order(release)));
    }

    #[test]
    fn a_kernel_that_never_came_up_has_a_column_without_results() {
        let whole = passport(&[
            ("debian-5.10", "5.10.0-46-amd64", None),
            ("host", "6.18.44-fc", Some(Verdict::Kept)),
        ]);
        let lost = &whole.kernels[1];
        assert_eq!((lost.name.as_str(), lost.release.as_deref()), ("debian-5.10", None));
        assert_eq!((lost.missing, whole.cases[0].results.len()), (2, 1));
    }
}
