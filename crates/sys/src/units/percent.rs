//! Percentages.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::units::error::{UnitError, split_number};

const EXPECTED: &str = "a percentage such as `10 %`, or a fraction such as `0.1`";

/// A percentage, kept as a fraction: `10 %` and `0.1` are the same.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Percent(f64);

impl Percent {
    /// The percentage for `fraction`.
    #[must_use]
    pub const fn from_fraction(fraction: f64) -> Self {
        Self(fraction)
    }

    /// The value as a fraction: `10 %` is 0.1.
    #[must_use]
    pub const fn fraction(self) -> f64 {
        self.0
    }
}

impl FromStr for Percent {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (number, unit) = split_number(text, EXPECTED)?;
        match unit {
            "%" => Ok(Self(number / 100.0)),
            "" => Ok(Self(number)),
            _ => Err(UnitError::new(text, EXPECTED)),
        }
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Rounded to a billionth: 0.07 * 100 must not print as 7.000000000000001.
        write!(f, "{} %", (self.0 * 1e11).round() / 1e9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentage_and_its_fraction_are_the_same() {
        assert_eq!("10 %".parse(), Ok(Percent(0.1)));
        assert_eq!("10%".parse(), Ok(Percent(0.1)));
        assert_eq!("0.1".parse(), Ok(Percent(0.1)));
        assert!("ten".parse::<Percent>().is_err());
    }

    #[test]
    fn prints_without_binary_rounding_noise() {
        assert_eq!(Percent(0.07).to_string(), "7 %");
        assert_eq!(Percent(0.125).to_string(), "12.5 %");
    }
}
