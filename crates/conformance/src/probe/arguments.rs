//! The arguments of a probe: `key=value`.

use std::collections::BTreeMap;
use std::str::FromStr;

/// Arguments by key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Arguments(BTreeMap<String, String>);

impl Arguments {
    /// Reads `key=value` words.
    pub(crate) fn parse(arguments: &[String]) -> Result<Self, String> {
        arguments
            .iter()
            .map(|word| {
                let (key, value) =
                    word.split_once('=').ok_or_else(|| format!("`{word}` is not KEY=VALUE"))?;
                Ok((key.to_owned(), value.to_owned()))
            })
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// The text behind `key`, if it is there.
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// The value behind `key`, or `usual` where it is not given.
    pub(crate) fn number<T: FromStr>(&self, key: &str, usual: T) -> Result<T, String> {
        match self.text(key) {
            None => Ok(usual),
            Some(text) => text.parse().map_err(|_| format!("`{key}={text}` is not a number")),
        }
    }

    /// The numbers behind `key`, separated by commas; none where it is not given.
    pub(crate) fn numbers<T: FromStr>(&self, key: &str) -> Result<Vec<T>, String> {
        let text = self.text(key).unwrap_or_default();
        let parts = text.split(',').filter(|part| !part.is_empty());
        parts.map(|part| part.parse().map_err(|_| format!("`{key}={text}`: {part}?"))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_read_by_key_with_defaults() {
        let arguments = Arguments::parse(&["cpu=1,3".to_owned(), "threads=2".to_owned()]).unwrap();
        assert_eq!(arguments.numbers::<u16>("cpu").unwrap(), [1, 3]);
        assert_eq!(arguments.number("threads", 1), Ok(2));
        assert_eq!(arguments.number("duty", 100), Ok(100));
        assert!(arguments.number::<u32>("cpu", 1).is_err());
        assert!(Arguments::parse(&["x".to_owned()]).is_err());
    }
}
