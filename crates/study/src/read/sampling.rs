//! `[sampling]`: optional sources, the sampling interval, and evidence from inside the kernel.

use std::time::Duration;

use assay_diagnostic::Diagnostic;

use crate::code;
use crate::key;
use crate::reader::{At, Reader};
use crate::section::{Section, unknown_word};
use crate::syntax::Sampling;

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
    sampling.evidence = section.boolean("evidence").unwrap_or_default();
    sampling
}

fn sources(reader: &mut Reader<'_>, at: &At<'_>, what: &str) -> Vec<String> {
    let expected = "expected the name of a source";
    let remedy = "write the name in quotes, such as \"threads\"";
    let mut sources: Vec<String> = vec![];
    for (name, element) in reader.texts(at, what, expected, remedy) {
        if !key::SAMPLED.contains(&name) {
            reader.add(unknown_word(what, name, key::SAMPLED, element.span));
        } else if sources.iter().any(|other| other == name) {
            reader.add(
                Diagnostic::error(code::REPEATED_VALUE, format!("{what} names `{name}` twice"))
                    .at(element.span, "expected each source once")
                    .hint("remove one of the two"),
            );
        } else {
            sources.push(name.to_owned());
        }
    }
    sources
}

fn interval(reader: &mut Reader<'_>, section: &Section<'_>) -> Option<Duration> {
    let expected = "a duration with its unit, such as `100 ms`";
    let interval = section.duration(reader, "interval", expected)?;
    if !INTERVALS.contains(&interval) {
        let text = section.text("interval").unwrap_or_default();
        section.out_of_range(
            reader,
            "interval",
            format!("{} is `{text}`", section.subject("interval")),
            "expected 10 ms to 1 s",
            "write `100 ms`, or more for very many groups",
        );
        return None;
    }
    Some(interval)
}
