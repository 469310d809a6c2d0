//! Cross-trial promises: `ratio`, and `equal` over the levels of a factor.

use assay_diagnostic::Diagnostic;

use crate::code;
use crate::key;
use crate::reader::{At, Reader};
use crate::section::Section;
use crate::syntax::{Bindings, Pairs, Relation};
use crate::value::kind;

/// Keys of cross-trial promises only.
const KEYS: [&str; 6] = ["of", "over", "pairs", "at_least", "at_most", "group"];

/// Reports keys that a promise about single trials cannot have.
pub(super) fn refuse_keys(reader: &mut Reader<'_>, section: &Section<'_>, word: &str) {
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
        at_least: bound(reader, section, "at_least"),
        at_most: bound(reader, section, "at_most"),
    }
}

/// `over = "FACTOR"`.
pub(super) fn equal_over(reader: &mut Reader<'_>, section: &Section<'_>) -> Relation {
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

fn bound(reader: &mut Reader<'_>, section: &Section<'_>, name: &str) -> Option<f64> {
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
