//! Amounts of data.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::units::error::{UnitError, split_number};

const EXPECTED: &str = "an amount of data such as `4096`, `64 KiB`, `2 GiB` or `1 GB`";

/// An amount of data in bytes.
///
/// Written `2 GiB` (powers of 1024), `2 GB` (powers of 1000), or as in fio and the kernel, `4k`,
/// `2G` (powers of 1024). Prints the largest binary unit that is exact.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Bytes(u64);

impl Bytes {
    /// Binary units for printing, from the largest to the smallest.
    const BINARY: [(u64, &'static str); 4] =
        [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];

    /// An amount of `count` bytes.
    #[must_use]
    pub const fn new(count: u64) -> Self {
        Self(count)
    }

    /// An amount of `count` MiB.
    #[must_use]
    pub const fn mebi(count: u64) -> Self {
        Self(count << 20)
    }

    /// The number of bytes.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl FromStr for Bytes {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (number, unit) = split_number(text, EXPECTED)?;
        let scale: u64 = match unit {
            "" | "B" => 1,
            "k" | "K" | "KiB" => 1 << 10,
            "m" | "M" | "MiB" => 1 << 20,
            "g" | "G" | "GiB" => 1 << 30,
            "t" | "T" | "TiB" => 1 << 40,
            "kB" | "KB" => 1_000,
            "MB" => 1_000_000,
            "GB" => 1_000_000_000,
            "TB" => 1_000_000_000_000,
            _ => return Err(UnitError::new(text, EXPECTED)),
        };
        let exact = number * scale as f64;
        if exact > (1u64 << 53) as f64 || exact.fract() != 0.0 {
            return Err(UnitError::new(text, EXPECTED));
        }
        Ok(Self(exact as u64))
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (scale, unit) in Self::BINARY {
            if self.0 >= scale && self.0.is_multiple_of(scale) {
                return write!(f, "{} {unit}", self.0 / scale);
            }
        }
        write!(f, "{} B", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_common_spellings_and_those_of_fio_and_the_kernel() {
        for (text, bytes) in [
            ("4096", 4096),
            ("4k", 4096),
            ("64 KiB", 65_536),
            ("2 GiB", 2 << 30),
            ("1.5GiB", 3 << 29),
            ("1 GB", 1_000_000_000),
            ("0", 0),
        ] {
            assert_eq!(text.parse(), Ok(Bytes(bytes)), "{text}");
        }
    }

    #[test]
    fn refuses_invalid_amounts() {
        for text in ["", "GiB", "2 gallons", "-1", "1e999", "0.3 B", "9999999999 TiB", "1 GiBs"] {
            assert!(text.parse::<Bytes>().is_err(), "{text}");
        }
    }

    #[test]
    fn printed_amounts_parse_to_the_same_value() {
        for bytes in [0, 1, 1023, 1024, 1536, 2 << 30, (1 << 40) + 1] {
            let printed = Bytes(bytes).to_string();
            assert_eq!(printed.parse(), Ok(Bytes(bytes)), "{printed}");
        }
    }
}
