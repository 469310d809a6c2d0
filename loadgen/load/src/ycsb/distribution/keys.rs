//! The choice of a record among the existing ones.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Latest, Scrambled, Uniform};
use crate::ycsb::random::Random;

/// A hot set of records that most operations access.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::ycsb) struct Hotspot {
    low: u64,
    hot: u64,
    cold: u64,
    hot_share: f64,
}

impl Hotspot {
    /// `hot_data` of the records `low..=high` get `hot_share` of the operations; `None` if one of
    /// the two parts is empty but has a share.
    pub(in crate::ycsb) fn over(
        low: u64,
        high: u64,
        hot_data: f64,
        hot_share: f64,
    ) -> Option<Self> {
        let all = (high + 1).saturating_sub(low);
        let hot = (all as f64 * hot_data) as u64;
        let cold = all - hot.min(all);
        let possible = (hot > 0 || hot_share == 0.0) && (cold > 0 || hot_share == 1.0);
        possible.then_some(Self { low, hot, cold, hot_share })
    }

    fn draw(self, random: &mut Random) -> u64 {
        if random.unit() < self.hot_share {
            self.low + random.below(self.hot)
        } else {
            self.low + self.hot + random.below(self.cold)
        }
    }
}

/// `requestdistribution`.
#[derive(Debug, Clone)]
pub(in crate::ycsb) enum Keys {
    Uniform(Uniform),
    Zipfian(Scrambled),
    Latest(Latest),
    Hotspot(Hotspot),
    /// The rate at which the probability falls with the age of the record.
    Exponential(f64),
    /// One record after the other, shared by all threads.
    Sequential(Uniform, Arc<AtomicU64>),
}

impl Keys {
    /// The rate of [`Keys::Exponential`]: `percentile` percent of the draws are among the newest
    /// `range` records.
    pub(in crate::ycsb) fn exponential(percentile: f64, range: f64) -> Self {
        Self::Exponential(-(1.0 - percentile / 100.0).ln() / range)
    }

    /// An existing record, with `newest` as the last acknowledged one: draws beyond it are
    /// repeated.
    pub(in crate::ycsb) fn draw(&mut self, newest: u64, random: &mut Random) -> u64 {
        loop {
            let key = match self {
                Self::Uniform(uniform) => uniform.draw(random),
                Self::Zipfian(scrambled) => scrambled.draw(random),
                Self::Latest(latest) => latest.draw(newest, random),
                Self::Hotspot(hotspot) => hotspot.draw(random),
                Self::Sequential(range, next) => {
                    let all = range.high + 1 - range.low;
                    range.low + next.fetch_add(1, Ordering::Relaxed) % all
                }
                Self::Exponential(rate) => {
                    let age = (-random.unit().ln() / *rate) as u64;
                    // Older than the oldest is drawn again, like newer than the newest.
                    newest.checked_sub(age).unwrap_or(u64::MAX)
                }
            };
            if key <= newest {
                return key;
            }
        }
    }
}
