//! The options: generated from the ranges of the original's, or read from a file in its format.

use std::path::PathBuf;

use assay_sys::kernel::anonymous_memory::{HugePages, Pages};

use super::table;
use crate::failure::Failure;
use crate::parsec::lrand48::Lrand48;

/// Five numbers, the kind and the price, four bytes each: the data a run streams through.
pub(super) const BYTES_PER_OPTION: u64 = 28;

/// Where options come from.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Source {
    /// Generated.
    Drawn {
        /// How many.
        count: u64,
        /// Seed of the generator.
        seed: u64,
    },
    /// Read from a file.
    File {
        /// A file in the original's format.
        path: PathBuf,
        /// The number in its first line.
        count: u64,
    },
}

impl Source {
    /// A file, of which only the first line is read here.
    pub(super) fn file(path: PathBuf) -> Result<Self, Failure> {
        let count = table::count(&path)?;
        Ok(Self::File { path, count })
    }

    pub(super) fn count(&self) -> u64 {
        match self {
            Self::Drawn { count, .. } | Self::File { count, .. } => *count,
        }
    }
}

/// The sizes of the original's inputs by name, or a number.
pub(super) fn parse_count(name: &str) -> Result<u64, Failure> {
    match name {
        "test" => Ok(4),
        "simdev" => Ok(16),
        "simsmall" => Ok(4_096),
        "simmedium" => Ok(16_384),
        "simlarge" => Ok(65_536),
        "native" => Ok(10_000_000),
        number => number.parse().ok().filter(|count| *count > 0).ok_or_else(|| {
            Failure::usage(format!(
                "unknown input `{number}`: use test, simdev, simsmall, simmedium, simlarge, native \
                 or a number of options"
            ))
        }),
    }
}

/// One option, a line of a file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Entry {
    pub(super) spot: f32,
    pub(super) strike: f32,
    /// Per year, 0.05 for 5 %.
    pub(super) rate: f32,
    pub(super) volatility: f32,
    /// Years.
    pub(super) time: f32,
    pub(super) put: bool,
    /// The reference price in the file.
    pub(super) reference: f32,
}

/// All options, one column per number.
pub(super) struct Options {
    spot: Pages<f32>,
    strike: Pages<f32>,
    rate: Pages<f32>,
    volatility: Pages<f32>,
    time: Pages<f32>,
    put: Pages<u32>,
    /// Kept only with `--references`.
    pub(super) reference: Option<Pages<f32>>,
}

/// A range of the columns.
#[derive(Debug, Clone, Copy)]
pub(super) struct Columns<'o> {
    pub(super) spot: &'o [f32],
    pub(super) strike: &'o [f32],
    pub(super) rate: &'o [f32],
    pub(super) volatility: &'o [f32],
    pub(super) time: &'o [f32],
    /// 0 for a call, 1 for a put.
    pub(super) put: &'o [u32],
}

impl Options {
    /// Allocates columns for `count` options.
    pub(super) fn allocate(
        count: usize,
        huge: HugePages,
        references: bool,
    ) -> Result<Self, Failure> {
        Ok(Self {
            spot: Pages::zeroed(count, huge)?,
            strike: Pages::zeroed(count, huge)?,
            rate: Pages::zeroed(count, huge)?,
            volatility: Pages::zeroed(count, huge)?,
            time: Pages::zeroed(count, huge)?,
            put: Pages::zeroed(count, huge)?,
            reference: references.then(|| Pages::zeroed(count, huge)).transpose()?,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.spot.len()
    }

    pub(super) fn set(&mut self, at: usize, entry: Entry) {
        self.spot[at] = entry.spot;
        self.strike[at] = entry.strike;
        self.rate[at] = entry.rate;
        self.volatility[at] = entry.volatility;
        self.time[at] = entry.time;
        self.put[at] = entry.put.into();
        if let Some(reference) = &mut self.reference {
            reference[at] = entry.reference;
        }
    }

    pub(super) fn columns(&self, range: std::ops::Range<usize>) -> Columns<'_> {
        Columns {
            spot: &self.spot[range.clone()],
            strike: &self.strike[range.clone()],
            rate: &self.rate[range.clone()],
            volatility: &self.volatility[range.clone()],
            time: &self.time[range.clone()],
            put: &self.put[range],
        }
    }

    pub(super) fn get(&self, at: usize) -> Entry {
        Entry {
            spot: self.spot[at],
            strike: self.strike[at],
            rate: self.rate[at],
            volatility: self.volatility[at],
            time: self.time[at],
            put: self.put[at] != 0,
            reference: self.reference.as_ref().map_or(0.0, |prices| prices[at]),
        }
    }
}

/// Draws one option from the ranges of the original's table, with the same number of digits.
pub(super) fn draw(random: &mut Lrand48) -> Entry {
    let mut between = |low: f64, high: f64, scale: f64| {
        let value = low + (high - low) * f64::from(random.unit());
        ((value * scale).round() / scale) as f32
    };
    let spot = between(42.0, 100.0, 1.0);
    let strike = between(40.0, 110.0, 1.0);
    let rate = between(0.0275, 0.1, 10_000.0);
    let volatility = between(0.05, 0.65, 100.0);
    let time = between(0.05, 1.0, 100.0);
    let put = random.next() % 2 == 1;
    let entry = Entry { spot, strike, rate, volatility, time, put, reference: 0.0 };
    Entry { reference: super::check::exact(&entry) as f32, ..entry }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_have_the_sizes_of_the_original() {
        assert_eq!(parse_count("simlarge").unwrap(), 65_536);
        assert_eq!(parse_count("17").unwrap(), 17);
        for wrong in ["0", "large", "-1", ""] {
            assert_eq!(parse_count(wrong).unwrap_err().exit_code(), 2, "{wrong}");
        }
    }

    #[test]
    fn draws_stay_inside_their_ranges_and_both_kinds_occur() {
        let mut random = Lrand48::seeded(7);
        let drawn: Vec<Entry> = (0..1000).map(|_| draw(&mut random)).collect();
        assert!(drawn.iter().all(|one| (42.0..=100.0).contains(&one.spot)));
        assert!(drawn.iter().all(|one| (0.0275..=0.1).contains(&one.rate)));
        assert!(drawn.iter().all(|one| (0.05..=1.0).contains(&one.time)));
        let puts = drawn.iter().filter(|one| one.put).count();
        assert!((400..600).contains(&puts), "{puts}");
    }
}
