//! `[sampling]`: optional sources, and the sampling interval.

use std::time::Duration;

use assay_diagnostic::Diagnostic;
use assay_units::parse_duration;

use crate::code;
use crate::key;
use crate::reader::{At, Reader, not_a_quantity};
use crate::section::{Section, unknown_word};
use crate::syntax::{Sampling, Scalar};
use crate::value::kind;

/// With a shorter interval the rounds of a hundred groups would overlap; with a longer one a window
/// of some seconds would hold too few samples.
const INTERVALS: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(10)..=Duration::from_secs(1);

pub(crate) fn read(reader: &mut Reader<'_>, at: Option<&At<'_>>) -> Sampling {
    let mut sampling = Sampling::default();
    let Some(at) = at else { return sampling };
    let section = Section::open(reader, at.clone(), "[sampling]".to_owned(), key::SAMPLING);
    if let Some(at) = section.get("sources") {
        sampling.sources = sources(reader, at, &section.subject("sources"));
    }
    if let Some(interval) = interval(reader, &section) {
        sampling.interval = interval;
    }
    sampling
}

fn sources(reader: &mut Reader<'_>, at: &At<'_>, what: &str) -> Vec<String> {
    let elements = match at.value.as_str() {
        Some(_) => vec![at.clone()],
        None => reader.elements(at),
    };
    let mut sources: Vec<String> = vec![];
    for element in elements {
        match element.value.as_str() {
            Some(name) if !key::SAMPLED.contains(&name) => {
                reader.add(unknown_word(what, name, key::SAMPLED, element.span));
            }
            Some(name) if sources.iter().any(|other| other == name) => reader.add(
                Diagnostic::error(code::REPEATED_VALUE, format!("{what} names `{name}` twice"))
                    .at(element.span, "expected each source once")
                    .hint("remove one of the two"),
            ),
            Some(name) => sources.push(name.to_owned()),
            None => reader.add(
                Diagnostic::error(
                    code::WRONG_TYPE,
                    format!("an element of {what} is {}", kind(element.value)),
                )
                .at(element.span, "expected the name of a source")
                .hint("write the name in quotes, such as \"threads\""),
            ),
        }
    }
    sources
}

fn interval(reader: &mut Reader<'_>, section: &Section<'_>) -> Option<Duration> {
    let at = section.get("interval")?;
    let text = at.value.as_str()?;
    let what = section.subject("interval");
    let Ok(interval) = parse_duration(text) else {
        let expected = "a duration with its unit, such as `100 ms`";
        let scalar = Scalar::Text(text.to_owned());
        reader.add(not_a_quantity(&what, &scalar, expected, at.span.clone()));
        return None;
    };
    if !INTERVALS.contains(&interval) {
        reader.add(
            Diagnostic::error(code::OUT_OF_RANGE, format!("{what} is `{text}`"))
                .at(at.span.clone(), "expected 10 ms to 1 s")
                .hint("write `100 ms`, or more for very many groups"),
        );
        return None;
    }
    Some(interval)
}
