//! The summary sentence of a search.

use assay_judge::verdict::wording::{margin, percent};
use assay_judge::verdict::{Interval, Verdict};

use super::assessment::is_work;
use super::{Measured, Outcome, SettingResult, Tuning};

pub(super) fn summary(found: &Tuning) -> String {
    let early = if found.ended_early { "The search was ended early. " } else { "" };
    let sentence =
        match (found.outcome, found.chosen.as_deref().and_then(|name| found.setting(name))) {
            (Outcome::Found, Some(chosen)) => chosen_sentence(found, chosen),
            (Outcome::NoneKeeps, _) => none_keeps(found),
            _ => undecided(found),
        };
    format!("{early}{sentence}")
}

fn chosen_sentence(found: &Tuning, chosen: &SettingResult) -> String {
    let confirmed = chosen.confirmation.as_ref();
    let kept = format!(
        "keeps the promise within {} ({}), by {} that were not used for the choice",
        margin(found.within),
        error(confirmed),
        repeats(confirmed)
    );
    if found.settings.first().is_some_and(|unchanged| unchanged.name == chosen.name) {
        let others = match is_work(&found.measure) {
            true => format!(
                "none of {} other settings that keep it was shown to be faster",
                found.settings.len() - 1
            ),
            false => format!(
                "whether another setting is faster is unknown, since more of {} is not more work",
                found.measure
            ),
        };
        return format!("The study as it is {kept}; {others}.");
    }
    let before = found.settings.first().and_then(|unchanged| unchanged.confirmation.as_ref());
    let was = before.map_or_else(String::new, |before| {
        format!(" The study as it is: {} ({}).", error(Some(before)), before.verdict.word())
    });
    format!(
        "With {} the study {kept}{}{}.{was}",
        chosen.change,
        fraction(", ", chosen.error_ratio, " of the error"),
        fraction(" and ", chosen.rate_ratio, " of the throughput of the study as it is")
    )
}

fn none_keeps(found: &Tuning) -> String {
    let nearest = nearest(found);
    let near = nearest.map_or_else(String::new, |(setting, data)| {
        format!(
            " {} comes nearest: {}{}.",
            capital(&setting.change),
            error(Some(data)),
            fraction(", ", setting.error_ratio, " of the error of the study as it is")
        )
    });
    format!(
        "None of {} settings that this host allows keeps the promise within {}: each is broken by \
         its own interval.{near}",
        found.settings.len(),
        margin(found.within)
    )
}

fn undecided(found: &Tuning) -> String {
    let near = nearest(found).map_or_else(
        || {
            let why = found.settings.first().and_then(SettingResult::best_data);
            let why = why.map_or_else(String::new, |data| format!(": {}", data.reason));
            format!(" No setting gave a valid number{why}.").replace("..", ".")
        },
        |(setting, data)| {
            format!(
                " {} looks best: {}, {} by {}.",
                capital(&setting.change),
                error(Some(data)),
                data.verdict.word(),
                repeats(Some(data))
            )
        },
    );
    let late = found.not_tried.iter().filter(|one| one.for_time).count();
    let late = match late {
        0 => String::new(),
        late => format!(" There was no time for {late} more."),
    };
    format!(
        "No setting was shown to keep the promise within {}, and not all of {} were shown to break \
         it.{near}{late} More time (`--for`) narrows the intervals.",
        margin(found.within),
        found.settings.len()
    )
}

/// The setting with the smallest valid error, of fresh data where there is any.
fn nearest(found: &Tuning) -> Option<(&SettingResult, &Measured)> {
    let fresh = found.settings.iter().any(|setting| setting.confirmation.is_some());
    found
        .settings
        .iter()
        .filter(|setting| !fresh || setting.confirmation.is_some())
        .filter_map(|setting| Some((setting, setting.best_data()?)))
        .filter(|(_, data)| data.verdict != Verdict::Void && data.error.is_some())
        .min_by(|(_, one), (_, other)| value(one).total_cmp(&value(other)))
}

fn value(data: &Measured) -> f64 {
    data.error.map_or(f64::INFINITY, |error| error.value)
}

fn error(data: Option<&Measured>) -> String {
    data.and_then(|data| data.error).map_or_else(
        || "no error could be measured".to_owned(),
        |error| {
            format!(
                "off by at most {}, interval {} to {}",
                percent(error.value),
                percent(error.low),
                percent(error.high)
            )
        },
    )
}

fn repeats(data: Option<&Measured>) -> String {
    match data.map_or(0, |data| data.repeats) {
        1 => "1 repeat".to_owned(),
        repeats => format!("{repeats} repeats"),
    }
}

fn fraction(before: &str, ratio: Option<Interval>, of: &str) -> String {
    ratio.map_or_else(String::new, |ratio| {
        format!(
            "{before}{}{of} ({} to {})",
            percent(ratio.value),
            percent(ratio.low),
            percent(ratio.high)
        )
    })
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
