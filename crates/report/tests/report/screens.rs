//! What a reader sees without scrolling, in a real browser at three widths and in both colour schemes.

use assay_test_support::browser::{self, Scheme};
use assay_test_support::skip;
use serde_json::Value;

use crate::fixture::Run;
use crate::{cases, page};

/// The height of a laptop's screen.
const SCREEN: u64 = 900;

/// What `measured.js` found in the page of a run; `None` (and counted as skipped) without a browser.
fn measured(run: &Run, width: u32, scheme: Scheme) -> Option<Value> {
    let html = page::html(run);
    // The policy of the page forbids scripts that are not its own.
    let (before, after) = html.split_once("<meta http-equiv").unwrap();
    let (_, after) = after.split_once(">\n").unwrap();
    let html = format!("{before}{after}<script>{}</script>", include_str!("measured.js"));
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("report.html");
    std::fs::write(&page, html).unwrap();
    match browser::open_in(&page, "", width, scheme) {
        Ok(opened) => {
            let (_, found) = opened.dom.split_once("<pre id=\"measured\">").unwrap();
            let (found, _) = found.split_once("</pre>").unwrap();
            let found = found.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
            Some(serde_json::from_str(&found).unwrap())
        }
        Err(why) => {
            skip("what a reader sees of a report", &why);
            None
        }
    }
}

/// That nothing is cut off, and that colours differ enough from what is behind them (WCAG 2.1: 1.4.3 and 1.4.11).
fn assert_readable(found: &Value) {
    let at_least = |what: &str, least: f64| {
        assert!(found[what][0].as_f64().unwrap() >= least, "{what}: {found:#}");
    };
    at_least("drawn", 3.0);
    at_least("labels", 4.5);
    at_least("text", 4.5);
    assert!(found["colours"].as_u64().unwrap() >= 4, "{found:#}");
    assert!(found["overflow"].as_i64().unwrap() <= 0, "{found:#}");
    assert_eq!(found["clipped"], serde_json::json!([]), "{found:#}");
}

#[test]
fn a_passing_report_takes_two_and_a_half_screens() {
    for scheme in [Scheme::Light, Scheme::Dark] {
        let Some(found) = measured(&cases::kept(), 1400, scheme) else { return };
        assert!(found["height"].as_u64().unwrap() * 2 <= SCREEN * 5, "{found:#}");
        for what in ["verdict", "why", "next", "picture"] {
            assert!(found[what].as_u64().unwrap() <= SCREEN, "{what}: {found:#}");
        }
        assert_readable(&found);
    }
}

#[test]
fn a_broken_report_shows_cause_and_next_step_without_scrolling() {
    let alone = cases::broken_alone();
    let shown = [
        (&alone, 1400, Scheme::Light),
        (&alone, 768, Scheme::Dark),
        (&alone, 390, Scheme::Light),
        (&cases::broken(), 1400, Scheme::Dark),
        (&cases::broken(), 390, Scheme::Dark),
    ];
    for (run, width, scheme) in shown {
        let Some(found) = measured(run, width, scheme) else { return };
        for what in ["verdict", "why", "cause", "next"] {
            assert!(found[what].as_u64().unwrap() <= SCREEN, "{what} at {width}: {found:#}");
        }
        assert_readable(&found);
    }
}
