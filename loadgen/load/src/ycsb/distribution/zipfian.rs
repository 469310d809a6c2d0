//! Zipfian popularity: the method of Gray et al. ("Quickly Generating Billion-Record Synthetic
//! Databases", SIGMOD 1994) with theta 0.99, and the two distributions that YCSB builds on it.

use crate::ycsb::hash::fnv64;
use crate::ycsb::random::Random;

const THETA: f64 = 0.99;
/// 1 / (1 - theta) as computed by YCSB, which is not exactly 100.
const ALPHA: f64 = 1.0 / (1.0 - THETA);

/// The sum of i^-theta for i from `from` + 1 to `to`, on top of `sum`.
fn zeta(from: u64, to: u64, sum: f64) -> f64 {
    (from..to).fold(sum, |sum, item| sum + 1.0 / ((item + 1) as f64).powf(THETA))
}

fn eta(items: u64, zeta_of_all: f64) -> f64 {
    (1.0 - (2.0 / items as f64).powf(1.0 - THETA)) / (1.0 - zeta(0, 2, 0.0) / zeta_of_all)
}

/// Ranks from `base` on, the first one the most popular.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::ycsb) struct Zipfian {
    base: u64,
    items: u64,
    zeta: f64,
    eta: f64,
}

impl Zipfian {
    /// Over `low..=high`. Takes time proportional to their number.
    pub(in crate::ycsb) fn over(low: u64, high: u64) -> Self {
        let items = (high + 1).saturating_sub(low);
        Self::with_zeta(low, items, zeta(0, items, 0.0))
    }

    fn with_zeta(base: u64, items: u64, zeta: f64) -> Self {
        Self { base, items, zeta, eta: eta(items, zeta) }
    }

    pub(in crate::ycsb) fn draw(&self, random: &mut Random) -> u64 {
        self.at(random.unit())
    }

    /// The rank of a number in [0, 1).
    fn at(&self, unit: f64) -> u64 {
        let scaled = unit * self.zeta;
        if scaled < 1.0 {
            return self.base;
        }
        if scaled < 1.0 + 0.5f64.powf(THETA) {
            return self.base + 1;
        }
        let spread = (self.eta * unit - self.eta + 1.0).powf(ALPHA);
        self.base + (self.items as f64 * spread) as u64
    }

    /// The mean rank: the sum of i * i^-theta / zeta, by its integral.
    pub(in crate::ycsb) fn mean(&self) -> f64 {
        let items = self.items as f64;
        self.base as f64 + (items.powf(2.0 - THETA) / (2.0 - THETA)) / self.zeta.max(1.0)
    }
}

/// Zipfian over ten thousand million ranks whose popular ones are scattered over `min..=max` by a
/// hash: the meaning of `requestdistribution=zipfian`.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::ycsb) struct Scrambled {
    ranks: Zipfian,
    min: u64,
    items: u64,
}

impl Scrambled {
    const RANKS: u64 = 10_000_000_000;
    /// Zeta of all ranks, computed once by YCSB's authors.
    const ZETA: f64 = 26.469_028_201_783_02;

    pub(in crate::ycsb) fn over(min: u64, max: u64) -> Self {
        let ranks = Zipfian::with_zeta(0, Self::RANKS + 1, Self::ZETA);
        // The full 64-bit range has one more element than 64 bits can count.
        Self { ranks, min, items: (max - min).saturating_add(1) }
    }

    pub(in crate::ycsb) fn draw(&self, random: &mut Random) -> u64 {
        self.min + fnv64(self.ranks.draw(random)) % self.items
    }
}

/// The newest records are the most popular: the number of the newest minus a Zipfian rank.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::ycsb) struct Latest {
    ranks: Zipfian,
    /// The number of items that `ranks.zeta` covers.
    counted: u64,
}

impl Latest {
    /// With `newest` as the number of the newest record at the start.
    pub(in crate::ycsb) fn from(newest: u64) -> Self {
        let ranks = Zipfian::with_zeta(0, newest, zeta(0, newest, 0.0));
        Self { ranks, counted: newest }
    }

    /// As in YCSB, eta is recomputed with the number of items at the start, and the spread is over
    /// the current ones.
    pub(in crate::ycsb) fn draw(&mut self, newest: u64, random: &mut Random) -> u64 {
        if newest > self.counted {
            self.ranks.zeta = zeta(self.counted, newest, self.ranks.zeta);
            self.ranks.eta = eta(self.ranks.items, self.ranks.zeta);
            self.counted = newest;
        }
        let now = Zipfian { items: newest, ..self.ranks };
        newest - now.draw(random).min(newest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sums in another order differ in the last digits.
    fn close(actual: f64, expected: f64) {
        assert!((actual / expected - 1.0).abs() < 1e-12, "{actual} {expected}");
    }

    #[test]
    fn the_constants_are_those_of_ycsb() {
        close(zeta(0, 2, 0.0), 1.503_477_775_028_359_4);
        close(zeta(0, 1000, 0.0), 7.728_953_217_284_729);
        close(zeta(0, 1_000_000, 0.0), 15.391_849_746_037_371);
        assert!((ALPHA - 100.0).abs() < 1e-10, "{ALPHA}");
    }

    #[test]
    fn a_zeta_that_grows_is_the_zeta_of_the_whole() {
        close(zeta(1000, 5000, zeta(0, 1000, 0.0)), zeta(0, 5000, 0.0));
    }

    #[test]
    fn ranks_stay_within_their_range_at_both_ends() {
        let zipfian = Zipfian::over(10, 1009);
        assert_eq!(zipfian.at(0.0), 10);
        assert_eq!(zipfian.at(1.2 / zipfian.zeta), 11);
        assert!((1000..=1009).contains(&zipfian.at(1.0 - 1e-9)));
    }

    #[test]
    fn the_popular_ranks_have_the_share_that_the_law_gives_them() {
        let zipfian = Zipfian::over(0, 999);
        let mut random = Random::new(3, 0);
        let mut counts = [0u32; 2];
        for _ in 0..200_000 {
            if let Some(count) = counts.get_mut(zipfian.draw(&mut random) as usize) {
                *count += 1;
            }
        }
        for (rank, count) in counts.iter().enumerate() {
            let share = 1.0 / ((rank + 1) as f64).powf(THETA) / zipfian.zeta;
            let expected = 200_000.0 * share;
            let off = (f64::from(*count) - expected) / (expected * (1.0 - share)).sqrt();
            assert!(off.abs() < 4.0, "rank {rank}: {off} standard deviations");
        }
    }

    #[test]
    fn the_hottest_scrambled_keys_are_where_and_as_hot_as_published() {
        let scrambled = Scrambled::over(0, 1000);
        let mut random = Random::new(4, 0);
        let mut counts = vec![0u32; 1001];
        let draws = 500_000;
        for _ in 0..draws {
            counts[scrambled.draw(&mut random) as usize] += 1;
        }
        // Besides its own share each has those of the ranks in the tail that are hashed to it.
        for (rank, least, most) in [(0, 0.0378, 0.0388), (1, 0.0190, 0.0200)] {
            let share = f64::from(counts[(fnv64(rank) % 1001) as usize]) / f64::from(draws);
            assert!((least - 0.001..most + 0.001).contains(&share), "rank {rank}: {share}");
        }
    }

    #[test]
    fn latest_never_passes_the_newest_and_prefers_it() {
        let mut latest = Latest::from(999);
        let mut random = Random::new(5, 0);
        let mut newest_drawn = 0;
        for step in 0..20_000u64 {
            let newest = 999 + step / 100;
            let drawn = latest.draw(newest, &mut random);
            assert!(drawn <= newest);
            newest_drawn += u64::from(drawn == newest);
        }
        // 1 / zeta(about 1100) = 12.8 %.
        assert!((2350..2780).contains(&newest_drawn), "{newest_drawn}");
        close(latest.ranks.zeta, zeta(0, latest.counted, 0.0));
    }
}
