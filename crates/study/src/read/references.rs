//! `[[references]]`: published numbers to show beside the results.

use super::cross_trial::levels;
use crate::key;
use crate::reader::{At, Reader};
use crate::section::Section;
use crate::syntax::Reference;

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
        value: section.number("value").unwrap_or(0.0),
        unit: text("unit").unwrap_or_default(),
        source: text("source").unwrap_or_default(),
        measure: text("measure"),
        group: text("group"),
        under: section.part(reader, "under", levels),
        to: section.part(reader, "to", levels),
    }
}
