//! Tests of the page in a real browser: every figure is drawn, no requests, no console messages,
//! and one time span for all figures of a trial.

use assay_record::run_folder::Recording;
use assay_test_support::{browser, skip};

use crate::fixture::Run;
use crate::{cases, tuning};

/// The page with all that is folded opened, so that every figure is drawn.
fn html(run: &Run) -> String {
    unfolded(&crate::page::html(run))
}

pub(crate) fn unfolded(page: &str) -> String {
    let (page, code) = page.split_at(page.find("<script data-library").unwrap_or(page.len()));
    page.replace("<details>", "<details open>") + code
}

/// The page in Chromium; `None` (and counted as skipped) without it.
pub(crate) fn opened(
    html: &str,
    test: &str,
    fragment: &str,
    width: u32,
) -> Option<browser::Opened> {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("report.html");
    std::fs::write(&page, html).unwrap();
    match browser::open(&page, fragment, width) {
        Ok(page_in_browser) => Some(page_in_browser),
        Err(why) => {
            skip(test, &why);
            None
        }
    }
}

/// The figures with a chart element: id and content.
pub(crate) fn figures(dom: &str) -> Vec<(&str, &str)> {
    let opened = dom.split("<figure id=\"").skip(1);
    opened
        .filter_map(|rest| {
            let (id, rest) = rest.split_once('"')?;
            let (inside, _) = rest.split_once("</figure>")?;
            inside.contains("class=\"chart").then_some((id, inside))
        })
        .collect()
}

/// The span of each time axis, from its description for screen readers.
fn spans(dom: &str) -> Vec<&str> {
    let description = "seconds after the start' for a linear scale with values from ";
    dom.split(description).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

#[test]
fn page_draws_every_figure_offline_without_console_messages() {
    let pages = [
        ("kept", 3, html(&cases::kept())),
        ("phases", 3, html(&cases::with_phases())),
        ("large", 3, html(&cases::large())),
        ("across", 3, html(&cases::across())),
        ("recording", 1, recording()),
        ("tuning", 3, unfolded(&tuning::full_page())),
    ];
    for (name, least, page) in pages {
        let Some(page_in_browser) = opened(&page, "draws_every_figure", "", 1400) else { return };
        let figures = figures(&page_in_browser.dom);
        assert!(figures.len() >= least, "{name}: {} figures", figures.len());
        for (id, inside) in &figures {
            assert!(inside.contains("<svg"), "{name}: {id} was not drawn");
        }
        assert_eq!(page_in_browser.console, Vec::<String>::new(), "{name}");
        assert_eq!(page_in_browser.requests, Vec::<String>::new(), "{name}");
        match name {
            "kept" => {
                assert_menus(&figures);
                assert_described(&figures, &page_in_browser.dom);
                assert_span_of_the_url(&page, &page_in_browser.dom);
            }
            "phases" => assert_phases(&figures),
            _ => {}
        }
    }
}

/// The menu of a figure saves it, and opens no window.
fn assert_menus(figures: &[(&str, &str)]) {
    for (id, inside) in figures {
        for entry in ["Save as SVG", "Save as PNG", "Save as Vega-Lite"] {
            assert_eq!(inside.matches(entry).count(), 1, "{id}: {entry}");
        }
        assert!(!inside.contains("View Source"), "{id}");
    }
}

/// Figures have a title and a description for screen readers.
fn assert_described(figures: &[(&str, &str)], dom: &str) {
    for (id, inside) in figures {
        for part in ["aria-labelledby=\"ID-title\"", "id=\"ID-title\">"] {
            assert!(inside.contains(&part.replace("ID", id)), "{id}: no {part}");
        }
        assert!(inside.contains(&format!("<figcaption id=\"{id}-reading\">")), "{id}");
        // The drawing describes its axes, which an image role would hide.
        assert!(inside.contains("role=\"graphics-") && !inside.contains("role=\"img\""), "{id}");
    }
    assert!(dom.contains("href=\"#content\"") && dom.contains("<main id=\"content\">"));
}

/// Phases are shown in every figure over time.
fn assert_phases(figures: &[(&str, &str)]) {
    let over_time: Vec<_> =
        figures.iter().filter(|(_, inside)| !spans(inside).is_empty()).collect();
    assert!(over_time.len() > 2, "{} figures over time", over_time.len());
    for (id, inside) in over_time {
        assert!(inside.contains(">fill</text>") && inside.contains(">warm</text>"), "{id}");
    }
}

/// Figures over time share the span in the URL.
fn assert_span_of_the_url(page: &str, whole: &str) {
    let Some(part) = opened(page, "a span in the URL", "#trial-1@3-7", 1400) else { return };
    assert!(spans(whole).len() > 2 && !spans(whole).contains(&"3 to 7"));
    assert_eq!(spans(&part.dom).len(), spans(whole).len());
    assert!(spans(&part.dom).iter().all(|span| *span == "3 to 7"), "{:?}", spans(&part.dom));
    assert!(part.dom.contains("class=\"span\""), "no inputs to choose it");
}

/// The recording that `assay record` would make of the same samples.
pub(crate) fn recording() -> String {
    let mut run = cases::kept();
    run.manifest.recording = Some(Recording {
        kind: "group".to_owned(),
        of: "/assay/task1".to_owned(),
        pid: None,
        ended: None,
        log: None,
    });
    assay_report::recording_html(&run.manifest, &run.samples).unwrap()
}

#[test]
fn fleet_page_draws_every_figure_offline_without_console_messages() {
    let page = assay_report::fleet_html(&cases::fleet());
    let Some(page_in_browser) = opened(&page, "the page of a fleet", "", 1400) else { return };
    let figures = figures(&page_in_browser.dom);
    assert_eq!(figures.len(), 2, "one for each trial");
    for (id, inside) in figures {
        assert!(inside.contains("<svg"), "{id} was not drawn");
        for host in ["node1", "node2", "node3"] {
            assert!(inside.contains(host), "{id} does not show {host}");
        }
    }
    assert_eq!(page_in_browser.console, Vec::<String>::new());
    assert_eq!(page_in_browser.requests, Vec::<String>::new());
}

#[test]
fn narrow_window_draws_the_same_figures() {
    let run = html(&cases::broken());
    let Some(narrow) = opened(&run, "a_narrow_window", "", 360) else { return };
    assert!(figures(&narrow.dom).iter().all(|(_, inside)| inside.contains("<svg")));
    assert_eq!(narrow.console, Vec::<String>::new());
}
