//! The catalogue of causes: meaning, fingerprint, confirmation, remedy and source of each code.
//! docs/reference/causes.md is generated from it. Suspected causes have their entries in their own files
//! (`causes/`); those that are proven are in `assay_verdict::causes`.

use std::fmt::Write as _;

use assay_verdict::causes::{CauseEntry, FoundBy, proven};

/// All causes, of disks, CPUs, placement and runs in general.
#[must_use]
pub fn catalogue() -> Vec<&'static CauseEntry> {
    crate::causes::ENTRIES.iter().chain(proven()).collect()
}

/// The catalogue entry of a code.
#[must_use]
pub fn cause_entry(code: &str) -> Option<&'static CauseEntry> {
    catalogue().into_iter().find(|entry| entry.code == code)
}

/// docs/reference/causes.md.
#[must_use]
pub fn causes_page() -> String {
    let mut page = String::from(
        "# Causes\n\nWhat a broken or void promise may be due to, by the codes of verdict.json. \
         This page is generated from\n`crates/judge/src/causes` and `crates/verdict/src/causes`; `ASSAY_BLESS=1 cargo test -p \
         assay-judge` writes it again.\n\nA failed validity check *proves* its cause. A *suspicion* fits \
         what was recorded; `assay explain RUN` tests it by changing\none thing at a time. Where a run recorded \
         evidence from inside the kernel, *Proof* and *Excluded when* say what makes a cause proven or excluded without an\n\
         intervention; in between it contributes, and stays a suspicion.\n",
    );
    for entry in catalogue() {
        let found = match entry.found_by {
            FoundBy::ValidityCheck(validity) => {
                format!("proven by the validity check `{validity}`")
            }
            FoundBy::Suspicion => "a suspicion".to_owned(),
            FoundBy::Observed => "read from the kernel's own record".to_owned(),
            FoundBy::Rest => "when nothing else is left".to_owned(),
        };
        let tests: Vec<String> = entry.tests.iter().map(|name| format!("`{name}`")).collect();
        let tests = match tests.is_empty() {
            true => "none: see how to confirm it".to_owned(),
            false => tests.join(", "),
        };
        // Writing to a String cannot fail.
        let rule = crate::causes::RULES.iter().find(|rule| rule.code == entry.code);
        let proof = rule.map_or_else(String::new, |rule| {
            format!("- Proof: {}\n- Excluded when: {}\n", rule.proof, rule.excluded)
        });
        let _ = write!(
            page,
            "\n## {}\n\n{}\n\n- Found: {found}\n- Fingerprint: {}\n- To confirm: {}\n{proof}- \
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
    fn every_cause_is_complete_and_has_a_unique_code() {
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
