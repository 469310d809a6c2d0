//! A passport in a terminal.

use assay_verdict::{CaseVerdict, Passport, PassportCase};

use super::layout::Table;
use super::paint::Paint;
use crate::number::NONE;
use crate::passport::{counts, time};

/// The kernels, and every case that is broken, undecided or void somewhere. With `all`, every case.
#[must_use]
pub fn render(passport: &Passport, all: bool, width: usize) -> String {
    let mut lines = vec!["kernels".to_owned()];
    let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| NONE.to_owned());
    let kernels = Table::new(&passport.kernels)
        .left("name", 0, |kernel| kernel.name.clone())
        .left("release", 1, |kernel| or_none(&kernel.release))
        .left("groups", 2, |kernel| or_none(&kernel.layout))
        .left("results", 0, |kernel| counts(passport, &kernel.name))
        .left("time", 3, time);
    lines.extend(kernels.lines(width, Paint { color: false }));
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
        let mut table = Table::new(&shown).left("case", 0, |case| case.name());
        for kernel in &passport.kernels {
            table = table.left(kernel.name.clone(), 0, |case| word(case, &kernel.name).to_owned());
        }
        lines.extend(
            table.left("since", 1, |case| case.since()).lines(width, Paint { color: false }),
        );
    }
    lines.join("\n")
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
    use super::*;
    use crate::passport::tests::passport;

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
