//! State shared by all readers of parts of the file: the mistakes so far, the location of each
//! value, and the factors that templates may name.

use std::collections::BTreeMap;
use std::ops::Range;

use assay_sys::closest;
use assay_sys::diagnostic::Diagnostic;
use toml::de::DeValue;

use crate::code;
use crate::syntax::Scalar;
use crate::template::{FromScalar, Templated, factor_names};
use crate::value::{kind, scalar};

/// Reads the text of a file that a study refers to by a path relative to itself.
pub(crate) type Load<'l> = &'l dyn Fn(&str) -> Result<String, String>;

/// The location of each value by its path (`groups[0].knobs.io.weight`). Empty when a study is
/// checked again without its text.
pub(crate) type Spans = BTreeMap<String, Range<usize>>;

/// Names of workloads, disks and factors that the file mentions where they could be used, even if
/// the mention itself is part of a mistake.
#[derive(Default)]
pub(crate) struct Mentions {
    /// Texts anywhere in the groups, and in `prepare` of workloads.
    pub(crate) by_groups: Vec<String>,
    /// Texts anywhere outside the factors.
    pub(crate) outside_factors: Vec<String>,
}

pub(crate) struct Reader<'l> {
    pub(crate) findings: Vec<Diagnostic>,
    pub(crate) spans: Spans,
    pub(crate) factors: Vec<String>,
    /// Whether a whole part of the file could not be read, so that what refers to it would be
    /// reported as undefined.
    pub(crate) lost_a_part: bool,
    pub(crate) load: Load<'l>,
}

/// A value with its path and its location.
#[derive(Clone)]
pub(crate) struct At<'d> {
    pub(crate) value: &'d DeValue<'d>,
    pub(crate) span: Range<usize>,
    pub(crate) path: String,
}

impl Reader<'_> {
    pub(crate) fn add(&mut self, finding: Diagnostic) {
        self.findings.push(finding);
    }

    /// Records the location of the value and returns it with its path.
    pub(crate) fn at<'d>(
        &mut self,
        value: &'d DeValue<'d>,
        span: Range<usize>,
        path: String,
    ) -> At<'d> {
        self.spans.insert(path.clone(), span.clone());
        At { value, span, path }
    }

    /// The elements of a list, each at `path[index]`. A table in place of a list of tables counts
    /// as its only element; the missing brackets have been reported.
    pub(crate) fn elements<'d>(&mut self, list: &At<'d>) -> Vec<At<'d>> {
        if list.value.is_table() {
            return vec![self.at(list.value, list.span.clone(), format!("{}[0]", list.path))];
        }
        let Some(array) = list.value.as_array() else { return vec![] };
        let elements = array.iter().enumerate();
        elements
            .map(|(index, element)| {
                let path = format!("{}[{index}]", list.path);
                self.at(element.get_ref(), element.span(), path)
            })
            .collect()
    }

    /// The elements of a list, or a single value in its place, each at `path[index]`.
    pub(crate) fn one_or_more<'d>(&mut self, at: &At<'d>) -> Vec<At<'d>> {
        match at.value.is_array() {
            true => self.elements(at),
            false => vec![self.at(at.value, at.span.clone(), format!("{}[0]", at.path))],
        }
    }

    /// The texts of a list, or the only text, each at `path[index]`. Anything else is reported
    /// together with what was expected, and the remedy.
    pub(crate) fn texts<'d>(
        &mut self,
        at: &At<'d>,
        what: &str,
        expected: &str,
        remedy: &str,
    ) -> Vec<(&'d str, At<'d>)> {
        let mut texts = vec![];
        for element in self.one_or_more(at) {
            if let Some(text) = element.value.as_str() {
                texts.push((text, element));
                continue;
            }
            let message = format!("an element of {what} is {}", kind(element.value));
            self.add(
                Diagnostic::error(code::WRONG_TYPE, message)
                    .at(element.span, expected)
                    .hint(remedy),
            );
        }
        texts
    }

    /// The entries of a table in the order of the file, each at `path.key`, with the location of
    /// the key.
    pub(crate) fn entries<'d>(&mut self, table: &At<'d>) -> Vec<(&'d str, Range<usize>, At<'d>)> {
        let Some(content) = table.value.as_table() else { return vec![] };
        let mut entries: Vec<_> = content.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        entries
            .into_iter()
            .map(|(key, value)| {
                let name: &'d str = key.get_ref().as_ref();
                let path = join(&table.path, name);
                // A table written under a header spans its header only; the key is the better
                // location.
                let span = if value.get_ref().is_table() { key.span() } else { value.span() };
                (name, key.span(), self.at(value.get_ref(), span, path))
            })
            .collect()
    }

    /// Reports a name that lacks its quotes, because of which its first part became a table of
    /// TOML, and returns the entries of that table with their whole names.
    pub(crate) fn unquoted<'d>(
        &mut self,
        table: &At<'d>,
        mistake: Diagnostic,
        family: &str,
    ) -> Vec<(String, At<'d>)> {
        let entries = self.entries(table).into_iter();
        let named: Vec<(String, At<'d>)> =
            entries.map(|(name, _, at)| (format!("{family}.{name}"), at)).collect();
        let written: Vec<String> = named.iter().map(|(name, _)| format!("`\"{name}\"`")).collect();
        let written = written.join(", ");
        self.add(mistake.hint(format!("write {written}: without quotes the dot starts a table")));
        named
    }

    /// The scalar at this location; anything else is reported.
    pub(crate) fn scalar(&mut self, at: &At<'_>, what: &str) -> Option<Scalar> {
        let value = scalar(at.value);
        if value.is_none() {
            let message = format!("{what} is {}, expected a single value", kind(at.value));
            self.add(
                Diagnostic::error(code::WRONG_TYPE, message)
                    .at(at.span.clone(), "expected a number, a text or a boolean")
                    .hint("write a single value here"),
            );
        }
        value
    }

    /// The value at this location, or the template that will become one.
    pub(crate) fn templated<T: FromScalar>(
        &mut self,
        at: &At<'_>,
        what: &str,
    ) -> Option<Templated<T>> {
        let scalar = self.scalar(at, what)?;
        if let Scalar::Text(text) = &scalar
            && text.contains('{')
        {
            return self.template_is_sound(text, at).then(|| Templated::Template(text.clone()));
        }
        let value = T::from_scalar(&scalar).map(Templated::Value);
        if value.is_none() {
            self.add(not_a_quantity(what, &scalar, T::EXPECTED, at.span.clone()));
        }
        value
    }

    /// Whether the braces of a text are balanced and name known factors; reports mistakes.
    pub(crate) fn template_is_sound(&mut self, text: &str, at: &At<'_>) -> bool {
        if text.matches('{').count() != text.matches('}').count() {
            self.add(
                Diagnostic::error(
                    code::BROKEN_TEMPLATE,
                    format!("the template `{text}` has an unbalanced brace"),
                )
                .at(at.span.clone(), "expected `{factor}`")
                .hint("close each `{` with a `}`"),
            );
            return false;
        }
        let unknown: Vec<&str> =
            factor_names(text).filter(|name| !self.factors.iter().any(|f| f == name)).collect();
        for name in &unknown {
            let finding = undefined_factor(name, &self.factors, at.span.clone());
            self.add(finding);
        }
        unknown.is_empty()
    }
}

fn undefined_factor(name: &str, factors: &[String], span: Range<usize>) -> Diagnostic {
    let hint = match closest(name, factors.iter().map(String::as_str)) {
        Some(meant) => format!("did you mean `{{{meant}}}`?"),
        None => format!("add `{name} = [...]` to [factors], or write a plain value"),
    };
    Diagnostic::error(code::UNDEFINED_FACTOR, format!("unknown factor `{{{name}}}`"))
        .at(span, "expected the name of a factor in braces")
        .hint(hint)
}

/// Reports a value that cannot be parsed as the expected quantity.
pub(crate) fn not_a_quantity(
    what: &str,
    scalar: &Scalar,
    expected: &str,
    span: Range<usize>,
) -> Diagnostic {
    Diagnostic::error(code::NOT_A_QUANTITY, format!("invalid value `{scalar}` for {what}"))
        .at(span, format!("expected {expected}"))
        .hint(format!("write {expected}"))
}

/// "did you mean" for a misspelt word of a list, or the whole list.
pub(crate) fn word_hint(word: &str, words: &[&str]) -> String {
    did_you_mean(word, words.iter().copied(), || format!("write one of {}", quoted(words)))
}

/// "did you mean" for a misspelt name, or what to do if no known name is similar.
pub(crate) fn did_you_mean<'n>(
    name: &str,
    known: impl IntoIterator<Item = &'n str>,
    otherwise: impl FnOnce() -> String,
) -> String {
    closest(name, known).map_or_else(otherwise, |meant| format!("did you mean `{meant}`?"))
}

/// `a`, `b`, `c`.
pub(crate) fn quoted(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

pub(crate) fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}
