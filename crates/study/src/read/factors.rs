//! `[factors]`: what varies.

use std::mem::discriminant;

use assay_diagnostic::Diagnostic;

use super::names;
use crate::code;
use crate::reader::{At, Reader};
use crate::syntax::{Factor, Scalar};
use crate::value::kind;

pub(crate) fn read(reader: &mut Reader<'_>, table: &At<'_>) -> Vec<Factor> {
    let mut factors = vec![];
    for (name, key_span, list) in reader.entries(table) {
        names::part(reader, "factor", name, key_span);
        let values = levels(reader, name, &list);
        factors.push(Factor { name: name.to_owned(), values });
    }
    factors
}

fn levels(reader: &mut Reader<'_>, name: &str, list: &At<'_>) -> Vec<Scalar> {
    if !list.value.is_array() {
        reader.add(
            Diagnostic::error(
                code::WRONG_TYPE,
                format!("the factor `{name}` is {}", kind(list.value)),
            )
            .at(list.span.clone(), "expected a list of values")
            .hint(format!("write `{name} = [...]`, with one value or more")),
        );
        return vec![];
    }
    let elements = reader.elements(list);
    let what = format!("a value of the factor `{name}`");
    let values: Vec<Scalar> =
        elements.iter().filter_map(|element| reader.scalar(element, &what)).collect();
    if values.len() == elements.len() {
        let mistake = mistake_in_levels(name, &values);
        reader.findings.extend(mistake.map(|mistake| {
            let span = mistake.index.map_or(&list.span, |index| &elements[index].span);
            mistake.diagnostic(span.clone())
        }));
    }
    values
}

/// An invalid list of levels.
pub(crate) struct LevelMistake {
    code: &'static str,
    message: String,
    expected: &'static str,
    remedy: &'static str,
    /// The index of the value in question; `None` for the whole list.
    index: Option<usize>,
}

impl LevelMistake {
    fn diagnostic(self, span: std::ops::Range<usize>) -> Diagnostic {
        Diagnostic::error(self.code, self.message).at(span, self.expected).hint(self.remedy)
    }

    /// The mistake without a location, for values from the command line.
    pub(crate) fn without_location(self) -> Diagnostic {
        Diagnostic::error(self.code, self.message).hint(self.remedy)
    }
}

/// The first mistake in the levels of a factor.
pub(crate) fn mistake_in_levels(name: &str, values: &[Scalar]) -> Option<LevelMistake> {
    let Some(first) = values.first() else {
        return Some(LevelMistake {
            code: code::EMPTY_LIST,
            message: format!("the factor `{name}` has no values"),
            expected: "expected at least one value",
            remedy: "list the values of the factor, or remove it",
            index: None,
        });
    };
    let other_type = values.iter().position(|value| discriminant(value) != discriminant(first));
    if let Some(index) = other_type {
        return Some(LevelMistake {
            code: code::MIXED_LIST,
            message: format!("the values of the factor `{name}` are of different types"),
            expected: "expected the type of the first value",
            remedy: "write all of them as numbers, or all of them as texts",
            index: Some(index),
        });
    }
    let repeated = (1..values.len()).find(|index| values[..*index].contains(&values[*index]));
    repeated.map(|index| LevelMistake {
        code: code::REPEATED_VALUE,
        message: format!("the factor `{name}` has the value `{}` twice", values[index]),
        expected: "expected each value once",
        remedy: "remove it; `repeats` in [design] runs a combination more often",
        index: Some(index),
    })
}
