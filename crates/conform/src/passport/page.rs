//! A passport as a page.

use assay_report::number::NONE;
use assay_sys::escape::page::{PAGE, Page, Parts, Rows, Section, Tag, Tone};

use super::document::{Passport, PassportCase, PassportKernel};
use crate::Verdict;

/// The kernels; cases that one kernel keeps and another breaks; and all that are broken, undecided or void somewhere, with the reasons.
/// With `all`, every case.
#[must_use]
pub fn page(passport: &Passport, all: bool) -> Page {
    let shown = passport.cases.iter().filter(|case| all || case.is_remarkable());
    let (differ, alike): (Vec<_>, Vec<_>) = shown.partition(|case| case.differs());
    let mut sections = vec![Section::new("kernels", "Kernels", |parts| kernels(parts, passport))];
    let others = match (all, differ.is_empty()) {
        (true, true) => "All cases",
        (true, false) => "All others",
        (false, _) => "Broken, undecided or void somewhere",
    };
    for (id, heading, rows) in
        [("differ", "Kept by one kernel, broken by another", differ), ("cases", others, alike)]
    {
        if !rows.is_empty() {
            sections.push(Section::new(id, heading, |parts| cases(parts, passport, &rows)));
        }
    }
    let names: Vec<&str> = passport.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
    let title = format!("Promises of control groups on {}", names.join(", "));
    let nothing = !passport.cases.iter().any(PassportCase::is_remarkable);
    let clean = format!(
        "no result breaks any of {} promises, or is undecided or void",
        passport.cases.len()
    );
    Page {
        kicker: vec![format!("assay conform {}", passport.assay), passport.started_at.clone()],
        heading: title.clone(),
        title,
        head: Parts::of(|head| {
            if nothing {
                head.text(clean);
            }
        }),
        sections,
        ..Page::default()
    }
}

fn kernels(parts: &mut Parts, passport: &Passport) {
    let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| NONE.to_owned());
    parts.table(
        Rows::new(&passport.kernels)
            .left("name", 0, |kernel| kernel.name.clone())
            .left("release", 1, |kernel| or_none(&kernel.release))
            .left("groups", 2, |kernel| or_none(&kernel.layout))
            .left("machine", PAGE, |kernel| or_none(&kernel.machine))
            .left("results", 0, |kernel| counts(passport, &kernel.name))
            .left("time", 3, time),
    );
    parts.list(passport.kernels.iter().flat_map(|kernel| {
        let lost = kernel.lost.iter().map(|why| format!("{}: {why}", kernel.name));
        let missing = format!("{}: {} cases have no result", kernel.name, kernel.missing);
        lost.chain((kernel.missing > 0).then_some(missing)).collect::<Vec<_>>()
    }));
}

/// A column for each kernel, and why a case is not kept. A guest chose the text.
fn cases(parts: &mut Parts, passport: &Passport, rows: &[&PassportCase]) {
    let mut table = Rows::new(rows).left("case", 0, |case| case.name());
    for kernel in &passport.kernels {
        table = table.left(kernel.name.clone(), 0, |case| tag(case, &kernel.name));
    }
    if rows.iter().any(|case| case.differs()) {
        table = table.left("changes", 1, |case| changes(passport, case));
    }
    parts.table(table.left("promise", PAGE, |case| case.promise.clone()));
    parts.list(rows.iter().flat_map(|case| {
        passport.kernels.iter().filter_map(|kernel| {
            let result = case.results.get(&kernel.name)?;
            let evidence = result.evidence.join("; ");
            let text = format!("{} on {}: {}", case.name(), kernel.name, result.reason);
            (!result.reason.is_empty()).then(|| match evidence.is_empty() {
                true => text,
                false => format!("{text} ({evidence})"),
            })
        })
    }));
}

/// `broken since debian-6.12, kept since debian-7.2`: between kernels that follow each other among those that decided it.
fn changes(passport: &Passport, case: &PassportCase) -> String {
    let decided = |kernel: &PassportKernel| {
        let verdict = case.results.get(&kernel.name)?.verdict;
        [Verdict::Kept, Verdict::Broken].contains(&verdict).then(|| (kernel.name.clone(), verdict))
    };
    let decided: Vec<(String, Verdict)> = passport.kernels.iter().filter_map(decided).collect();
    let change = |pair: &[(String, Verdict)]| {
        let (name, verdict) = &pair[1];
        (pair[0].1 != *verdict).then(|| format!("{verdict} since {name}"))
    };
    decided.windows(2).filter_map(change).collect::<Vec<_>>().join(", ")
}

/// `56 kept, 1 broken`, without what there is none of.
fn counts(passport: &Passport, kernel: &str) -> String {
    let counts = Verdict::ALL.map(|verdict| (passport.count(kernel, verdict), verdict.to_string()));
    let named = counts.iter().filter(|(count, _)| *count > 0);
    named.map(|(count, word)| format!("{count} {word}")).collect::<Vec<_>>().join(", ")
}

/// Time of the cases, and of the boots before them.
fn time(kernel: &PassportKernel) -> String {
    let boots: f64 = kernel.boots.iter().sum();
    let cases = format!("{:.0} s", kernel.seconds);
    if boots > 0.0 { format!("{cases}, {boots:.0} s to boot") } else { cases }
}

fn tag(case: &PassportCase, kernel: &str) -> Tag {
    let (tone, word) = match case.results.get(kernel).map(|result| result.verdict) {
        None => (Tone::Void, "no result"),
        Some(Verdict::Kept) => (Tone::Good, "kept"),
        Some(Verdict::Broken) => (Tone::Bad, "BROKEN"),
        Some(Verdict::Undecided) => (Tone::Open, "undecided"),
        Some(Verdict::Void) => (Tone::Void, "void"),
        Some(Verdict::NotAvailable) => (Tone::Void, "n/a"),
    };
    Tag::new(tone, "", word)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::CaseRecord;
    use crate::passport::fake::record;

    fn passport(verdict: Verdict, reason: &str) -> Passport {
        let result = CaseRecord { reason: reason.to_owned(), ..record("a", verdict) };
        Passport {
            schema: 1,
            assay: "0".to_owned(),
            started_at: "2026-11-26".to_owned(),
            kernels: vec![PassportKernel {
                name: "debian-6.1".to_owned(),
                release: Some("6.1.0-56-amd64".to_owned()),
                layout: Some("v2".to_owned()),
                machine: Some("QEMU".to_owned()),
                patience: Some(3.0),
                seconds: 12.0,
                boots: vec![30.4],
                missing: 1,
                lost: vec!["the guest hung".to_owned()],
            }],
            cases: vec![PassportCase {
                controller: "cpu".to_owned(),
                behaviour: "a".to_owned(),
                promise: "It holds.".to_owned(),
                documented: "Documentation/".to_owned(),
                results: BTreeMap::from([("debian-6.1".to_owned(), result)]),
            }],
        }
    }

    #[test]
    fn what_is_not_kept_has_its_reason_and_no_text_of_a_guest_acts() {
        let text = page(&passport(Verdict::Broken, "it got \u{1b}[2J0 %"), false).text(100, false);
        assert!(text.contains("cpu/a on debian-6.1: it got "), "{text}");
        assert!(text.contains("30 s to boot") && !text.contains('\u{1b}'), "{text}");
    }

    #[test]
    fn a_missing_result_is_named_and_only_all_shows_what_is_kept() {
        let mut passport = passport(Verdict::Kept, "");
        let short = page(&passport, false).text(100, false);
        assert!(short.contains("no result breaks any of 1 promises"), "{short}");
        assert!(!short.contains("cpu/a"), "{short}");
        assert!(page(&passport, true).text(100, false).contains("kept"));
        passport.cases[0].results.clear();
        let all = page(&passport, true).text(100, false);
        let row = all.lines().find(|line| line.contains("cpu/a")).unwrap();
        assert!(row.contains("no result"), "{all}");
    }

    #[test]
    fn what_kernels_differ_in_comes_first_and_is_an_html_page() {
        let mut passport = passport(Verdict::Broken, "0.33 and not 0.5");
        let mut other = passport.kernels[0].clone();
        for name in ["debian-7.2", "debian-7.3"] {
            name.clone_into(&mut other.name);
            passport.kernels.push(other.clone());
        }
        let mut differs = passport.cases[0].clone();
        differs.behaviour = "b".to_owned();
        let kept = record("a", Verdict::Kept);
        differs.results.insert("debian-7.3".to_owned(), kept);
        let undecided = record("a", Verdict::Undecided);
        differs.results.insert("debian-7.2".to_owned(), undecided);
        passport.cases.push(differs);
        let text = page(&passport, false).text(100, false);
        let at = |what: &str| text.find(what).unwrap_or_else(|| panic!("no {what} in {text}"));
        assert!(at("Kept by one kernel") < at("cpu/b  "), "{text}");
        assert!(at("cpu/b  ") < at("cpu/a  "), "{text}");
        assert!(at("kept since debian-7.3") < at("cpu/a  "), "{text}");
        let html = assay_report::page_html(&page(&passport, true));
        assert!(html.contains("It holds.") && html.contains("debian-7.3"), "{html}");
    }
}
