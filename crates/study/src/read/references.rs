//! `[[references]]`: published numbers to show beside the results.

use super::cross_trial::levels;
use crate::key;
use crate::reader::{At, Reader};
use crate::section::Section;
use crate::syntax::{Bindings, Reference, Scalar};

pub(crate) fn read(reader: &mut Reader<'_>, list: &At<'_>) -> Vec<Reference> {
    let mut references = vec![];
    for at in reader.elements(list) {
        if super::is_table(reader, &at, "an element of `references`") {
            let section = Section::open(reader, at, "the reference".to_owned(), key::REFERENCE);
            references.push(reference(reader, &section));
        }
    }
    references
}

fn reference(reader: &mut Reader<'_>, section: &Section<'_>) -> Reference {
    let text = |name: &str| section.text(name).map(str::to_owned);
    Reference {
        what: text("what").unwrap_or_default(),
        value: match section.scalar("value") {
            Some(Scalar::Integer(number)) => number as f64,
            Some(Scalar::Float(number)) => number,
            _ => 0.0,
        },
        unit: text("unit").unwrap_or_default(),
        source: text("source").unwrap_or_default(),
        measure: text("measure"),
        group: text("group"),
        under: section.get("under").map_or_else(Bindings::new, |at| levels(reader, at)),
        to: section.get("to").map_or_else(Bindings::new, |at| levels(reader, at)),
    }
}
