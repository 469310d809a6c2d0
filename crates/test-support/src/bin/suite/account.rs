//! The sum of all passes, for readers and for CI.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::pass::{Failure, Pass};

/// Number of slowest tests listed.
const SLOWEST: usize = 10;
/// Lines of a failed test's output that are repeated at the end, and characters of each: of a log of thousands
/// of lines often only the last thirty are kept.
const OUTPUT_LINES: usize = 3;
const OUTPUT_CHARS: usize = 250;

/// Results of all tests.
#[derive(Debug)]
pub(crate) struct Account<'p> {
    passed: usize,
    failed: usize,
    skipped: usize,
    failures: Vec<&'p Failure>,
    /// Tests that failed and passed when run again.
    flaky: &'p [Failure],
    reasons: BTreeSet<String>,
    slowest: Vec<&'p (f64, String)>,
}

impl<'p> Account<'p> {
    /// Adds up passes; in the quick tier deferred tests are skipped.
    pub(crate) fn new(passes: &'p [Pass], flaky: &'p [Failure], quick: bool) -> Self {
        let sum = |count: fn(&Pass) -> usize| passes.iter().map(count).sum::<usize>();
        let later = sum(|pass| pass.later.len());
        let ignored = sum(|pass| pass.ignored);
        // A test that returns early has passed for libtest; it may report more than one reason.
        let early = sum(|pass| {
            let tests: BTreeSet<&String> = pass.skipped.iter().map(|(test, _)| test).collect();
            tests.len()
        });
        let mut reasons: BTreeSet<String> =
            passes.iter().flat_map(|pass| &pass.skipped).map(|(_, why)| why.clone()).collect();
        if ignored > 0 {
            reasons.insert(format!("{ignored} marked #[ignore]"));
        }
        let not_run = if quick { later } else { 0 };
        if not_run > 0 {
            reasons
                .insert(format!("{not_run} of the host, of guests and of a network: `make test`"));
        }
        let mut slowest: Vec<_> = passes.iter().flat_map(|pass| &pass.times).collect();
        slowest.sort_by(|a, b| b.0.total_cmp(&a.0));
        slowest.truncate(SLOWEST);
        Self {
            passed: sum(|pass| pass.passed).saturating_sub(later + early),
            failed: sum(|pass| pass.failed),
            skipped: early + ignored + not_run,
            failures: passes.iter().flat_map(|pass| &pass.failures).collect(),
            flaky,
            reasons,
            slowest,
        }
    }

    /// What was skipped, with reasons, the slowest tests, and last what failed.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
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
        list(&mut text, "flaky: failed, and passed when run again alone:", self.flaky.iter());
        list(&mut text, "failed, and why:", self.failures.iter().copied());
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
        let lines = failure.output.lines().filter(|line| says_why(line));
        for line in lines.take(OUTPUT_LINES) {
            let _ = writeln!(text, "      {}", line.chars().take(OUTPUT_CHARS).collect::<String>());
        }
    }
}

/// Lines other than blank ones and those that every panic prints.
fn says_why(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && !line.starts_with("thread '") && line != "stack backtrace:"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pass::{Deferred, Kind};

    fn skipped(test: &str, why: &str) -> (String, String) {
        (test.to_owned(), why.to_owned())
    }

    fn computing() -> Pass {
        Pass {
            passed: 10,
            failed: 1,
            ignored: 1,
            times: vec![(0.5, "judge a".to_owned()), (2.0, "judge b".to_owned())],
            failures: vec![Failure {
                name: "judge c".to_owned(),
                output: "\nleft: 1\n".to_owned(),
            }],
            later: vec![Deferred { name: "d".to_owned(), kind: Kind::Quiet }],
            // A test that twice reports why a part of it did not run.
            skipped: vec![skipped("pages", "no zsh"), skipped("pages", "no fish")],
        }
    }

    #[test]
    fn a_deferred_or_skipped_test_has_not_passed() {
        let of_host = Pass { passed: 1, ..Pass::default() };
        let passes = [computing(), of_host];
        let account = Account::new(&passes, &[], false);
        assert_eq!(account.counts(), "9 passed, 1 failed, 2 skipped");
        assert!(!account.is_good());
    }

    #[test]
    fn tests_outside_of_the_quick_tier_are_skipped_with_the_reason() {
        let passes = [computing()];
        let account = Account::new(&passes, &[], true);
        assert_eq!(account.counts(), "8 passed, 1 failed, 3 skipped");
        let text = account.text();
        for output in ["judge c\n      left: 1", "no zsh", "no fish", "1 of the host", "#[ignore]"]
        {
            assert!(text.contains(output), "no `{output}` in {text}");
        }
        assert!(text.find("judge b") < text.find("judge a"), "the slowest first: {text}");
    }

    #[test]
    fn a_flaky_test_is_listed_and_is_not_a_failure() {
        let passes = [Pass { passed: 1, ..Pass::default() }];
        let flaky = [Failure { name: "judge c".to_owned(), output: "left: 1".to_owned() }];
        let account = Account::new(&passes, &flaky, false);
        assert!(account.is_good());
        assert!(account.text().contains("run again alone:\n  judge c\n      left: 1"));
    }

    #[test]
    fn an_empty_suite_is_not_good() {
        assert!(!Account::new(&[], &[], false).is_good());
    }
}
