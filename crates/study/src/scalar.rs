//! Plain values: what a factor, a workload argument or a template becomes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One value of a factor or of a workload argument.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Scalar {
    /// `true`, `false`.
    Boolean(bool),
    /// A whole number.
    Integer(i64),
    /// A number with a fraction.
    Float(f64),
    /// Anything else.
    Text(String),
}

impl Scalar {
    /// Its value, if it is a number.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Integer(number) => Some(*number as f64),
            Self::Float(number) => Some(*number),
            Self::Boolean(_) | Self::Text(_) => None,
        }
    }
}

/// The value of each factor in one trial, by name.
pub type Bindings = BTreeMap<String, Scalar>;

impl std::fmt::Display for Scalar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Boolean(value) => value.fmt(f),
            Self::Integer(value) => value.fmt(f),
            Self::Float(value) => value.fmt(f),
            Self::Text(value) => value.fmt(f),
        }
    }
}

/// Whether a level is the one that a promise or a reference names: numbers by value, text literally.
pub(crate) fn is_same(level: &Scalar, named: &Scalar) -> bool {
    match (level.number(), named.number()) {
        (Some(level), Some(named)) => level == named,
        _ => level == named || level.to_string() == named.to_string(),
    }
}
