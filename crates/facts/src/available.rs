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

    /// The value to change, if there is one.
    pub const fn value_mut(&mut self) -> Option<&mut T> {
        match self {
            Self::Value(value) => Some(value),
            Self::NotAvailable(_) => None,
        }
    }
}
