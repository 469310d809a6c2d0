//! A search for the best setting.

use assay_judge::verdict::Interval;
use assay_report::number::Unit;
use assay_report::{number, wording};
use assay_sys::escape::page::{PAGE, Paint, Rows, Section, Table, Tag, Tone, joined};

use crate::{Measured, Outcome, SettingResult, Tuning};

/// The result of a search for the best setting, for a terminal of `width` columns.
#[must_use]
pub fn text(tuning: &Tuning, width: usize) -> String {
    joined(
        &section(tuning)
            .lines(width.max(assay_sys::escape::page::MIN_WIDTH), Paint { color: false })[1..],
    )
}

/// The section of a search: the conclusion, the lines to paste, the settings, and those not tried.
#[must_use]
pub fn section(tuning: &Tuning) -> Section {
    let tag = match tuning.outcome {
        Outcome::Found => Tag::new(Tone::Good, "\u{2713}", "a setting was found"),
        Outcome::NoneKeeps => Tag::new(Tone::Bad, "\u{2717}", "no setting keeps the promise"),
        Outcome::Undecided => Tag::new(Tone::Open, "?", "undecided"),
    };
    Section::new("tuning", "Best setting", |page| {
        page.styled("reason", &tuning.sentence);
        if !tuning.lines.is_empty() {
            page.text("To use it, add to the study:");
            page.code(tuning.lines.join("\n"));
        }
        page.table(settings(tuning));
        page.on_page(|page| {
            page.styled(
                "reading",
                "The search picks the best of many settings, which favours lucky ones. The confirmation ran afterwards, \
                 interleaved with the unchanged study, and alone shows what a setting keeps.",
            );
        });
        let (skipped, not_tried): (Vec<_>, Vec<_>) = tuning.not_tried.iter().partition(|one| one.for_time);
        for one in not_tried {
            page.text(format!("not tried: {}: {}", one.name, one.why));
        }
        if !skipped.is_empty() {
            let names: Vec<&str> = skipped.iter().map(|one| one.name.as_str()).collect();
            page.text(format!("no time for {}", names.join(", ")));
        }
    })
    .tagged(tag)
}

fn settings(tuning: &Tuning) -> Table {
    let rates = tuning.settings.iter().filter_map(|one| one.best_data()?.rate);
    let unit = Unit::for_rate(&tuning.measure, rates.fold(0.0, f64::max));
    let error = |data: Option<&Measured>| {
        number::or_none(data.and_then(|data| data.error), wording::error_interval)
    };
    let rate = |data: Option<&Measured>| {
        number::or_none(data.and_then(|data| data.rate), |rate| unit.number(rate))
    };
    let repeats = |data: Option<&Measured>| number::or_none(data, |data| data.repeats.to_string());
    let ratio = |ratio: Option<Interval>| {
        number::or_none(ratio, |one| {
            let [value, low, high] = [one.value, one.low, one.high].map(number::three);
            format!("{value} ({low} to {high})")
        })
    };
    let name = |one: &SettingResult| {
        let chosen = if tuning.chosen.as_deref() == Some(&one.name) { " (chosen)" } else { "" };
        format!("{}{chosen}", one.name)
    };
    let eliminated = |one: &SettingResult| {
        one.left_out_after.map_or_else(String::new, |rung| format!("after rung {rung}"))
    };
    Rows::new(&tuning.settings)
        .left("setting", 0, name)
        .right("repeats of the search", PAGE, |one| repeats(one.search.as_ref()))
        .right("error, search", 2, |one| error(one.search.as_ref()))
        .right(("total, search", unit.label), PAGE, |one| rate(one.search.as_ref()))
        .right("fresh repeats", PAGE, |one| repeats(one.confirmation.as_ref()))
        .right("error, fresh", 0, |one| error(one.confirmation.as_ref()))
        .right(("total", unit.label), 1, |one| rate(one.best_data()))
        .right("total, times that of the study", PAGE, |one| ratio(one.rate_ratio))
        .right("error, times that of the study", PAGE, |one| ratio(one.error_ratio))
        .right("vs unchanged", 3, |one| {
            number::or_none(one.rate_ratio, |ratio| number::three(ratio.value))
        })
        .left("eliminated", PAGE, eliminated)
        .left("verdict", 0, |one| {
            wording::tag(
                one.best_data().map_or(assay_judge::verdict::Verdict::Void, |data| data.verdict),
            )
        })
        .into()
}
