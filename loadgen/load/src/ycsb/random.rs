//! Random numbers: xoshiro256** (Blackman and Vigna, 2018), seeded by SplitMix64, one stream per
//! thread. Java's own streams cannot be reproduced, only their distribution.

/// A random stream.
#[derive(Debug, Clone)]
pub(super) struct Random {
    state: [u64; 4],
}

impl Random {
    /// The stream number `stream` of a seed.
    pub(super) fn new(seed: u64, stream: u64) -> Self {
        let mut point = seed ^ stream.wrapping_mul(0xD1B5_4A32_D192_ED03);
        Self { state: [(); 4].map(|()| split_mix(&mut point)) }
    }

    /// 64 random bits.
    pub(super) fn bits(&mut self) -> u64 {
        let [a, b, c, d] = &mut self.state;
        let result = b.wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let shifted = *b << 17;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= shifted;
        *d = d.rotate_left(45);
        result
    }

    /// Uniform in [0, 1), a multiple of 2^-53 as in Java.
    pub(super) fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform in `0..bound`; the bias of the remainder, below 2^-32 here, is the same as in YCSB.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        (self.bits() >> 1) % bound.max(1)
    }
}

fn split_mix(point: &mut u64) -> u64 {
    *point = point.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut mixed = *point;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seed_is_expanded_as_in_the_reference() {
        // The first three outputs of SplitMix64 from 1234567 in the reference code.
        let mut point = 1_234_567;
        let outputs = [(); 3].map(|()| split_mix(&mut point));
        assert_eq!(
            outputs,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn streams_of_a_seed_differ_and_repeat() {
        assert_eq!(Random::new(7, 1).bits(), Random::new(7, 1).bits());
        assert_ne!(Random::new(7, 1).bits(), Random::new(7, 2).bits());
    }

    #[test]
    fn units_fill_their_range_evenly() {
        let mut random = Random::new(1, 0);
        let mut parts = [0u32; 10];
        for _ in 0..100_000 {
            parts[(random.unit() * 10.0) as usize] += 1;
        }
        let chi: f64 = parts.iter().map(|&outputs| (f64::from(outputs) - 1e4).powi(2) / 1e4).sum();
        assert!(chi < 27.9, "chi-square {chi} with 9 degrees of freedom, p < 0.001");
    }
}
