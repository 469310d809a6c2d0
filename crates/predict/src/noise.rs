//! Seeded randomness that is stable across versions, so that predictions are reproducible.

/// SplitMix64 (Steele, Lea and Flood 2014).
#[derive(Debug, Clone)]
pub(crate) struct Noise(u64);

impl Noise {
    /// Each seed has its own stream.
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed ^ 0x005e_ed0f_a55a_7e57)
    }

    /// The next number, uniform over 64 bits.
    pub(crate) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform over `[0, 1)`.
    pub(crate) fn part(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A random time around a mean: service times vary, and a simulation with constant times would
    /// synchronise artificially.
    pub(crate) fn around(&mut self, mean: f64) -> f64 {
        mean * (0.75 + 0.5 * self.part())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_vary_around_their_mean_and_are_reproducible() {
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
