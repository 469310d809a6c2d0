//! The catalogue of causes: meaning, fingerprint, confirmation, remedy and source of each code.
//! docs/reference/causes.md lists it. Suspected causes have their entries in their own files
//! (`causes/`); those that are proven are in `causes/proven.rs`.

use std::fmt::Write as _;

use assay_sys::escape::markdown_cell;

use crate::causes::{CauseEntry, FoundBy, catalogue};

/// The catalogue entry of a code.
#[must_use]
pub fn cause_entry(code: &str) -> Option<&'static CauseEntry> {
    catalogue().find(|entry| entry.code == code)
}

/// All that is known of a cause, for a terminal.
#[must_use]
pub fn cause_text(entry: &CauseEntry) -> String {
    let tests = match entry.tests.is_empty() {
        true => "none".to_owned(),
        false => entry.tests.join(", "),
    };
    let mut text = format!(
        "{}: {}\n\n{}\n\nFingerprint:   {}\nTo confirm:    {}\n",
        entry.code,
        found(entry.found_by),
        entry.what,
        entry.fingerprint,
        entry.confirm
    );
    if let Some(rule) = crate::causes::RULES.iter().find(|rule| rule.code == entry.code) {
        // Writing to a String cannot fail.
        let _ = write!(text, "Proof:         {}\nExcluded when: {}\n", rule.proof, rule.excluded);
    }
    let _ = write!(
        text,
        "Interventions: {tests}\nRemedy:        {}\nSource:        {}\n",
        entry.remedy, entry.source
    );
    text
}

fn found(by: FoundBy) -> String {
    match by {
        FoundBy::ValidityCheck(validity) => format!("proven by the check `{validity}`"),
        FoundBy::Suspicion => "suspected".to_owned(),
        FoundBy::Observed => "recorded by the kernel".to_owned(),
        FoundBy::Rest => "nothing else is left".to_owned(),
    }
}

/// The check that proves a cause, in the page's words.
fn proven_by(by: FoundBy) -> String {
    match by {
        FoundBy::ValidityCheck(validity) => format!("`{validity}`"),
        FoundBy::Observed => "kernel".to_owned(),
        FoundBy::Suspicion | FoundBy::Rest => "-".to_owned(),
    }
}

/// docs/reference/causes.md.
#[must_use]
pub fn causes_page() -> String {
    let mut page = String::from(
        "# Causes\n\nWhy a promise was broken, or why a run was void, by the codes of verdict.json. A failed *check* proves its cause, as do \
         records of the\n*kernel*. All others are *suspected*: they fit what was recorded. `assay diagnose RUN` tests those by changing one \
         thing at a time.\n`assay explain CODE` prints the whole entry: the fingerprint, the test, the proof and the source.\n\n| cause | proven by | what happens | remedy |\n|---|---|---|---|\n",
    );
    for entry in catalogue() {
        let _ = writeln!(
            page,
            "| `{}` | {} | {} | {} |",
            entry.code,
            proven_by(entry.found_by),
            markdown_cell(entry.what),
            markdown_cell(entry.remedy)
        );
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_is_complete_and_has_a_unique_code() {
        let all: Vec<_> = catalogue().collect();
        for entry in &all {
            assert!(entry.code.starts_with("C-"), "{}", entry.code);
            assert_eq!(all.iter().filter(|other| other.code == entry.code).count(), 1);
            for part in [entry.what, entry.fingerprint, entry.confirm, entry.remedy, entry.source] {
                assert!(part.len() > 10 && !part.ends_with(' '), "{}: `{part}`", entry.code);
            }
        }
    }
}
