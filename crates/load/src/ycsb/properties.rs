//! Property files in the format of `java.util.Properties.load`: comments, three separators,
//! escapes, lines continued by a backslash. Every value knows where it was written.

mod line;
mod suggestion;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use crate::failure::Failure;
use line::{Line, lines};
pub(super) use suggestion::unknown;

/// Where a value was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    /// In a file, with line and column from 1.
    File { path: String, line: usize, column: usize },
    /// With `-p` or an option of its own.
    CommandLine,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, line, column } => write!(f, "{path}:{line}:{column}"),
            Self::CommandLine => f.write_str("command line"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    value: String,
    origin: Origin,
}

/// All properties of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Properties {
    entries: BTreeMap<String, Entry>,
}

impl Properties {
    /// Adds those of a file on top. `bytes` are ISO 8859-1, as Java reads them.
    pub(super) fn load(&mut self, path: &str, bytes: &[u8]) -> Result<(), Failure> {
        let text: Vec<char> = bytes.iter().map(|byte| char::from(*byte)).collect();
        for line in lines(&text) {
            let (key, value, at) = pair(&line, path)?;
            let origin = Origin::File { path: path.to_owned(), line: at.0, column: at.1 };
            self.entries.insert(key, Entry { value, origin });
        }
        Ok(())
    }

    /// Sets one from the command line.
    pub(super) fn set(&mut self, key: &str, value: impl Into<String>) {
        let entry = Entry { value: value.into(), origin: Origin::CommandLine };
        self.entries.insert(key.to_owned(), entry);
    }

    /// The text of one, if it was given.
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.entries.get(key).map(|entry| entry.value.as_str())
    }

    /// The text of one or its default.
    pub(super) fn text<'p>(&'p self, key: &str, default: &'p str) -> &'p str {
        self.get(key).unwrap_or(default)
    }

    /// A number, or its default; a mistake says where it stands and what was expected.
    pub(super) fn number<T: FromStr>(&self, key: &str, default: T) -> Result<T, Failure> {
        let Some(text) = self.get(key) else { return Ok(default) };
        text.trim().parse().map_err(|_| {
            let kind = std::any::type_name::<T>();
            let wanted = match kind {
                "f64" => "a number, as in `0.5`",
                _ => "a whole number that is not negative, as in `1000`",
            };
            self.refuse(key, &format!("expected {wanted}"))
        })
    }

    /// A number of events or bytes that must be positive.
    pub(super) fn positive(&self, key: &str, default: u64) -> Result<u64, Failure> {
        match self.number(key, default)? {
            0 => Err(self.refuse(key, "expected a whole number above 0")),
            number => Ok(number),
        }
    }

    /// A proportion or weight.
    pub(super) fn weight(&self, key: &str, default: f64) -> Result<f64, Failure> {
        let weight: f64 = self.number(key, default)?;
        if weight.is_finite() && weight >= 0.0 {
            return Ok(weight);
        }
        Err(self.refuse(key, "expected a number from 0 on"))
    }

    /// `true` or `false` in any case. Java takes every other word for false in silence.
    pub(super) fn flag(&self, key: &str, default: bool) -> Result<bool, Failure> {
        let Some(text) = self.get(key) else { return Ok(default) };
        match text.trim().to_ascii_lowercase().as_str() {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(self.refuse(key, "expected `true` or `false`")),
        }
    }

    /// One of some words.
    pub(super) fn choice<T: Copy>(
        &self,
        key: &str,
        default: &str,
        choices: &[(&str, T)],
    ) -> Result<T, Failure> {
        let word = self.text(key, default);
        choices.iter().find(|(name, _)| *name == word).map(|(_, choice)| *choice).ok_or_else(|| {
            let names: Vec<String> = choices.iter().map(|(name, _)| format!("`{name}`")).collect();
            self.refuse(key, &format!("expected one of {}", names.join(", ")))
        })
    }

    /// A mistake in the value of `key`.
    pub(super) fn refuse(&self, key: &str, remedy: &str) -> Failure {
        match self.entries.get(key) {
            Some(Entry { value, origin }) => {
                Failure::usage(format!("{origin}: `{key}={value}`\n  hint: {remedy}"))
            }
            None => Failure::usage(format!("`{key}` is not set\n  hint: {remedy}")),
        }
    }

    /// Names with their places, in the order of the names.
    pub(super) fn names(&self) -> impl Iterator<Item = (&str, &Origin)> {
        self.entries.iter().map(|(key, entry)| (key.as_str(), &entry.origin))
    }
}

/// Key, value and the place of the value.
fn pair(line: &Line, path: &str) -> Result<(String, String, (usize, usize)), Failure> {
    let (key, rest) = line.split();
    let at = rest.first().or(key.last()).map_or((1, 1), |spot| (spot.line, spot.column));
    let read = |spots| {
        line::unescaped(spots).map_err(|spot| {
            Failure::usage(format!(
                "{path}:{}:{}: malformed \\uxxxx escape\n  hint: write four hexadecimal digits \
                 behind \\u, or \\\\u for a backslash and a u",
                spot.line, spot.column
            ))
        })
    };
    Ok((read(key)?, read(rest)?, at))
}

#[cfg(test)]
mod tests;
