//! Values of options: what is accepted, and what a refusal says.

use std::ops::RangeBounds;
use std::time::Duration;

use assay_sys::units::Percent;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// One of several names, each with its value and its line in the help.
pub(crate) fn one_of<T: Clone + Send + Sync + 'static>(
    choices: &'static [(&'static str, T, &'static str)],
) -> impl TypedValueParser<Value = T> {
    let values = choices.iter().map(|(name, _, help)| PossibleValue::new(*name).help(*help));
    PossibleValuesParser::new(values).try_map(move |text| {
        let chosen = choices.iter().find(|(name, ..)| *name == text);
        chosen.map(|(_, value, _)| value.clone()).ok_or("an unknown name")
    })
}

/// A duration in a range; `otherwise` says what is wrong with any other.
pub(crate) fn duration_in(
    text: &str,
    range: impl RangeBounds<Duration>,
    otherwise: &str,
) -> Result<Duration, String> {
    let duration = assay_sys::units::parse_duration(text).map_err(|error| error.to_string())?;
    if range.contains(&duration) { Ok(duration) } else { Err(otherwise.to_owned()) }
}

/// The length of a repeat.
pub(crate) fn repeat_length(text: &str) -> Result<Duration, String> {
    duration_in(text, Duration::from_secs(1).., "a repeat needs at least 1 s")
}

/// How long something is watched.
pub(crate) fn watching(text: &str) -> Result<Duration, String> {
    duration_in(text, Duration::from_secs(1).., "watching needs at least 1 s")
}

/// A number in a range; `otherwise` says what is expected.
pub(crate) fn number_in(
    text: &str,
    range: impl RangeBounds<f64>,
    otherwise: &str,
) -> Result<f64, String> {
    let number = text.trim().parse().ok().filter(|number| range.contains(number));
    number.ok_or_else(|| otherwise.to_owned())
}

/// How much longer than usual conformance cases may take.
pub(crate) fn patience(text: &str) -> Result<f64, String> {
    number_in(text, 0.1..=100.0, "expected a number from 0.1 to 100")
}

/// A margin as a fraction.
pub(crate) fn margin(text: &str) -> Result<f64, String> {
    let fraction = percent(text)?;
    match fraction > 0.0 && fraction <= 10.0 {
        true => Ok(fraction),
        false => Err("a margin must be above 0 % and at most 1000 %".to_owned()),
    }
}

/// A confidence as a fraction.
pub(crate) fn confidence(text: &str) -> Result<f64, String> {
    let fraction = percent(text)?;
    match (0.5..1.0).contains(&fraction) {
        true => Ok(fraction),
        false => Err("a confidence must be at least 50 % and below 100 %, e.g. 95 %".to_owned()),
    }
}

fn percent(text: &str) -> Result<f64, String> {
    text.parse::<Percent>().map(Percent::fraction).map_err(|error| error.to_string())
}
