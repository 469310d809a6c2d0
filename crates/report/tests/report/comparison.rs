//! Tests of the comparison page in a real browser, and of its text.

use assay_judge::compare::{Side, Terms, compare_runs};
use assay_judge::verdict::RunComparison;

use crate::browser::opened;
use crate::cases;

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
