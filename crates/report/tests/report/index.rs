//! Tests of the list of runs and the comparison page in a real browser, and of what they must not
//! contain.

use assay_judge::compare::{Side, Terms, compare_runs};
use assay_judge::verdict::RunComparison;
use assay_record::run_folder::{RunSummary, State, stamp};
use assay_report::IndexEntry;

use crate::browser::opened;
use crate::cases;

fn entry(name: &str, state: State, verdict: Option<&str>) -> IndexEntry {
    IndexEntry {
        name: name.to_owned(),
        link: name.to_owned(),
        stamp: stamp(std::path::Path::new("no such folder")),
        summary: RunSummary {
            state,
            study: "io-weight".to_owned(),
            title: "I/O weights".to_owned(),
            started_at: format!("2026-01-0{}T00:00:00Z", name.len()),
            host: "bench".to_owned(),
            kernel: "6.1".to_owned(),
            guest: false,
            seconds: Some(20.0),
            trials: 1,
            repeats: 3,
            verdict: verdict.map(str::to_owned),
            report: true,
        },
    }
}

pub(crate) fn index() -> String {
    let unreadable = State::Unreadable("manifest.json ends in the middle".to_owned());
    assay_report::index_html(&[
        entry("a", State::Whole, Some("kept")),
        entry("bb", State::Whole, Some("broken")),
        entry("ccc", State::Unfinished, None),
        entry("dddd", unreadable, None),
    ])
}

fn compared() -> RunComparison {
    let (a, b) = (cases::kept(), cases::broken());
    let side = |name, run| -> Side<'_> {
        let run: &crate::fixture::Run = run;
        Side { name, manifest: &run.manifest, samples: &run.samples }
    };
    compare_runs(&side("first", &a), &side("second", &b), &Terms::default())
}

pub(crate) fn comparison() -> String {
    assay_report::comparison_html(&compared())
}

#[test]
fn list_of_runs_is_complete_and_its_filters_work_offline() {
    let Some(page) = opened(&index(), "the list of runs", "", 1200) else { return };
    assert_eq!(page.console, Vec::<String>::new());
    assert_eq!(page.requests, Vec::<String>::new());
    assert_eq!(page.dom.matches("<tr data-verdict=").count(), 4);
    assert!(!page.dom.contains("hidden=\"\""), "nothing is hidden at first");
    // The same page with a search for a word that only one run has.
    let words = "autocomplete=\"off\"";
    let searched = index().replace(words, &format!("{words} value=\"middle\""));
    let Some(page) = opened(&searched, "the list of runs", "", 1200) else { return };
    assert_eq!(page.dom.matches("hidden=\"\"").count(), 3);
    assert!(page.dom.contains("1 of 4 shown"), "{}", page.dom.len());
}

#[test]
fn comparison_draws_its_figures_offline() {
    let Some(page) = opened(&comparison(), "the page of a comparison", "", 1200) else { return };
    assert_eq!(page.console, Vec::<String>::new());
    assert_eq!(page.requests, Vec::<String>::new());
    for figure in page.dom.split("<figure id=\"").skip(1) {
        let inside = figure.split("</figure>").next().unwrap();
        assert!(inside.contains("<svg") || inside.contains("not available: "), "not drawn");
    }
}

#[test]
fn comparison_fits_a_narrow_terminal() {
    let compared = compared();
    for width in [40, 80, 120] {
        let text = assay_report::comparison_text(&compared, width, false);
        assert!(text.contains("share of io.bytes") && text.contains("B/A"), "{text}");
        let longest = text.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(width < 80 || longest <= width, "{longest} columns:\n{text}");
    }
}
