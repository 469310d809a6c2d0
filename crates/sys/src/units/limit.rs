//! Limits that may be absent.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A limit as in cgroup v2: a value, or the word `max` for no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Limit<T> {
    /// Limited to this value.
    Value(T),
    /// Not limited.
    Max,
}

impl<T: FromStr> FromStr for Limit<T> {
    type Err = T::Err;

    fn from_str(text: &str) -> Result<Self, T::Err> {
        if text.trim() == "max" { Ok(Self::Max) } else { text.parse().map(Self::Value) }
    }
}

impl<T: fmt::Display> fmt::Display for Limit<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(value) => value.fmt(f),
            Self::Max => f.write_str("max"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Bytes;

    #[test]
    fn max_is_a_word_and_not_a_number() {
        assert_eq!("max".parse::<Limit<Bytes>>(), Ok(Limit::Max));
        assert_eq!("4k".parse::<Limit<Bytes>>(), Ok(Limit::Value(Bytes::new(4096))));
        assert_eq!(Limit::<Bytes>::Max.to_string(), "max");
    }
}
