//! The list of runs and the page of a comparison in a real browser, and what they may not contain.

use assay_compare::{Side, Terms, compare_runs};
use assay_report::IndexEntry;
use assay_run_folder::{RunSummary, State, stamp};
use assay_test_support::{browser, skip};

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
    .unwrap()
}

pub(crate) fn comparison() -> String {
    let (a, b) = (cases::kept(), cases::broken());
    let side = |name, run| -> Side<'_> {
        let run: &crate::fixture::Run = run;
        Side { name, manifest: &run.manifest, samples: &run.samples }
    };
    let found = compare_runs(&side("first", &a), &side("second", &b), &Terms::default());
    assay_report::comparison_html(&found).unwrap()
}

/// A page after its scripts have run; `None`, and counted, where there is no browser.
fn opened(page: &str, test: &str) -> Option<browser::Opened> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("page.html");
    std::fs::write(&file, page).unwrap();
    match browser::open(&file, "", 1200) {
        Ok(seen) => Some(seen),
        Err(why) => {
            skip(test, &why);
            None
        }
    }
}

#[test]
fn the_list_of_runs_is_complete_and_its_filters_work_without_a_network() {
    let Some(seen) = opened(&index(), "the list of runs") else { return };
    assert_eq!(seen.console, Vec::<String>::new());
    assert_eq!(seen.requests, Vec::<String>::new());
    assert_eq!(seen.dom.matches("<tr data-verdict=").count(), 4);
    assert!(!seen.dom.contains("hidden=\"\""), "nothing is hidden at first");
    // The same page, in which somebody has looked for what only one run has.
    let words = "autocomplete=\"off\"";
    let looked = index().replace(words, &format!("{words} value=\"middle\""));
    let Some(seen) = opened(&looked, "the list of runs") else { return };
    assert_eq!(seen.dom.matches("hidden=\"\"").count(), 3);
    assert!(seen.dom.contains("1 of 4 shown"), "{}", seen.dom.len());
}

#[test]
fn a_comparison_draws_its_figures_without_a_network() {
    let Some(seen) = opened(&comparison(), "the page of a comparison") else { return };
    assert_eq!(seen.console, Vec::<String>::new());
    assert_eq!(seen.requests, Vec::<String>::new());
    for figure in seen.dom.split("<figure id=\"").skip(1) {
        let inside = figure.split("</figure>").next().unwrap();
        assert!(inside.contains("<svg") || inside.contains("not available: "), "not drawn");
    }
}

#[test]
fn neither_page_names_an_address_to_load_from() {
    for page in [index(), comparison()] {
        let written = page.split("<script data-library").next().unwrap();
        for attribute in [" src=", "@import", "url(", "<link", "<iframe"] {
            assert!(!written.contains(attribute), "{attribute}");
        }
        assert!(written.contains("default-src 'none'"));
    }
}

#[test]
fn a_comparison_reads_well_on_a_narrow_terminal() {
    let (a, b) = (cases::kept(), cases::broken());
    let side = |name, run| -> Side<'_> {
        let run: &crate::fixture::Run = run;
        Side { name, manifest: &run.manifest, samples: &run.samples }
    };
    let found = compare_runs(&side("first", &a), &side("second", &b), &Terms::default());
    for width in [40, 80, 120] {
        let text = assay_report::comparison_text(&found, width, false);
        assert!(text.contains("share of io.bytes") && text.contains("B/A"), "{text}");
        let longest = text.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(width < 80 || longest <= width, "{longest} columns:\n{text}");
    }
}
