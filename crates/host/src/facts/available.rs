//! Facts that a machine may lack.

use serde::{Deserialize, Serialize};

/// A value, or the reason why there is none. A missing counter is never reported as zero.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Available<T> {
    /// The value as read.
    Value(T),
    /// The reason why this machine has none, as a sentence fragment.
    NotAvailable(String),
}

impl<T, E: ToString> From<Result<T, E>> for Available<T> {
    fn from(result: Result<T, E>) -> Self {
        match result {
            Ok(value) => Self::Value(value),
            Err(why) => Self::NotAvailable(why.to_string()),
        }
    }
}

impl<T> Available<T> {
    /// The reason why there is no value.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Value(_) => None,
            Self::NotAvailable(why) => Some(why),
        }
    }

    /// The value, if there is one.
    pub const fn value(&self) -> Option<&T> {
        match self {
            Self::Value(value) => Some(value),
            Self::NotAvailable(_) => None,
        }
    }

    /// The same of what becomes of the value.
    pub fn map<R>(&self, change: impl FnOnce(&T) -> R) -> Available<R> {
        match self {
            Self::Value(value) => Available::Value(change(value)),
            Self::NotAvailable(why) => Available::NotAvailable(why.clone()),
        }
    }

    /// The value to change, if there is one.
    pub const fn value_mut(&mut self) -> Option<&mut T> {
        match self {
            Self::Value(value) => Some(value),
            Self::NotAvailable(_) => None,
        }
    }
}
