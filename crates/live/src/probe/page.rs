//! Answers for people and for CI services, and what a probe would do.

use std::collections::BTreeMap;

use assay_sys::escape::page::{Page, Rows, Section, Tag, Tone};
use assay_sys::escape::xml;

use crate::probe::limit::Limit;
use crate::probe::target::Target;
use crate::probe::{Answer, Document, Verdict};

/// The answers as a page.
#[must_use]
pub fn page(document: &Document) -> Page {
    let count = |verdict: Verdict| format!("{} {}", document.count(verdict), verdict.words());
    let verdicts = [Verdict::Enforced, Verdict::NotEnforced, Verdict::NotProvable];
    let counts = match document.answers.len() {
        0 => "no limit is set".to_owned(),
        _ => verdicts.map(count).join(", "),
    };
    let mut page = Page { heading: format!("{}: {counts}", document.target), ..Page::default() };
    page.head.text(format!(
        "group {}, {} processes, Linux {}",
        document.group, document.processes, document.kernel
    ));
    page.sections.push(Section::new("limits", "Limits", |parts| {
        let table = Rows::new(&document.answers)
            .left("limit", 0, |one: &Answer| label(document, one))
            .left("value", 0, |one: &Answer| one.value.clone().unwrap_or_else(|| "-".to_owned()))
            .left("verdict", 0, |one: &Answer| tag(one.verdict).marked());
        if !document.answers.is_empty() {
            parts.table(table);
        }
        parts.list(
            document.answers.iter().map(|one| format!("{}: {}", label(document, one), why(one))),
        );
        parts.list(not_shown(document));
    }));
    page
}

/// The file, and the group below the target whose it is, with no more of an id than tells containers apart.
fn label(document: &Document, answer: &Answer) -> String {
    match answer.group.strip_prefix(&document.group).map(|below| below.trim_start_matches('/')) {
        None | Some("") => answer.knob.clone(),
        Some(below) => {
            let mut digits = 0;
            let is_shown = |sign: &char| {
                digits = if sign.is_ascii_hexdigit() { digits + 1 } else { 0 };
                digits <= 12
            };
            format!("{} {}", below.chars().filter(is_shown).collect::<String>(), answer.knob)
        }
    }
}

fn tag(verdict: Verdict) -> Tag {
    let (tone, mark) = match verdict {
        Verdict::Enforced => (Tone::Good, "+"),
        Verdict::NotEnforced => (Tone::Bad, "!"),
        Verdict::NotProvable => (Tone::Open, "?"),
    };
    Tag::new(tone, mark, verdict.words())
}

/// The reason, what was measured, and what the group itself met.
fn why(answer: &Answer) -> String {
    let mut parts: Vec<String> = Vec::new();
    parts.extend((!answer.reason.is_empty()).then(|| answer.reason.clone()));
    parts.extend(answer.measured.iter().cloned());
    parts.extend(answer.met.as_ref().map(|met| format!("the group itself: {met}")));
    parts.join("; ")
}

fn not_shown(document: &Document) -> Vec<String> {
    let mut lines = Vec::new();
    let above = document.answers.iter().filter(|one| !one.group.starts_with(&document.group));
    lines.extend(above.map(|one| format!("{} is the limit of {}", one.knob, one.group)));
    let asked = document.answers.iter().filter_map(|one| Some((one.asked.as_ref()?, one)));
    let mut by_file: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (asked, one) in asked {
        by_file.entry(&asked.by).or_default().push(label(document, one));
    }
    lines.extend(by_file.iter().map(|(file, of)| format!("{} asked for by {file}", of.join(", "))));
    if !document.unlimited.is_empty() {
        lines.push(format!("no limit in {}", document.unlimited.join(", ")));
    }
    lines
}

/// What `--inside` costs.
pub const INSIDE: &str = "For cpu.max, cpuset.cpus and devices a process of ours with up to 8 threads enters the group for 2 s each. It takes \
     what the group leaves of its quota, up to 4 CPUs, so that its own processes are throttled. Before, its twin elsewhere takes up to \
     8 CPUs for 1 s.";

/// What proofs of these limits may cost, for `--dry-run`.
#[must_use]
pub fn plan(target: &Target, limits: &[Limit], is_v2: bool, is_inside: bool) -> Page {
    let known: Vec<Limit> =
        limits.iter().copied().filter(|limit| limit.file(is_v2).is_some()).collect();
    let mut page = Page {
        heading: format!("{}: what a probe may use, at most", target.name),
        ..Page::default()
    };
    page.head.text(format!(
        "Two groups at a time beside {}. No process of the group is signalled, frozen or moved. \
         A limit that is not set is not probed.",
        target.group
    ));
    if is_inside {
        page.head.text(INSIDE);
    }
    page.sections.push(Section::new("costs", "Costs", |parts| {
        parts.table(
            Rows::new(&known)
                .left("limit", 0, |limit: &Limit| limit.file(is_v2).unwrap_or_default())
                .right("seconds", 0, |limit: &Limit| limit.cost().seconds.to_string())
                .right("CPU seconds", 0, |limit: &Limit| limit.cost().cpu_seconds.to_string())
                .right("memory MiB", 0, |limit: &Limit| limit.cost().memory_mib.to_string())
                .right("tasks", 0, |limit: &Limit| limit.cost().tasks.to_string())
                .right("I/O MiB", 0, |limit: &Limit| {
                    limit.cost().io_mib.map_or_else(|| "any".to_owned(), |mib| mib.to_string())
                }),
        );
    }));
    page
}

/// The answers as JUnit XML: a limit is a test case; what cannot be proven is skipped.
#[must_use]
pub fn junit(document: &Document) -> String {
    let skipped = document.count(Verdict::NotProvable);
    let failed = document.count(Verdict::NotEnforced);
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"{}\" tests=\"{}\" failures=\"{failed}\" \
         errors=\"0\" skipped=\"{skipped}\" timestamp=\"{}\">\n",
        xml(&document.target),
        document.answers.len(),
        xml(document.started_at.trim_end_matches('Z'))
    );
    for answer in &document.answers {
        let case = format!(
            "<testcase classname=\"{}\" name=\"{}\" time=\"{}\"",
            xml(&answer.group),
            xml(&answer.knob),
            answer.seconds
        );
        let inside = match answer.verdict {
            Verdict::Enforced => String::new(),
            Verdict::NotEnforced => format!("<failure message=\"{}\"/>", xml(&answer.reason)),
            Verdict::NotProvable => format!("<skipped message=\"{}\"/>", xml(&answer.reason)),
        };
        text +=
            &format!("{case}>{inside}<system-out>{}</system-out></testcase>\n", xml(&why(answer)));
    }
    text + "</testsuite>\n</testsuites>\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::Asked;

    fn document() -> Document {
        let answer = |verdict, reason: &str| Answer {
            knob: "memory.max".to_owned(),
            group: "/a".to_owned(),
            value: Some("1".to_owned()),
            asked: None,
            verdict,
            reason: reason.to_owned(),
            measured: vec!["seen".to_owned()],
            met: None,
            seconds: 0.5,
        };
        Document {
            schema: 1,
            target: "web<1>".to_owned(),
            group: "/a".to_owned(),
            processes: 1,
            kernel: "6.18".to_owned(),
            started_at: "2026-11-29T12:00:00Z".to_owned(),
            answers: vec![
                answer(Verdict::Enforced, ""),
                answer(Verdict::NotEnforced, "lost & gone"),
                answer(Verdict::NotProvable, "busy"),
            ],
            unlimited: vec!["pids.max".to_owned()],
            restored: true,
        }
    }

    #[test]
    fn a_limit_is_a_test_case_and_names_are_escaped() {
        let text = junit(&document());
        assert!(
            text.contains(
                "name=\"web&lt;1&gt;\" tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\""
            ),
            "{text}"
        );
        assert!(text.contains("<failure message=\"lost &amp; gone\"/>"), "{text}");
        assert!(text.contains("<skipped message=\"busy\"/>"), "{text}");
    }

    #[test]
    fn the_counts_come_first_and_what_is_not_limited_last() {
        let page = page(&document());
        assert_eq!(page.heading, "web<1>: 1 enforced, 1 not enforced, 1 not provable");
        assert_eq!(not_shown(&document()), ["no limit in pids.max"]);
        let mut asked = document();
        let wish = Asked { value: "1".to_owned(), by: "/config.json".to_owned() };
        asked.answers[1].asked = Some(wish);
        assert_eq!(not_shown(&asked)[0], "memory.max asked for by /config.json");
        let group = format!("/a/crio-{}.scope", "0123456789abcdef".repeat(4));
        let answer = Answer { group, ..document().answers.remove(0) };
        assert_eq!(label(&document(), &answer), "crio-0123456789ab.scope memory.max");
    }
}
