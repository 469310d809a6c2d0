//! Tests of search results on the page and in the terminal.

use assay_cause::{Measured, NotTried, Outcome, SettingResult, Tuning};
use assay_judge::verdict::{Interval, Verdict};

use crate::cases;

fn measured(error: f64, rate: f64, verdict: Verdict) -> Measured {
    Measured {
        repeats: 3,
        window_s: 18.0,
        verdict,
        error: Some(Interval { value: error, low: error * 0.8, high: error * 1.2 }),
        rate: Some(rate),
        reason: "a reason".to_owned(),
    }
}

fn setting(name: &str, error: f64, rate: f64, verdict: Verdict) -> SettingResult {
    SettingResult {
        name: name.to_owned(),
        change: format!("`{name}`"),
        changes: 1,
        lines: vec![format!("queue = {{ \"{name}\" }}")],
        search: Some(measured(error * 1.1, rate, Verdict::Undecided)),
        left_out_after: None,
        confirmation: Some(measured(error, rate, verdict)),
        rate_ratio: Some(Interval { value: rate / 1e8, low: 0.9, high: 1.3 }),
        error_ratio: Some(Interval { value: error / 0.4, low: 0.01, high: 0.2 }),
    }
}

fn tuning() -> Tuning {
    let chosen = setting("nr_requests=1024", 0.02, 1.2e8, Verdict::Kept);
    Tuning {
        schema: 1,
        study: "io-weight".to_owned(),
        measure: "io.bytes".to_owned(),
        within: 0.1,
        outcome: Outcome::Found,
        chosen: Some(chosen.name.clone()),
        lines: chosen.lines.clone(),
        settings: vec![
            setting("unchanged", 0.4, 1e8, Verdict::Broken),
            chosen,
            SettingResult {
                confirmation: None,
                left_out_after: Some(1),
                ..setting("<slow>", 0.3, 0.2e8, Verdict::Broken)
            },
        ],
        not_tried: vec![NotTried {
            name: "scheduler=none".to_owned(),
            why: "it does not obey weights".to_owned(),
            for_time: false,
        }],
        ended_early: false,
        sentence: "With `nr_requests` = 1024 the study keeps the promise.".to_owned(),
    }
}

/// The page of a search including embedded code.
pub(crate) fn full_page() -> String {
    html(&tuning())
}

fn html(tuning: &Tuning) -> String {
    let run = cases::broken();
    assay_report::html(
        &run.manifest,
        &run.judgement,
        &run.samples,
        Some(assay_cause::tune::section(tuning)),
    )
}

fn page(tuning: &Tuning) -> String {
    html(tuning).split("<script data-library").next().unwrap().to_owned()
}

#[test]
fn search_page_begins_with_its_result() {
    let page = page(&tuning());
    for expected in [
        "id=\"tuning\"",
        "a setting was found",
        "queue = { &quot;nr_requests=1024&quot; }",
        "nr_requests=1024 (chosen)",
        "after rung 1",
        "scheduler=none",
    ] {
        assert!(page.contains(expected), "{expected} is missing");
    }
}

#[test]
fn other_run_pages_have_no_search() {
    let run = cases::broken();
    let page = assay_report::html(&run.manifest, &run.judgement, &run.samples, None);
    assert!(!page.contains("id=\"tuning\""));
}

#[test]
fn terminal_shows_settings_conclusion_and_lines_to_paste() {
    let text = assay_cause::tuning_text(&tuning(), 140);
    for expected in [
        "nr_requests=1024 (chosen)",
        "  unchanged",
        "error, fresh",
        "kept",
        "broken",
        "not tried: scheduler=none: it does not obey weights",
        "With `nr_requests` = 1024 the study keeps the promise.",
        "  queue = { \"nr_requests=1024\" }",
    ] {
        assert!(text.contains(expected), "{expected} is missing in\n{text}");
    }
    let narrow = assay_cause::tuning_text(&tuning(), 60);
    assert!(!narrow.contains("error, search") && narrow.contains("error, fresh"), "{narrow}");
}
