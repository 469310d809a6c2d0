//! The page of a passport: a column for each kernel, a row for each case, and the evidence of every cell.

use assay_verdict::{CaseResult, CaseVerdict, Passport, PassportCase, PassportKernel};
use serde::Serialize;

use crate::error::Error;
use crate::number::NONE;
use crate::page::{Code, filled};

/// Data of the page.
#[derive(Serialize)]
struct Page {
    title: String,
    started_at: String,
    verdict: &'static str,
    meaning: String,
    kernels: Vec<KernelView>,
    remarkable: Vec<RowView>,
    controllers: Vec<ControllerView>,
    code: Code,
}

#[derive(Serialize)]
struct KernelView {
    name: String,
    release: String,
    layout: String,
    machine: String,
    counts: String,
    time: String,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct ControllerView {
    name: String,
    rows: Vec<RowView>,
}

#[derive(Serialize, Clone)]
struct RowView {
    anchor: String,
    name: String,
    promise: String,
    documented: String,
    since: String,
    cells: Vec<CellView>,
}

#[derive(Serialize, Clone)]
struct CellView {
    kernel: String,
    anchor: String,
    word: &'static str,
    short: &'static str,
    colour: &'static str,
    mark: &'static str,
    reason: String,
    evidence: Vec<String>,
    file: Option<String>,
}

/// The passport as one HTML document that loads no external resources. Links lead to the files beside it.
pub fn html(passport: &Passport) -> Result<String, Error> {
    let views: Vec<RowView> = passport.cases.iter().map(|case| row(passport, case)).collect();
    let cases = passport.cases.iter().zip(&views);
    let remarkable = cases.clone().filter(|(case, _)| case.is_remarkable());
    let mut controllers: Vec<ControllerView> = Vec::new();
    for (case, view) in cases.clone() {
        match controllers.last_mut().filter(|one| one.name == case.controller) {
            Some(last) => last.rows.push(view.clone()),
            None => controllers
                .push(ControllerView { name: case.controller.clone(), rows: vec![view.clone()] }),
        }
    }
    let (verdict, meaning) = headline(passport);
    let page = Page {
        title: format!("{} kernels, {} promises", passport.kernels.len(), passport.cases.len()),
        started_at: passport.started_at.clone(),
        verdict,
        meaning,
        kernels: passport.kernels.iter().map(|kernel| column(passport, kernel)).collect(),
        remarkable: remarkable.map(|(_, view)| view.clone()).collect(),
        controllers,
        code: Code::for_tables(),
    };
    filled("passport.html", page)
}

/// The class of the headline, and its sentence.
fn headline(passport: &Passport) -> (&'static str, String) {
    let broken = passport.cases.iter().filter(|case| case.has(CaseVerdict::Broken)).count();
    let count = |verdict| -> usize {
        passport.kernels.iter().map(|kernel| passport.count(&kernel.name, verdict)).sum()
    };
    let missing: usize = passport.kernels.iter().map(|kernel| kernel.missing).sum();
    let open = missing + count(CaseVerdict::Undecided) + count(CaseVerdict::Void);
    let rest = match open {
        0 => String::new(),
        open => format!(" {open} results are missing, undecided or void."),
    };
    match (broken, open) {
        (0, 0) => ("kept", "No kernel was found to break a promise.".to_owned()),
        (0, _) => ("undecided", format!("No kernel was found to break a promise.{rest}")),
        (1, _) => ("broken", format!("One promise is broken, by a kernel or more.{rest}")),
        (many, _) => {
            ("broken", format!("{many} promises are broken, each by a kernel or more.{rest}"))
        }
    }
}

fn column(passport: &Passport, kernel: &PassportKernel) -> KernelView {
    let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| NONE.to_owned());
    let mut notes = kernel.lost.clone();
    if kernel.missing > 0 {
        notes.push(format!("{} cases have no result", kernel.missing));
    }
    if kernel.machine.as_deref() == Some("QEMU") {
        notes.push("emulated: placement and logic hold, times do not".to_owned());
    }
    KernelView {
        name: kernel.name.clone(),
        release: or_none(&kernel.release),
        layout: or_none(&kernel.layout),
        machine: match (&kernel.release, &kernel.machine) {
            (None, _) => NONE.to_owned(),
            (_, machine) => machine.clone().unwrap_or_else(|| "bare".to_owned()),
        },
        counts: counts(passport, &kernel.name),
        time: time(kernel),
        notes,
    }
}

/// `56 kept, 1 broken`, without what there is none of.
pub(crate) fn counts(passport: &Passport, kernel: &str) -> String {
    let counts = CaseVerdict::ALL.map(|verdict| (passport.count(kernel, verdict), verdict.word()));
    let named = counts.iter().filter(|(count, _)| *count > 0);
    named.map(|(count, word)| format!("{count} {word}")).collect::<Vec<_>>().join(", ")
}

/// Time of the cases, and of the boots before them.
pub(crate) fn time(kernel: &PassportKernel) -> String {
    let boots: f64 = kernel.boots.iter().sum();
    let cases = format!("{:.0} s", kernel.seconds);
    if boots > 0.0 { format!("{cases}, {boots:.0} s to boot") } else { cases }
}

fn row(passport: &Passport, case: &PassportCase) -> RowView {
    let anchor = format!("{}-{}", case.controller, case.behaviour);
    let cells = passport.kernels.iter().enumerate().map(|(at, kernel)| {
        let result = case.results.get(&kernel.name);
        cell(&kernel.name, format!("{anchor}-{at}"), result)
    });
    RowView {
        name: case.name(),
        promise: case.promise.clone(),
        documented: case.documented.clone(),
        since: case.since(),
        cells: cells.collect(),
        anchor,
    }
}

fn cell(kernel: &str, anchor: String, result: Option<&CaseResult>) -> CellView {
    let (short, colour, mark) = match result.map(|result| result.verdict) {
        Some(CaseVerdict::Kept) => ("kept", "kept", "\u{2713}"),
        Some(CaseVerdict::Broken) => ("broken", "broken", "\u{2717}"),
        Some(CaseVerdict::Undecided) => ("undecided", "undecided", "?"),
        Some(CaseVerdict::Void) => ("void", "void", "\u{2205}"),
        Some(CaseVerdict::NotAvailable) => ("n/a", "void", "\u{2013}"),
        None => ("no result", "void", "\u{2026}"),
    };
    CellView {
        kernel: kernel.to_owned(),
        anchor,
        word: result.map_or("no result", |result| result.verdict.word()),
        short,
        colour,
        mark,
        reason: result.map(|result| result.reason.clone()).unwrap_or_default(),
        evidence: result.map(|result| result.evidence.clone()).unwrap_or_default(),
        file: result.map(|result| result.file.clone()).filter(|file| is_own(file)),
    }
}

/// Whether a link leads into the passport's folder. A document that somebody changed could name any address.
fn is_own(file: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "+-._/".contains(c);
    file.starts_with("kernels/") && !file.contains("..") && file.chars().all(plain)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeMap;

    use assay_verdict::CaseSpan;

    use super::*;

    pub(crate) fn passport(verdict: CaseVerdict, file: &str) -> Passport {
        let result = CaseResult {
            verdict,
            reason: "</script><b>evil".to_owned(),
            evidence: vec!["25.0 % of <i>it".to_owned()],
            seconds: 1.0,
            file: file.to_owned(),
        };
        let span = |release: &str| CaseSpan {
            layout: None,
            verdict,
            first: release.to_owned(),
            last: release.to_owned(),
        };
        Passport {
            schema: 1,
            assay: "0".to_owned(),
            started_at: "2026-11-26".to_owned(),
            kernels: vec![PassportKernel {
                name: "debian-6.1".to_owned(),
                release: Some("6.1.0-56-amd64".to_owned()),
                layout: Some("v2".to_owned()),
                build: None,
                machine: Some("QEMU".to_owned()),
                patience: Some(3.0),
                seconds: 12.0,
                boots: vec![30.4],
                missing: 1,
                lost: vec!["the guest <u>hung".to_owned()],
            }],
            cases: vec![PassportCase {
                controller: "cpu".to_owned(),
                behaviour: "a".to_owned(),
                promise: "It holds.".to_owned(),
                documented: "Documentation/".to_owned(),
                results: BTreeMap::from([("debian-6.1".to_owned(), result)]),
                history: vec![span("6.1.0-56-amd64")],
            }],
        }
    }

    #[test]
    fn every_cell_has_its_evidence_and_its_file_and_no_text_becomes_markup() {
        let page = html(&passport(CaseVerdict::Broken, "kernels/debian-6.1/001.json")).unwrap();
        let page = page.replace("&#x2f;", "/");
        assert!(page.contains("href=\"kernels/debian-6.1/001.json\""), "{page}");
        for text in
            ["25.0 % of &lt;i&gt;it", "broken in 6.1.0-56-amd64", "30 s to boot", "emulated"]
        {
            assert!(page.contains(text), "no {text}");
        }
        for markup in ["<b>evil", "<i>it", "<u>hung", "http:", "https:"] {
            assert!(!page.contains(markup), "{markup}");
        }
    }

    #[test]
    fn a_link_leads_nowhere_else() {
        for file in
            ["https://evil.test/x", "kernels/../../etc/passwd", "kernels/\" onclick", "/etc"]
        {
            let page = html(&passport(CaseVerdict::Kept, file)).unwrap();
            assert!(!page.contains("href=\"http") && !page.contains("passwd"), "{file}");
            assert!(!is_own(file), "{file}");
        }
    }
}
