//! The sum of all passes, for people and for CI.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::pass::{Failure, Pass};

/// How many of the slowest tests are named.
const SLOWEST: usize = 10;
/// Lines that are repeated at the end of what a failed test said: a log of thousands of lines is often
/// kept by its end alone.
const SAID: usize = 15;

/// What came of all tests.
#[derive(Debug)]
pub(crate) struct Account<'p> {
    passed: usize,
    failed: usize,
    skipped: usize,
    failures: Vec<&'p Failure>,
    /// Tests that failed and passed when they were run again.
    flaky: &'p [Failure],
    reasons: BTreeSet<String>,
    slowest: Vec<&'p (f64, String)>,
}

impl<'p> Account<'p> {
    /// Adds up passes; in the quick tier tests that were put off are skipped.
    pub(crate) fn of(passes: &'p [Pass], flaky: &'p [Failure], quick: bool) -> Self {
        let sum = |count: fn(&Pass) -> usize| passes.iter().map(count).sum::<usize>();
        let later = sum(|pass| pass.later.len());
        let ignored = sum(|pass| pass.ignored);
        // A test that returns early is one that passed for libtest; it may say more than one reason.
        let early = sum(|pass| {
            let tests: BTreeSet<&String> = pass.skipped.iter().map(|(test, _)| test).collect();
            tests.len()
        });
        let mut reasons: BTreeSet<String> =
            passes.iter().flat_map(|pass| &pass.skipped).map(|(_, why)| why.clone()).collect();
        if ignored > 0 {
            reasons.insert(format!("{ignored} marked #[ignore]"));
        }
        let left = if quick { later } else { 0 };
        if left > 0 {
            reasons.insert(format!("{left} of the host, of guests and of a network: `make test`"));
        }
        let mut slowest: Vec<_> = passes.iter().flat_map(|pass| &pass.times).collect();
        slowest.sort_by(|a, b| b.0.total_cmp(&a.0));
        slowest.truncate(SLOWEST);
        Self {
            passed: sum(|pass| pass.passed).saturating_sub(later + early),
            failed: sum(|pass| pass.failed),
            skipped: early + ignored + left,
            failures: passes.iter().flat_map(|pass| &pass.failures).collect(),
            flaky,
            reasons,
            slowest,
        }
    }

    /// What failed and was skipped, and why, and the slowest tests.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        list(&mut text, "failed, and why:", self.failures.iter().copied());
        list(&mut text, "flaky: failed, and passed when run again alone:", self.flaky.iter());
        if !self.reasons.is_empty() {
            text.push_str("skipped, and why:\n");
        }
        for reason in &self.reasons {
            let _ = writeln!(text, "  {reason}");
        }
        text.push_str("slowest:\n");
        for (seconds, name) in &self.slowest {
            let _ = writeln!(text, "  {seconds:6.1} s  {name}");
        }
        text
    }

    /// The line that CI reads.
    pub(crate) fn counts(&self) -> String {
        format!("{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }

    pub(crate) fn is_good(&self) -> bool {
        self.failed == 0 && self.passed > 0
    }
}

fn list<'f>(text: &mut String, title: &str, failures: impl Iterator<Item = &'f Failure>) {
    for (number, failure) in failures.enumerate() {
        if number == 0 {
            let _ = writeln!(text, "{title}");
        }
        let _ = writeln!(text, "  {}", failure.name);
        for line in failure.said.lines().filter(|line| !line.trim().is_empty()).take(SAID) {
            let _ = writeln!(text, "      {}", line.chars().take(400).collect::<String>());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pass::{Later, Turn};

    fn skipped(test: &str, why: &str) -> (String, String) {
        (test.to_owned(), why.to_owned())
    }

    fn computing() -> Pass {
        Pass {
            passed: 10,
            failed: 1,
            ignored: 1,
            times: vec![(0.5, "judge a".to_owned()), (2.0, "judge b".to_owned())],
            failures: vec![Failure { name: "judge c".to_owned(), said: "\nleft: 1\n".to_owned() }],
            later: vec![Later { name: "d".to_owned(), turn: Turn::Quiet }],
            // One test that says twice why a part of it did not run.
            skipped: vec![skipped("pages", "no zsh"), skipped("pages", "no fish")],
        }
    }

    #[test]
    fn a_test_that_was_put_off_or_skipped_has_not_passed() {
        let of_host = Pass { passed: 1, ..Pass::default() };
        let passes = [computing(), of_host];
        let account = Account::of(&passes, &[], false);
        assert_eq!(account.counts(), "9 passed, 1 failed, 2 skipped");
        assert!(!account.is_good());
    }

    #[test]
    fn what_the_quick_tier_leaves_to_the_other_is_skipped_with_the_reason() {
        let passes = [computing()];
        let account = Account::of(&passes, &[], true);
        assert_eq!(account.counts(), "8 passed, 1 failed, 3 skipped");
        let text = account.text();
        for said in ["judge c\n      left: 1", "no zsh", "no fish", "1 of the host", "#[ignore]"] {
            assert!(text.contains(said), "no `{said}` in {text}");
        }
        assert!(text.find("judge b") < text.find("judge a"), "the slowest first: {text}");
    }

    #[test]
    fn a_flaky_test_is_named_and_does_not_fail_the_whole() {
        let passes = [Pass { passed: 1, ..Pass::default() }];
        let flaky = [Failure { name: "judge c".to_owned(), said: "left: 1".to_owned() }];
        let account = Account::of(&passes, &flaky, false);
        assert!(account.is_good());
        assert!(account.text().contains("run again alone:\n  judge c\n      left: 1"));
    }

    #[test]
    fn nothing_that_passed_is_not_good() {
        assert!(!Account::of(&[], &[], false).is_good());
    }
}
