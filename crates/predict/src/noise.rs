//! Seeded randomness that is the same in every version: a prediction can be made again.

/// SplitMix64 (Steele, Lea and Flood 2014).
#[derive(Debug, Clone)]
pub(crate) struct Noise(u64);

impl Noise {
    /// A stream of its own for each seed.
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed ^ 0x005e_ed0f_a55a_7e57)
    }

    /// The next number, evenly spread over 64 bits.
    pub(crate) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Evenly spread over `[0, 1)`.
    pub(crate) fn part(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A time around its mean: service times vary, and a simulation whose times are all alike
    /// falls into step.
    pub(crate) fn around(&mut self, mean: f64) -> f64 {
        mean * (0.75 + 0.5 * self.part())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_spread_around_their_mean_and_the_same_for_a_seed() {
        let draw = |seed| {
            let mut noise = Noise::new(seed);
            (0..10_000).map(|_| noise.around(2.0)).collect::<Vec<f64>>()
        };
        let times = draw(7);
        assert!((times.iter().sum::<f64>() / 10_000.0 - 2.0).abs() < 0.02);
        assert!(times.iter().all(|time| (1.5..2.5).contains(time)));
        assert_eq!(times, draw(7));
        assert_ne!(times, draw(8));
    }
}
