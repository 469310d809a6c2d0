//! Distributions of keys, lengths and operations. Each is a plan with precomputed constants, made
//! once and copied to every thread.

mod histogram;
mod keys;
mod zipfian;

pub(super) use histogram::Histogram;
pub(super) use keys::{Hotspot, Keys};
pub(super) use zipfian::{Latest, Scrambled, Zipfian};

use super::random::Random;

/// Uniform in `low..=high`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Uniform {
    pub(super) low: u64,
    pub(super) high: u64,
}

impl Uniform {
    pub(super) fn draw(self, random: &mut Random) -> u64 {
        self.low + random.below((self.high + 1).saturating_sub(self.low))
    }
}

/// Distribution of the length of a field or of a scan.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Lengths {
    Constant(u64),
    Uniform(Uniform),
    Zipfian(Zipfian),
    Histogram(Histogram),
}

impl Lengths {
    pub(super) fn draw(&self, random: &mut Random) -> u64 {
        match self {
            Self::Constant(length) => *length,
            Self::Uniform(uniform) => uniform.draw(random),
            Self::Zipfian(zipfian) => zipfian.draw(random),
            Self::Histogram(histogram) => histogram.draw(random),
        }
    }

    /// The mean, for the prediction of memory.
    pub(super) fn mean(&self) -> f64 {
        match self {
            Self::Constant(length) => *length as f64,
            Self::Uniform(uniform) => (uniform.low + uniform.high) as f64 / 2.0,
            Self::Zipfian(zipfian) => zipfian.mean(),
            Self::Histogram(histogram) => histogram.mean(),
        }
    }
}

/// A weighted choice, in the given order (YCSB's `DiscreteGenerator`).
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Weighted<T> {
    choices: Vec<(f64, T)>,
}

impl<T: Copy> Weighted<T> {
    /// Choices without weight are left out; `None` if none remains.
    pub(super) fn new(choices: &[(f64, T)]) -> Option<Self> {
        let sum: f64 = choices.iter().map(|(weight, _)| weight).sum();
        let choices: Vec<(f64, T)> = choices
            .iter()
            .filter(|(weight, _)| *weight > 0.0)
            .map(|(weight, choice)| (weight / sum, *choice))
            .collect();
        (!choices.is_empty()).then_some(Self { choices })
    }

    pub(super) fn draw(&self, random: &mut Random) -> T {
        let mut remaining = random.unit();
        for (weight, choice) in &self.choices {
            if remaining < *weight {
                return *choice;
            }
            remaining -= weight;
        }
        // The weights add up to one except for rounding.
        self.choices[self.choices.len() - 1].1
    }
}

#[cfg(test)]
mod tests;
