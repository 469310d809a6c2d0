//! Property files in the format of `java.util.Properties.load`: comments, three separators,
//! escapes, lines continued by a backslash. Every value keeps its position for error messages.

mod line;
mod suggestion;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use crate::failure::Failure;
use line::{Line, lines};
pub(super) use suggestion::unknown;

/// Where a value was set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    /// In a file, with line and column from 1.
    File { path: String, line: usize, column: usize },
    /// With `-p` or an option.
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
    /// Adds those of a file, overriding earlier ones. `bytes` are ISO 8859-1, as Java reads them.
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

    /// The text of one, if it is set.
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.entries.get(key).map(|entry| entry.value.as_str())
    }

    /// The text of one or its default.
    pub(super) fn text<'p>(&'p self, key: &str, default: &'p str) -> &'p str {
        self.get(key).unwrap_or(default)
    }

    /// A number, or its default; an error has the position and the expected form.
    pub(super) fn number<T: FromStr>(&self, key: &str, default: T) -> Result<T, Failure> {
        let Some(text) = self.get(key) else { return Ok(default) };
        text.trim().parse().map_err(|_| {
            let kind = std::any::type_name::<T>();
            let expected = match kind {
                "f64" => "a number, as in `0.5`",
                _ => "a whole number that is not negative, as in `1000`",
            };
            self.refuse(key, &format!("expected {expected}"))
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
        Err(self.refuse(key, "expected a number of at least 0"))
    }

    /// `true` or `false` in any case. Java silently treats every other word as false.
    pub(super) fn flag(&self, key: &str, default: bool) -> Result<bool, Failure> {
        let Some(text) = self.get(key) else { return Ok(default) };
        match text.trim().to_ascii_lowercase().as_str() {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(self.refuse(key, "expected `true` or `false`")),
        }
    }

    /// One of several words.
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

    /// An error about the value of `key`.
    pub(super) fn refuse(&self, key: &str, remedy: &str) -> Failure {
        match self.entries.get(key) {
            Some(Entry { value, origin }) => {
                Failure::usage(format!("{origin}: `{key}={value}`\n  hint: {remedy}"))
            }
            None => Failure::usage(format!("`{key}` is not set\n  hint: {remedy}")),
        }
    }

    /// Names with their positions, in the order of the names.
    pub(super) fn names(&self) -> impl Iterator<Item = (&str, &Origin)> {
        self.entries.iter().map(|(key, entry)| (key.as_str(), &entry.origin))
    }
}

/// Key, value and the position of the value.
fn pair(line: &Line, path: &str) -> Result<(String, String, (usize, usize)), Failure> {
    let (key, rest) = line.split();
    let at = rest.first().or(key.last()).map_or((1, 1), |spot| (spot.line, spot.column));
    let read = |spots| {
        line::unescaped(spots).map_err(|spot| {
            Failure::usage(format!(
                "{path}:{}:{}: malformed \\uxxxx escape\n  hint: write four hexadecimal digits \
                 after \\u, or \\\\u for a backslash and a u",
                spot.line, spot.column
            ))
        })
    };
    Ok((read(key)?, read(rest)?, at))
}

#[cfg(test)]
mod tests;
