//! The page in a real browser: every figure drawn, nothing asked for, nothing complained about,
//! and one span of seconds for all figures of a trial.

use assay_testbed::{browser, skip};

use crate::cases;
use crate::fixture::Run;

/// The page in Chromium; `None`, and counted, where there is none.
fn opened(run: &Run, test: &str, fragment: &str, width: u32) -> Option<browser::Opened> {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("report.html");
    std::fs::write(&page, assay_report::html(&run.manifest, &run.judgement, &run.samples).unwrap())
        .unwrap();
    match browser::open(&page, fragment, width) {
        Ok(seen) => Some(seen),
        Err(why) => {
            skip(test, &why);
            None
        }
    }
}

/// The figures with a place for a drawing: id and what stands in it.
fn figures(dom: &str) -> Vec<(&str, &str)> {
    let opened = dom.split("<figure id=\"").skip(1);
    opened
        .filter_map(|rest| {
            let (id, rest) = rest.split_once('"')?;
            let (inside, _) = rest.split_once("</figure>")?;
            inside.contains("class=\"chart").then_some((id, inside))
        })
        .collect()
}

/// The span of each time axis, as the drawing tells it to screen readers.
fn spans(dom: &str) -> Vec<&str> {
    let says = "seconds after the start' for a linear scale with values from ";
    dom.split(says).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

#[test]
fn draws_every_figure_without_a_network_and_without_a_complaint() {
    for (name, run) in
        [("kept", cases::kept()), ("large", cases::large()), ("across", cases::across())]
    {
        let Some(seen) = opened(&run, "draws_every_figure", "", 1400) else { return };
        let figures = figures(&seen.dom);
        assert!(figures.len() > 2, "{name}: {} figures", figures.len());
        for (id, inside) in figures {
            assert!(inside.contains("<svg"), "{name}: {id} was not drawn");
        }
        assert_eq!(seen.console, Vec::<String>::new(), "{name}");
        assert_eq!(seen.requests, Vec::<String>::new(), "{name}");
    }
}

#[test]
fn figures_over_time_share_the_span_that_the_address_names() {
    let run = cases::kept();
    let Some(whole) = opened(&run, "figures_over_time", "", 1400) else { return };
    let Some(part) = opened(&run, "figures_over_time", "#trial-1@3-7", 1400) else { return };
    assert!(spans(&whole.dom).len() > 2 && !spans(&whole.dom).contains(&"3 to 7"));
    assert_eq!(spans(&part.dom).len(), spans(&whole.dom).len());
    assert!(spans(&part.dom).iter().all(|span| *span == "3 to 7"), "{:?}", spans(&part.dom));
    assert!(part.dom.contains("class=\"span\""), "no numbers to choose it by");
}

#[test]
fn a_narrow_window_draws_the_same_figures() {
    let run = cases::broken();
    let Some(narrow) = opened(&run, "a_narrow_window", "", 360) else { return };
    assert!(figures(&narrow.dom).iter().all(|(_, inside)| inside.contains("<svg")));
    assert_eq!(narrow.console, Vec::<String>::new());
}
