//! A table of the file, restricted to its known keys.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use assay_sys::closest;
use assay_sys::diagnostic::Diagnostic;
use assay_sys::units::parse_duration;
use toml::de::DeValue;

use crate::code;
use crate::key::{Key, Shape};
use crate::reader::{At, Reader, did_you_mean, not_a_quantity, quoted, word_hint};
use crate::syntax::Scalar;
use crate::template::{FromScalar, Templated};
use crate::value::{kind, scalar};

/// The entries of one table that have a known key and a value of the right type.
pub(crate) struct Section<'d> {
    pub(crate) at: At<'d>,
    what: String,
    entries: BTreeMap<&'static str, At<'d>>,
    key_spans: BTreeMap<&'static str, Range<usize>>,
}

impl<'d> Section<'d> {
    /// Opens the table at this location; `what` names it in messages, such as "the disk `scratch`".
    pub(crate) fn open(
        reader: &mut Reader<'_>,
        at: At<'d>,
        what: String,
        keys: &'static [Key],
    ) -> Self {
        let mut section = Self { at, what, entries: BTreeMap::new(), key_spans: BTreeMap::new() };
        let entries = reader.entries(&section.at);
        let present: Vec<&str> = entries.iter().map(|(name, _, _)| *name).collect();
        for (name, key_span, value) in entries {
            let meant = keys
                .iter()
                .find(|key| key.name == name)
                .or_else(|| section.unknown_key(reader, name, key_span.clone(), keys, &present));
            if let Some(key) = meant {
                section.insert(reader, key, key_span, value);
            }
        }
        section.report_missing(reader, keys);
        section
    }

    /// Reports the key and returns the one that was probably meant: its value is then checked as if
    /// it had been spelt right, so that one slip gives one mistake.
    fn unknown_key(
        &self,
        reader: &mut Reader<'_>,
        name: &str,
        span: Range<usize>,
        keys: &'static [Key],
        present: &[&str],
    ) -> Option<&'static Key> {
        let absent = || keys.iter().filter(|key| !present.contains(&key.name));
        let meant = closest(name, absent().map(|key| key.name));
        let hint = did_you_mean(name, meant, || {
            let names: Vec<&str> = keys.iter().map(|key| key.name).collect();
            format!("the keys here are {}", quoted(&names))
        });
        reader.add(
            Diagnostic::error(code::UNKNOWN_KEY, format!("unknown key `{name}` in {}", self.what))
                .at(span, "expected a key that this table has")
                .hint(hint),
        );
        absent().find(|key| Some(key.name) == meant && !self.entries.contains_key(key.name))
    }

    fn insert(
        &mut self,
        reader: &mut Reader<'_>,
        key: &Key,
        key_span: Range<usize>,
        value: At<'d>,
    ) {
        // A key that is present with a wrong value is not reported as missing too.
        self.key_spans.insert(key.name, key_span.clone());
        match key.shape {
            shape if shape.accepts(value.value) => {
                self.entries.insert(key.name, value);
            }
            Shape::List(_) if value.value.is_table() => {
                reader.add(single_brackets(key.name, key_span));
                self.entries.insert(key.name, value);
            }
            shape => {
                reader.lost_a_part |= shape.holds_parts();
                let message = format!("`{}` of {} is {}", key.name, self.what, kind(value.value));
                let expected = shape.expected();
                reader.add(
                    Diagnostic::error(code::WRONG_TYPE, message)
                        .at(value.span, format!("expected {expected}"))
                        .hint(format!("write {expected}")),
                );
            }
        }
    }

    fn report_missing(&self, reader: &mut Reader<'_>, keys: &'static [Key]) {
        for key in keys.iter().filter(|key| key.required && !self.has(key.name)) {
            self.missing(reader, key.name, key.about);
        }
    }

    /// Reports that `name` is missing here.
    pub(crate) fn missing(&self, reader: &mut Reader<'_>, name: &str, about: &str) {
        reader.add(
            Diagnostic::error(code::MISSING_KEY, format!("{} has no `{name}`", self.what))
                .at(self.at.span.clone(), format!("expected `{name}`: {about}"))
                .hint(format!("add `{name} = ...`")),
        );
    }

    /// Reports a key that has no meaning beside the others of this table.
    pub(crate) fn misplaced(&self, reader: &mut Reader<'_>, name: &str, why: &str, remedy: &str) {
        let Some(span) = self.key_spans.get(name) else { return };
        reader.add(
            Diagnostic::error(
                code::MISPLACED_KEY,
                format!("`{name}` has no meaning in {}: {why}", self.what),
            )
            .at(span.clone(), "expected another key, or none")
            .hint(remedy.to_owned()),
        );
    }

    /// Reports that the value of the key is outside its range.
    pub(crate) fn out_of_range(
        &self,
        reader: &mut Reader<'_>,
        name: &str,
        message: impl Into<String>,
        expected: &str,
        remedy: &str,
    ) {
        let Some(at) = self.get(name) else { return };
        reader.add(
            Diagnostic::error(code::OUT_OF_RANGE, message)
                .at(at.span.clone(), expected)
                .hint(remedy),
        );
    }

    /// Whether the key is present, with any value.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.key_spans.contains_key(name)
    }

    /// The value of the key, if it is present and of the right type.
    pub(crate) fn get(&self, name: &str) -> Option<&At<'d>> {
        self.entries.get(name)
    }

    /// The part of the study that a reader makes of the value; the default if there is no value.
    pub(crate) fn part<'l, T: Default>(
        &self,
        reader: &mut Reader<'l>,
        name: &str,
        read: impl FnOnce(&mut Reader<'l>, &At<'d>) -> T,
    ) -> T {
        self.get(name).map_or_else(T::default, |at| read(reader, at))
    }

    /// The text of the key.
    pub(crate) fn text(&self, name: &str) -> Option<&'d str> {
        self.get(name).and_then(|at| at.value.as_str())
    }

    /// The scalar of the key.
    pub(crate) fn scalar(&self, name: &str) -> Option<Scalar> {
        self.get(name).and_then(|at| scalar(at.value))
    }

    /// The number of the key.
    pub(crate) fn number(&self, name: &str) -> Option<f64> {
        self.scalar(name).as_ref().and_then(Scalar::number)
    }

    /// The boolean of the key.
    pub(crate) fn boolean(&self, name: &str) -> Option<bool> {
        self.get(name).and_then(|at| at.value.as_bool())
    }

    /// The word of the key, if it is one of `words`; other words are reported.
    pub(crate) fn word(
        &self,
        reader: &mut Reader<'_>,
        name: &str,
        words: &'static [&'static str],
    ) -> Option<&'static str> {
        let at = self.get(name)?;
        let word = at.value.as_str()?;
        let known = words.iter().find(|known| **known == word);
        if known.is_none() {
            reader.add(unknown_word(&self.subject(name), word, words, at.span.clone()));
        }
        known.copied()
    }

    /// The value of the key, or the template that will become one.
    pub(crate) fn templated<T: FromScalar>(
        &self,
        reader: &mut Reader<'_>,
        name: &str,
    ) -> Option<Templated<T>> {
        let at = self.get(name)?;
        reader.templated(at, &self.subject(name))
    }

    /// The duration of the key; a text that is none is reported.
    pub(crate) fn duration(
        &self,
        reader: &mut Reader<'_>,
        name: &str,
        expected: &str,
    ) -> Option<Duration> {
        let at = self.get(name)?;
        let text = at.value.as_str()?;
        let duration = parse_duration(text).ok();
        if duration.is_none() {
            let scalar = Scalar::Text(text.to_owned());
            reader.add(not_a_quantity(&self.subject(name), &scalar, expected, at.span.clone()));
        }
        duration
    }

    /// "`size` of the disk `scratch`".
    pub(crate) fn subject(&self, name: &str) -> String {
        format!("`{name}` of {}", self.what)
    }
}

fn single_brackets(name: &str, span: Range<usize>) -> Diagnostic {
    Diagnostic::error(code::WRONG_TYPE, format!("`{name}` is one table, not a list of tables"))
        .at(span, "expected two brackets on each side")
        .hint(format!("write `[[{name}]]`, once for each"))
}

/// Reports an unknown word.
pub(crate) fn unknown_word(
    what: &str,
    word: &str,
    words: &[&str],
    span: Range<usize>,
) -> Diagnostic {
    Diagnostic::error(code::UNKNOWN_WORD, format!("{what} is `{word}`"))
        .at(span, format!("expected one of {}", quoted(words)))
        .hint(word_hint(word, words))
}

/// Collects every text of a value, at any depth.
pub(crate) fn texts<'d>(value: &'d DeValue<'d>, found: &mut Vec<&'d str>) {
    match value {
        DeValue::String(text) => found.push(text),
        DeValue::Array(array) => array.iter().for_each(|element| texts(element.get_ref(), found)),
        DeValue::Table(table) => table.values().for_each(|value| texts(value.get_ref(), found)),
        _ => {}
    }
}
