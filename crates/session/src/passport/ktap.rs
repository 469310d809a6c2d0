//! A passport in the kernel's own format of test results (Documentation/dev-tools/ktap.rst): a test for each kernel, with
//! the cases as its subtests.

use assay_escape::line;
use assay_verdict::{CaseVerdict, Passport, PassportCase};

/// The passport as KTAP. Undecided and void cases are skipped with their reason, as unavailable ones are: KTAP has no
/// other word for a test without a result.
///
/// ```no_run
/// println!("{}", assay_session::passport_ktap(&assay_session::read_passport("passport".as_ref())?));
/// # Ok::<(), assay_session::Error>(())
/// ```
#[must_use]
pub fn passport_ktap(passport: &Passport) -> String {
    let mut lines = vec!["KTAP version 1".to_owned(), format!("1..{}", passport.kernels.len())];
    for (at, kernel) in passport.kernels.iter().enumerate() {
        lines.push("  KTAP version 1".to_owned());
        lines.push(format!("  1..{}", passport.cases.len()));
        let cases = passport.cases.iter().enumerate();
        lines.extend(cases.map(|(at, case)| format!("  {}", test(at + 1, case, &kernel.name))));
        let state = match passport.count(&kernel.name, CaseVerdict::Broken) {
            0 => "ok",
            _ => "not ok",
        };
        let release = kernel.release.as_deref().unwrap_or("unknown");
        lines.push(format!("{state} {} {}", at + 1, plain(&format!("{} {release}", kernel.name))));
    }
    lines.join("\n") + "\n"
}

fn test(number: usize, case: &PassportCase, kernel: &str) -> String {
    let name = plain(&case.name());
    let skip = |why: &str| format!("ok {number} {name} # SKIP {}", plain(why));
    let Some(result) = case.results.get(kernel) else { return skip("no result") };
    match result.verdict {
        CaseVerdict::Kept => format!("ok {number} {name}"),
        CaseVerdict::Broken => format!("not ok {number} {name} # {}", plain(&result.reason)),
        other => skip(&format!("{}: {}", other.word(), result.reason)),
    }
}

/// Text that cannot end a line or begin a directive.
fn plain(text: &str) -> String {
    line(text).replace('#', "\u{ff03}")
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
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[..5],
            ["KTAP version 1", "1..2", "  KTAP version 1", "  1..3", "  ok 1 cpu/a"]
        );
        assert!(lines[5].starts_with("  not ok 2 cpu/b # so"), "{text}");
        assert!(lines[6].starts_with("  ok 3 cpu/c # SKIP undecided: so"), "{text}");
        assert_eq!(lines[7], "not ok 1 host 6.1.0");
        assert!(text.contains("  ok 2 cpu/b # SKIP no result\n"), "{text}");
        assert_eq!(lines.last(), Some(&"ok 2 x 6.1.0"));
        assert_eq!(lines.len(), 14, "a reason in several lines stays in one:\n{text}");
    }
}
