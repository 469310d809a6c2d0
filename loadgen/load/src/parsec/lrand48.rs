//! The random numbers of PARSEC: lrand48(3) of POSIX, after srand48(3).

const MULTIPLIER: u64 = 0x5_DEEC_E66D;
const INCREMENT: u64 = 0xB;
const MODULUS: u64 = 1 << 48;

/// The state of lrand48(3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lrand48(u64);

impl Lrand48 {
    /// srand48(3): the lower 32 bits of the seed become the higher bits of the state.
    pub(super) fn seeded(seed: u64) -> Self {
        Self(((seed & 0xFFFF_FFFF) << 16) | 0x330E)
    }

    /// The next number of 31 bits.
    pub(super) fn next(&mut self) -> u32 {
        self.0 = MULTIPLIER.wrapping_mul(self.0).wrapping_add(INCREMENT) % MODULUS;
        (self.0 >> 17) as u32
    }

    /// A number below `end`, computed as a remainder.
    pub(super) fn below(&mut self, end: usize) -> usize {
        self.next() as usize % end
    }

    /// A number from 0 to 1, both included, in single precision throughout.
    pub(super) fn unit(&mut self) -> f32 {
        self.next() as f32 / i32::MAX as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_numbers_after_seed_1_are_those_of_posix() {
        let mut random = Lrand48::seeded(1);
        let first: Vec<u32> = (0..4).map(|_| random.next()).collect();
        assert_eq!(first, [89_400_484, 976_015_093, 1_792_756_325, 721_524_505]);
    }

    #[test]
    fn a_unit_is_a_quotient_of_single_precision() {
        let mut random = Lrand48::seeded(1);
        assert_eq!(random.unit(), 89_400_484_f32 / 2_147_483_647_f32);
    }
}
