//! A sequence with one multiplication per step that can be verified without walking it: a linear
//! congruential generator modulo 2^64 with the multiplier of Knuth's MMIX.

const FACTOR: u64 = 6_364_136_223_846_793_005;
const TERM: u64 = 1_442_695_040_888_963_407;

/// A state of the sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sequence(u64);

impl Sequence {
    pub(super) fn from_seed(seed: u64) -> Self {
        Self(seed)
    }

    /// Advances by `steps` dependent steps.
    pub(super) fn walk(&mut self, steps: u64) {
        let mut at = self.0;
        for _ in 0..steps {
            // Opaque, since a compiler could also skip ahead.
            at = std::hint::black_box(at.wrapping_mul(FACTOR).wrapping_add(TERM));
        }
        self.0 = at;
    }

    /// The state after `steps` steps, by repeated squaring (Brown, "Random number generation with
    /// arbitrary strides", 1994).
    pub(super) fn after(self, mut steps: u64) -> Self {
        let (mut factor, mut term) = (FACTOR, TERM);
        let mut at = self.0;
        while steps > 0 {
            if steps & 1 == 1 {
                at = at.wrapping_mul(factor).wrapping_add(term);
            }
            term = term.wrapping_mul(factor.wrapping_add(1));
            factor = factor.wrapping_mul(factor);
            steps >>= 1;
        }
        Self(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jump_equals_a_walk() {
        for steps in [0, 1, 2, 3, 1000, 65_537] {
            let mut walked = Sequence::from_seed(99);
            walked.walk(steps);
            assert_eq!(walked, Sequence::from_seed(99).after(steps), "{steps}");
        }
        assert_ne!(Sequence::from_seed(99).after(1000), Sequence::from_seed(99).after(1001));
    }
}
