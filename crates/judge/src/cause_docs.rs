//! The catalogue of causes: what each code means, how it shows, what would confirm it, what helps,
//! and where it is known from. docs/reference/causes.md is written from it.

mod disk;
mod elsewhere;
mod placement;
mod processor;
mod schedulers;

use std::fmt::Write as _;

/// How a cause is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundBy {
    /// This validity gate fails, which proves it.
    ValidityCheck(&'static str),
    /// What was recorded fits; only an intervention proves it.
    Suspicion,
    /// Read from the kernel, and no suspicion.
    Observed,
    /// Nothing else is left.
    Rest,
}

/// One cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CauseEntry {
    /// Stable code, `C-REQUEST-POOL`.
    pub code: &'static str,
    /// What happens, one sentence.
    pub what: &'static str,
    /// How it is found.
    pub found_by: FoundBy,
    /// What it leaves in the data.
    pub fingerprint: &'static str,
    /// What to change so that the error moves if this is the cause, and how far it should.
    pub confirm: &'static str,
    /// The interventions of `assay explain` that test it, by name.
    pub tests: &'static [&'static str],
    /// What to do about it.
    pub remedy: &'static str,
    /// Where it is known from.
    pub source: &'static str,
}

/// All causes: of disks, of CPUs, and of runs in general.
#[must_use]
pub fn catalogue() -> Vec<&'static CauseEntry> {
    let parts = [
        disk::ENTRIES,
        schedulers::ENTRIES,
        processor::ENTRIES,
        placement::ENTRIES,
        elsewhere::ENTRIES,
    ];
    parts.into_iter().flatten().collect()
}

/// The entry of a code.
#[must_use]
pub fn cause_entry(code: &str) -> Option<&'static CauseEntry> {
    catalogue().into_iter().find(|entry| entry.code == code)
}

/// docs/reference/causes.md.
#[must_use]
pub fn causes_page() -> String {
    let mut page = String::from(
        "# Causes\n\nWhat a broken or void promise may be due to, by the codes of verdict.json. \
         This page is written from\n`crates/judge/src/catalogue`; `ASSAY_BLESS=1 cargo test -p \
         assay-judge` writes it again.\n\nA failed gate *proves* its cause. A *suspicion* fits \
         what was recorded; `assay explain RUN` tests it by changing\none thing at a time.\n",
    );
    for entry in catalogue() {
        let found = match entry.found_by {
            FoundBy::ValidityCheck(gate) => format!("proven by the gate `{gate}`"),
            FoundBy::Suspicion => "a suspicion".to_owned(),
            FoundBy::Observed => "seen in what the kernel shows".to_owned(),
            FoundBy::Rest => "when nothing else is left".to_owned(),
        };
        let tests: Vec<String> = entry.tests.iter().map(|name| format!("`{name}`")).collect();
        let tests = match tests.is_empty() {
            true => "none: see how to confirm it".to_owned(),
            false => tests.join(", "),
        };
        // Writing to a String cannot fail.
        let _ = write!(
            page,
            "\n## {}\n\n{}\n\n- Found: {found}\n- Fingerprint: {}\n- To confirm: {}\n- \
             Interventions of `assay explain`: {tests}\n- Remedy: {}\n- Source: {}\n",
            entry.code, entry.what, entry.fingerprint, entry.confirm, entry.remedy, entry.source
        );
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_has_all_its_parts_and_a_code_of_its_own() {
        let all = catalogue();
        for entry in &all {
            assert!(entry.code.starts_with("C-"), "{}", entry.code);
            assert_eq!(all.iter().filter(|other| other.code == entry.code).count(), 1);
            for part in [entry.what, entry.fingerprint, entry.confirm, entry.remedy, entry.source] {
                assert!(part.len() > 10 && !part.ends_with(' '), "{}: `{part}`", entry.code);
            }
        }
    }
}
