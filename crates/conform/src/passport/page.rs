//! A passport in a terminal.

use assay_report::number::NONE;
use assay_sys::escape::page::{Paint, Rows, Table, wrap};

use super::document::{CaseVerdict, Passport, PassportCase, PassportKernel};

/// The kernels, and every case that is broken, undecided or void somewhere, with the reasons. With `all`, every case.
#[must_use]
pub fn render(passport: &Passport, all: bool, width: usize) -> String {
    let mut lines = vec!["kernels".to_owned()];
    let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| NONE.to_owned());
    let kernels = Rows::new(&passport.kernels)
        .left("name", 0, |kernel| kernel.name.clone())
        .left("release", 1, |kernel| or_none(&kernel.release))
        .left("groups", 2, |kernel| or_none(&kernel.layout))
        .left("results", 0, |kernel| counts(passport, &kernel.name))
        .left("time", 3, time);
    lines.extend(Table::from(kernels).lines(width, Paint { color: false }));
    for kernel in &passport.kernels {
        lines.extend(kernel.lost.iter().map(|why| format!("  {}: {why}", kernel.name)));
        if kernel.missing > 0 {
            lines.push(format!("  {}: {} cases have no result", kernel.name, kernel.missing));
        }
    }
    let shown: Vec<&PassportCase> =
        passport.cases.iter().filter(|case| all || case.is_remarkable()).collect();
    lines.push(String::new());
    lines.push(match (all, shown.len()) {
        (true, _) => "cases".to_owned(),
        (false, 0) => format!(
            "no result breaks any of {} promises, or is undecided or void",
            passport.cases.len()
        ),
        (false, _) => "broken, undecided or void somewhere".to_owned(),
    });
    if !shown.is_empty() {
        let mut table = Rows::new(&shown).left("case", 0, |case| case.name());
        for kernel in &passport.kernels {
            table = table.left(kernel.name.clone(), 0, |case| word(case, &kernel.name).to_owned());
        }
        lines.extend(Table::from(table).lines(width, Paint { color: false }));
    }
    for case in shown {
        lines.extend(reasons(passport, case).flat_map(|reason| wrap(&reason, width, "    ")));
    }
    lines.join("\n")
}

/// Why a case is not kept, kernel by kernel. A guest chose the text.
fn reasons<'p>(
    passport: &'p Passport,
    case: &'p PassportCase,
) -> impl Iterator<Item = String> + 'p {
    passport.kernels.iter().filter_map(|kernel| {
        let reason = &case.results.get(&kernel.name)?.reason;
        let text =
            format!("  {} on {}: {}", case.name(), kernel.name, assay_sys::escape::line(reason));
        (!reason.is_empty()).then_some(text)
    })
}

/// `56 kept, 1 broken`, without what there is none of.
fn counts(passport: &Passport, kernel: &str) -> String {
    let counts = CaseVerdict::ALL.map(|verdict| (passport.count(kernel, verdict), verdict.word()));
    let named = counts.iter().filter(|(count, _)| *count > 0);
    named.map(|(count, word)| format!("{count} {word}")).collect::<Vec<_>>().join(", ")
}

/// Time of the cases, and of the boots before them.
fn time(kernel: &PassportKernel) -> String {
    let boots: f64 = kernel.boots.iter().sum();
    let cases = format!("{:.0} s", kernel.seconds);
    if boots > 0.0 { format!("{cases}, {boots:.0} s to boot") } else { cases }
}

fn word(case: &PassportCase, kernel: &str) -> &'static str {
    match case.results.get(kernel).map(|result| result.verdict) {
        None => "no result",
        Some(CaseVerdict::Broken) => "BROKEN",
        Some(CaseVerdict::NotAvailable) => "n/a",
        Some(verdict) => verdict.word(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::document::CaseResult;
    use super::*;

    fn passport(verdict: CaseVerdict, reason: &str) -> Passport {
        let result = CaseResult {
            verdict,
            reason: reason.to_owned(),
            evidence: vec!["25.0 %".to_owned()],
            seconds: 1.0,
            file: "kernels/debian-6.1/001.json".to_owned(),
        };
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
        let text = render(&passport(CaseVerdict::Broken, "it got \u{1b}[2J0 %"), false, 100);
        assert!(text.contains("  cpu/a on debian-6.1: it got "), "{text}");
        assert!(text.contains("30 s to boot") && !text.contains('\u{1b}'), "{text}");
    }

    #[test]
    fn a_missing_result_is_named_and_only_all_shows_what_is_kept() {
        let mut passport = passport(CaseVerdict::Kept, "");
        let short = render(&passport, false, 100);
        assert!(short.contains("no result breaks any of 1 promises"), "{short}");
        assert!(!short.contains("cpu/a"), "{short}");
        assert!(render(&passport, true, 100).contains("kept"));
        passport.cases[0].results.clear();
        let all = render(&passport, true, 100);
        let row = all.lines().find(|line| line.contains("cpu/a")).unwrap();
        assert!(row.contains("no result"), "{all}");
    }
}
