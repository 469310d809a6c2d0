//! A passport in the kernel's own format of test results: a test for each kernel, with the cases as its subtests.

use assay_conformance::{KtapGroup, KtapResult, KtapTest, ktap_of};
use assay_verdict::{CaseVerdict, Passport, PassportCase, PassportKernel};

/// The passport as KTAP. Undecided and void cases are skipped with their reason, as unavailable ones are: KTAP has no
/// other word for a test without a result. A kernel of which nothing ran because its guests were lost has failed.
///
/// ```no_run
/// println!("{}", assay_session::passport_ktap(&assay_session::read_passport("passport".as_ref())?));
/// # Ok::<(), assay_session::Error>(())
/// ```
#[must_use]
pub fn passport_ktap(passport: &Passport) -> String {
    let groups: Vec<KtapGroup<'_>> =
        passport.kernels.iter().map(|kernel| group(passport, kernel)).collect();
    ktap_of(&format!("assay passport {}", passport.started_at), &groups)
}

fn group<'p>(passport: &'p Passport, kernel: &'p PassportKernel) -> KtapGroup<'p> {
    let release = kernel.release.as_deref().unwrap_or("unknown");
    let has_result = passport.cases.iter().any(|case| case.results.contains_key(&kernel.name));
    KtapGroup {
        name: format!("{} {release}", kernel.name),
        tests: passport.cases.iter().map(|case| test(case, &kernel.name)).collect(),
        lost: if has_result { &[] } else { &kernel.lost },
    }
}

fn test<'p>(case: &'p PassportCase, kernel: &str) -> KtapTest<'p> {
    let (result, evidence) = match case.results.get(kernel) {
        None => (KtapResult::Skipped("no result".to_owned()), &[][..]),
        Some(found) => {
            let result = match found.verdict {
                CaseVerdict::Kept => KtapResult::Passed,
                CaseVerdict::Broken => KtapResult::Failed(found.reason.clone()),
                other => KtapResult::Skipped(format!("{}: {}", other.word(), found.reason)),
            };
            (result, &found.evidence[..])
        }
    };
    KtapTest { name: case.name(), result, evidence }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::passport::fake::passport;

    #[test]
    fn kernels_are_tests_and_cases_their_subtests() {
        use CaseVerdict::{Broken, Kept, Undecided};
        let text =
            passport_ktap(&passport(&[("host", &[Kept, Broken, Undecided]), ("x", &[Kept])]));
        let lines: Vec<&str> = text.lines().filter(|line| !line.contains("25.0 %")).collect();
        assert_eq!(lines[2..5], ["1..2", "  KTAP version 1", "  # Subtest: host 6.1.0"]);
        assert_eq!(
            lines[6..11],
            [
                "  ok 1 cpu/a",
                "  # so  it is",
                "  not ok 2 cpu/b",
                "  ok 3 cpu/c # SKIP undecided: so  it is",
                "not ok 1 host 6.1.0"
            ]
        );
        assert!(text.contains("  ok 2 cpu/b # SKIP no result\n"), "{text}");
        assert_eq!(lines.last(), Some(&"ok 2 x 6.1.0"));
    }

    #[test]
    fn a_kernel_that_never_came_up_has_failed_and_one_that_decided_nothing_is_skipped() {
        let mut made = passport(&[("k", &[]), ("x", &[CaseVerdict::Void])]);
        made.kernels[0].lost = vec!["Kernel panic".to_owned()];
        let text = passport_ktap(&made);
        assert!(text.contains("  # Kernel panic\nnot ok 1 k 6.1.0\n"), "{text}");
        assert!(text.ends_with("ok 2 x 6.1.0 # SKIP no case could show anything"), "{text}");
        made.kernels[0].lost.clear();
        assert!(passport_ktap(&made).contains("\nok 1 k 6.1.0 # SKIP "), "nothing was tried");
    }
}
