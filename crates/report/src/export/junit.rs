//! Verdicts as JUnit XML, which CI services show: a promise is a test case.
//!
//! The form is that of Apache Ant's JUnit task as CI services read it (`junit-10.xsd` of the Jenkins xUnit
//! plugin). Broken is a failure; undecided and void are skipped, with the reason, since nothing was
//! shown; a host that was not restored is an error.

use std::fmt::Write;

use assay_judge::verdict::{Cause, Judgement, TrialJudgement, Verdict, wording};
use assay_record::run_folder::Manifest;
use assay_sys::escape::xml;

/// One test case.
struct Case {
    class: String,
    name: String,
    seconds: f64,
    outcome: Outcome,
}

/// How a test case ended.
enum Outcome {
    Passed,
    /// The reason in one line, and everything else.
    Failed(String, String),
    /// The verdict and its reason.
    Skipped(String),
    Error(String),
}

/// Builds the document of a judgement: of a run, or of numbers from elsewhere, which have no manifest.
#[must_use]
pub fn junit(judgement: &Judgement, manifest: Option<&Manifest>) -> String {
    let cases = cases(judgement);
    let count = |is: fn(&Outcome) -> bool| cases.iter().filter(|case| is(&case.outcome)).count();
    let counts = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\" time=\"{:.3}\"",
        cases.len(),
        count(|one| matches!(one, Outcome::Failed(..))),
        count(|one| matches!(one, Outcome::Error(_))),
        cases.iter().map(|case| case.seconds).sum::<f64>(),
    );
    // The schema has this count for a suite, and not for all suites together.
    let skipped = count(|one| matches!(one, Outcome::Skipped(_)));
    let name = xml(&judgement.study);
    let run = manifest.map(origin).unwrap_or_default();
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"{name}\" {counts}>\n  <testsuite name=\
         \"{name}\" {counts} skipped=\"{skipped}\"{run}>\n"
    );
    cases.iter().for_each(|case| text.push_str(&case.text()));
    text.push_str("  </testsuite>\n</testsuites>\n");
    text
}

/// When and where it ran: ISO 8601 without a zone, as the schema wants it; the record is in UTC.
fn origin(manifest: &Manifest) -> String {
    let started = manifest.started_at.split(['.', 'Z', '+']).next().unwrap_or_default();
    let host = &manifest.host.host_name;
    format!(" timestamp=\"{}\" hostname=\"{}\"", xml(started), xml(host))
}

fn cases(judgement: &Judgement) -> Vec<Case> {
    let class = |under: &str| match under.is_empty() {
        true => judgement.study.clone(),
        // Services take dots for packages.
        false => format!("{}.{}", judgement.study, under.replace('.', "_")),
    };
    let of_trial = |trial: &TrialJudgement| {
        let class = class(&wording::levels(&trial.factors));
        let seconds = trial.window_s;
        let promises = trial.promises.iter().map(move |promise| Case {
            class: class.clone(),
            name: crate::promise_words(promise),
            seconds,
            outcome: outcome(promise.verdict, &promise.reason, &promise.causes),
        });
        promises.collect::<Vec<_>>()
    };
    let mut cases: Vec<Case> = judgement.trials.iter().flat_map(of_trial).collect();
    cases.extend(judgement.comparisons.iter().map(|one| Case {
        class: class(&wording::levels(&one.held)),
        name: crate::comparison_words(one),
        seconds: 0.0,
        outcome: outcome(one.verdict, &one.reason, &[]),
    }));
    cases.extend(judgement.restored.map(|restored| Case {
        class: class(""),
        name: "the host is as it was before".to_owned(),
        seconds: 0.0,
        outcome: match restored {
            true => Outcome::Passed,
            false => Outcome::Error("some changes could not be undone: `assay restore`".to_owned()),
        },
    }));
    cases
}

fn outcome(verdict: Verdict, reason: &str, causes: &[Cause]) -> Outcome {
    match verdict {
        Verdict::Kept => Outcome::Passed,
        Verdict::Broken => Outcome::Failed(reason.to_owned(), evidence(causes)),
        Verdict::Undecided | Verdict::Void => {
            Outcome::Skipped(format!("{}: {reason}", verdict.word()))
        }
    }
}

/// The causes with what they rest on.
fn evidence(causes: &[Cause]) -> String {
    let mut text = String::new();
    for cause in causes {
        let _ = writeln!(text, "{}: {}", cause.code, cause.summary);
        cause.evidence.iter().for_each(|line| {
            let _ = writeln!(text, "  {line}");
        });
    }
    text
}

impl Case {
    fn text(&self) -> String {
        let head = format!(
            "    <testcase classname=\"{}\" name=\"{}\" time=\"{:.3}\"",
            xml(&self.class),
            xml(&self.name),
            self.seconds
        );
        let body = match &self.outcome {
            Outcome::Passed => return format!("{head}/>\n"),
            Outcome::Failed(reason, more) => {
                format!(
                    "<failure type=\"broken\" message=\"{}\">{}</failure>",
                    xml(reason),
                    xml(more)
                )
            }
            Outcome::Skipped(reason) => format!("<skipped message=\"{}\"/>", xml(reason)),
            Outcome::Error(reason) => {
                format!("<error type=\"not restored\" message=\"{}\"/>", xml(reason))
            }
        };
        format!("{head}>\n      {body}\n    </testcase>\n")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn promise(verdict: &str, reason: &str) -> Value {
        json!({"measure": "io.bytes", "is": "equal", "to": null, "within": 0.1, "confidence": 0.95,
            "verdict": verdict, "reason": reason, "worst_error": null, "jain": null, "total_rate": null,
            "needs_s": null, "groups": [], "causes": [{"code": "C-TAG-CAP", "summary": "a cap", "evidence":
            ["<17> requests"]}]})
    }

    fn judged(promises: &[Value], restored: bool) -> Judgement {
        let trial = json!({"factors": {"size": "1.5 MiB"}, "verdict": "void", "repeats": 3,
            "promises": promises, "validity": [], "window_s": 2.5, "warm_up_s": 0.0, "observer_cpu": 0.0});
        let judgement = json!({"schema": 1, "study": "a & b", "verdict": "broken", "trials": [trial],
            "restored": restored});
        serde_json::from_value(judgement).unwrap()
    }

    #[test]
    fn each_verdict_has_the_outcome_that_services_count() {
        let promises = [
            promise("kept", "all"),
            promise("broken", "`x` has \"half\"\u{1b}"),
            promise("undecided", "3 s"),
            promise("void", "alone\n::error x"),
        ];
        let text = junit(&judged(&promises, false), None);
        let counts = "tests=\"5\" failures=\"1\" errors=\"1\" time=\"10.000\"";
        assert_eq!(text.matches(counts).count(), 2, "{text}");
        assert_eq!(text.matches(" skipped=\"2\"").count(), 1, "of the suite: {text}");
        for part in [
            "classname=\"a &amp; b.size = 1_5 MiB\"",
            "<failure type=\"broken\" message=\"`x` has &quot;half&quot;\\x1b\">C-TAG-CAP: a cap\n  &lt;17&gt;",
            "<skipped message=\"undecided: 3 s\"/>",
            "<skipped message=\"void: alone\\n::error x\"/>",
            "<error type=\"not restored\"",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn a_kept_promise_and_a_restored_host_pass() {
        let text = junit(&judged(&[promise("kept", "all")], true), None);
        assert!(text.contains("tests=\"2\" failures=\"0\" errors=\"0\""), "{text}");
        assert_eq!(text.matches("/>\n").count(), 2, "{text}");
    }
}
