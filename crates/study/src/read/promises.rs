//! `[[promises]]`: what should hold in single trials, and across trials by `ratio` and by `equal` over the levels of a
//! factor; and `[[references]]`: published numbers to show beside the results.

use std::time::Duration;

use assay_record::terms::{RefersTo, RelationKind};
use assay_sys::diagnostic::Diagnostic;
use assay_sys::units::Percent;

use super::design::DURATION;
use super::groups::unknown_knob;
use crate::reader::{At, Reader, not_a_quantity};
use crate::section::{Section, unknown_word};
use crate::syntax::{Bindings, Bound, Every, Pairs, Promise, Reference, Relation, Scalar};
use crate::template::Templated;
use crate::value::kind;
use crate::{code, key};

/// The default fraction of spans in which a promise must hold.
const DEFAULT_PART: f64 = 0.95;

/// Samples are taken every tenth of a second: a shorter span would hold only one.
const SHORTEST_SPAN: Duration = Duration::from_millis(200);

/// Larger margins are percentages without the sign.
const WIDEST_MARGIN: f64 = 1.0;

pub(crate) fn promises(reader: &mut Reader<'_>, list: &At<'_>) -> Vec<Promise> {
    let tables = super::tables(reader, list);
    tables.into_iter().map(|at| promise(reader, at)).collect()
}

fn promise(reader: &mut Reader<'_>, at: At<'_>) -> Promise {
    let section = &Section::open(reader, at, "the promise".to_owned(), key::PROMISE);
    Promise {
        measure: section.text("measure").unwrap_or_default().to_owned(),
        group: section.text("group").map(str::to_owned),
        under: under(reader, section),
        is: relation(reader, section),
        within: within(reader, section),
        every: every(reader, section),
    }
}

/// Only promises about single trials on shares or bounds can have spans.
fn every(reader: &mut Reader<'_>, section: &Section<'_>) -> Option<Every> {
    let spanless = matches!(kind_of(section), Some(RelationKind::Placed | RelationKind::Within));
    if is_cross_trial(section) || spanless {
        let why = "only shares and bounds in single trials have spans";
        section.misplaced(reader, "every", why, "remove `every`");
        return None;
    }
    if !section.has("every") {
        let why = "`in` is the fraction of the spans of `every`";
        section.misplaced(reader, "in", why, "add `every = \"1 s\"`, or remove `in`");
        return None;
    }
    let span = section.duration(reader, "every", DURATION)?;
    let part = match section.scalar("in") {
        Some(scalar) => percent(&scalar),
        None => Some(Percent::from_fraction(DEFAULT_PART)),
    };
    let fits = |part: &Percent| part.fraction() > 0.0 && part.fraction() <= 1.0;
    match part.filter(fits) {
        Some(part) if span >= SHORTEST_SPAN => Some(Every { span, part }),
        part => {
            let (name, message, expected) = match part {
                None => (
                    "in",
                    "`in` is not a valid fraction of the spans",
                    "expected more than `0 %` and up to `100 %`",
                ),
                Some(_) => ("every", "the spans are too short", "expected `200 ms` or more"),
            };
            let remedy = "write `every = \"1 s\"` and `in = \"95 %\"`";
            section.out_of_range(reader, name, message, expected, remedy);
            None
        }
    }
}

fn kind_of(section: &Section<'_>) -> Option<RelationKind> {
    RelationKind::parse(section.text("is")?)
}

fn is_cross_trial(section: &Section<'_>) -> bool {
    let refers_to = kind_of(section).map(|kind| kind.info().refers_to);
    refers_to == Some(RefersTo::Trials) || section.has("over")
}

/// The trials to which a promise about single trials applies.
fn under(reader: &mut Reader<'_>, section: &Section<'_>) -> Bindings {
    if is_cross_trial(section) {
        let why = "a cross-trial promise names the levels that it compares";
        section.misplaced(reader, "under", why, "remove `under`");
        return Bindings::new();
    }
    section.part(reader, "under", levels)
}

/// `equal` compares groups, or the levels of a factor.
fn relation(reader: &mut Reader<'_>, section: &Section<'_>) -> Relation {
    let word = section.text("is").unwrap_or_default();
    // Without a known relation, its keys are not known either.
    let Some(kind) = kind_of(section) else {
        if let Some(at) = section.get("is") {
            let finding =
                unknown_word(&section.subject("is"), word, key::RELATIONS, at.span.clone());
            reader.add(finding);
        }
        return Relation::InTrial { kind: RelationKind::Equal, to: None };
    };
    if kind == RelationKind::Equal && section.has("over") {
        return equal_over(reader, section);
    }
    let refers_to = kind.info().refers_to;
    if refers_to == RefersTo::Trials {
        return ratio(reader, section);
    }
    refuse_keys(reader, section, word);
    if matches!(refers_to, RefersTo::Nothing | RefersTo::Time) {
        misplaced(reader, section, "to", word);
    }
    if !matches!(refers_to, RefersTo::Bound | RefersTo::Time) {
        misplaced(reader, section, "value", word);
    }
    let to = match refers_to {
        RefersTo::Nothing | RefersTo::Trials => None,
        RefersTo::Knob => Some(Bound::Knob(knob(reader, section))),
        RefersTo::Bound => Some(bound(reader, section)),
        RefersTo::Time => section.templated(reader, "value").map(Bound::Value),
    };
    Relation::InTrial { kind, to }
}

fn misplaced(reader: &mut Reader<'_>, section: &Section<'_>, name: &str, word: &str) {
    let why = format!("`is = \"{word}\"` does not use it");
    section.misplaced(reader, name, &why, &format!("remove `{name}`, or change `is`"));
}

fn knob(reader: &mut Reader<'_>, section: &Section<'_>) -> String {
    if !section.has("to") {
        section.missing(reader, "to", "the knob that sets the shares, such as `io.weight`");
    }
    let name = section.text("to").unwrap_or_default();
    match section.get("to") {
        Some(at) if at.value.is_table() => reader.add(
            Diagnostic::error(
                code::WRONG_TYPE,
                format!("{} is {}", section.subject("to"), kind(at.value)),
            )
            .at(at.span.clone(), "expected the name of a knob")
            .hint("write `to = \"io.weight\"`, or `is = \"ratio\"` to compare levels of factors"),
        ),
        Some(at)
            if assay_host::knob::find(name).is_none()
                && assay_host::knob::host_setting(name).is_none() =>
        {
            reader.add(unknown_knob(name, at.span.clone()));
        }
        _ => {}
    }
    name.to_owned()
}

/// A knob of the group in `to`, or the same `value` for all groups.
fn bound(reader: &mut Reader<'_>, section: &Section<'_>) -> Bound {
    if section.has("to") {
        let why = "`to` names the knob that is the bound";
        section.misplaced(reader, "value", why, "remove `value`, or remove `to`");
        return Bound::Knob(knob(reader, section));
    }
    if !section.has("value") {
        let about = "the bound, such as \"10 MiB\" (or `to` with the knob that is the bound)";
        section.missing(reader, "value", about);
    }
    let value = section.templated(reader, "value");
    Bound::Value(value.unwrap_or(Templated::Value(Scalar::Integer(1))))
}

/// The margin of every relation except `ratio` and `within`, whose bounds are exact.
fn within(reader: &mut Reader<'_>, section: &Section<'_>) -> Percent {
    let kind = kind_of(section);
    if kind == Some(RelationKind::Ratio) {
        return Percent::from_fraction(0.0);
    }
    if kind == Some(RelationKind::Within) {
        let why = "the time of `is = \"within\"` is exact";
        section.misplaced(reader, "within", why, "write the time as `value`, without a margin");
        return Percent::from_fraction(0.0);
    }
    let known = kind.is_some() || section.text("is").is_none();
    if known && !section.has("within") {
        section.missing(reader, "within", "the margin, relative to the expected value");
    }
    let fallback = Percent::from_fraction(0.1);
    let (Some(at), Some(scalar)) = (section.get("within"), section.scalar("within")) else {
        return fallback;
    };
    let Some(margin) = percent(&scalar) else {
        let expected = "a percentage such as `10 %`, or a fraction such as `0.1`";
        reader.add(not_a_quantity("the margin", &scalar, expected, at.span.clone()));
        return fallback;
    };
    if margin.fraction() > 0.0 && margin.fraction() < WIDEST_MARGIN {
        return margin;
    }
    let message = match scalar {
        Scalar::Text(_) => format!("the margin is `{scalar}`"),
        _ => format!("the margin is `{scalar}`, which is {margin}"),
    };
    section.out_of_range(
        reader,
        "within",
        message,
        "expected more than 0 % and less than 100 %",
        "write a percentage such as \"10 %\": without the sign, 1 means the whole",
    );
    fallback
}

/// A percentage such as `10 %`, or a fraction such as `0.1`.
fn percent(scalar: &Scalar) -> Option<Percent> {
    match scalar {
        Scalar::Text(text) => text.parse().ok(),
        _ => scalar.number().map(Percent::from_fraction),
    }
}

/// Keys of cross-trial promises only.
const KEYS: [&str; 6] = ["of", "over", "pairs", "at_least", "at_most", "group"];

/// Reports keys that a promise about single trials cannot have.
fn refuse_keys(reader: &mut Reader<'_>, section: &Section<'_>, word: &str) {
    for name in KEYS {
        let why = format!("`is = \"{word}\"` applies to each trial by itself");
        let remedy = match name {
            "at_least" | "at_most" => format!("write `is = \"{name}\"` with the bound as `value`"),
            "over" | "pairs" => format!("write `is = \"equal\"`, or remove `{name}`"),
            _ => format!("write `is = \"ratio\"`, or remove `{name}`"),
        };
        section.misplaced(reader, name, &why, &remedy);
    }
}

/// `of = { .. }`, `to = { .. }`, and one bound or both.
pub(super) fn ratio(reader: &mut Reader<'_>, section: &Section<'_>) -> Relation {
    for name in ["over", "pairs", "value"] {
        let remedy = format!("remove `{name}`; bounds of a ratio are `at_least` and `at_most`");
        section.misplaced(reader, name, "`is = \"ratio\"` does not use it", &remedy);
    }
    let why = "the bounds of a ratio are exact";
    section.misplaced(reader, "within", why, "remove `within`, and write the exact bound");
    if !section.has("at_least") && !section.has("at_most") {
        let about = "the lower bound of the ratio, such as 1.1 (or `at_most`, or both)";
        section.missing(reader, "at_least", about);
    }
    Relation::Ratio {
        of: side(
            reader,
            section,
            "of",
            "the levels to divide, such as { memory = \"interleave\" }",
        ),
        to: side(reader, section, "to", "the levels to divide by, such as { memory = \"local\" }"),
        at_least: ratio_bound(reader, section, "at_least"),
        at_most: ratio_bound(reader, section, "at_most"),
    }
}

/// `over = "FACTOR"`.
fn equal_over(reader: &mut Reader<'_>, section: &Section<'_>) -> Relation {
    for name in ["of", "to", "value", "at_least", "at_most"] {
        let why = "`over` names the factor whose levels are compared";
        section.misplaced(reader, name, why, &format!("remove `{name}`, or remove `over`"));
    }
    let pairs = match section.word(reader, "pairs", key::PAIRS) {
        Some("first") => Pairs::First,
        _ => Pairs::All,
    };
    Relation::EqualOver { factor: section.text("over").unwrap_or_default().to_owned(), pairs }
}

fn side(reader: &mut Reader<'_>, section: &Section<'_>, name: &str, about: &str) -> Bindings {
    let Some(at) = section.get(name) else {
        if !section.has(name) {
            section.missing(reader, name, about);
        }
        return Bindings::new();
    };
    if !at.value.is_table() {
        let message = format!("{} is {}", section.subject(name), kind(at.value));
        reader.add(
            Diagnostic::error(code::WRONG_TYPE, message)
                .at(at.span.clone(), "expected a table of factors with a level each")
                .hint(format!("write `{name} = {{ FACTOR = LEVEL }}`")),
        );
        return Bindings::new();
    }
    levels(reader, at)
}

/// The levels of a table, by factor.
pub(super) fn levels(reader: &mut Reader<'_>, at: &At<'_>) -> Bindings {
    let entries = reader.entries(at);
    let mut levels = Bindings::new();
    for (factor, _, value) in entries {
        if let Some(level) = reader.scalar(&value, &format!("the level of `{factor}`")) {
            levels.insert(factor.to_owned(), level);
        }
    }
    levels
}

fn ratio_bound(reader: &mut Reader<'_>, section: &Section<'_>, name: &str) -> Option<f64> {
    let bound = section.number(name)?;
    if bound > 0.0 {
        return Some(bound);
    }
    section.out_of_range(
        reader,
        name,
        format!("the bound of the ratio is `{bound}`"),
        "expected more than 0",
        "write the bound as a number: 1 means equal, 1.1 means a tenth more",
    );
    None
}

pub(crate) fn references(reader: &mut Reader<'_>, list: &At<'_>) -> Vec<Reference> {
    let tables = super::tables(reader, list);
    tables.into_iter().map(|at| reference(reader, at)).collect()
}

fn reference(reader: &mut Reader<'_>, at: At<'_>) -> Reference {
    let section = Section::open(reader, at, "the reference".to_owned(), key::REFERENCE);
    let text = |name: &str| section.text(name).map(str::to_owned);
    Reference {
        what: text("what").unwrap_or_default(),
        value: section.number("value").unwrap_or(0.0),
        unit: text("unit").unwrap_or_default(),
        source: text("source").unwrap_or_default(),
        measure: text("measure"),
        group: text("group"),
        under: section.part(reader, "under", levels),
        to: section.part(reader, "to", levels),
    }
}
