//! Output: the key lists of both versions of the reference, and JSON.

mod json;
mod v2;
mod v3;

pub(super) use json::json;

use super::dialect::Dialect;
use super::outcome::Outcome;

/// The text in the run's dialect.
pub(super) fn text(outcome: &Outcome) -> String {
    match outcome.dialect {
        Dialect::V2 => v2::text(outcome),
        Dialect::V3 => v3::text(outcome),
    }
}

#[cfg(test)]
mod tests;
