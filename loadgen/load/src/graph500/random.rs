//! The random numbers of graph500: a multiple recursive generator of order 5 modulo 2^31 - 1
//! (L'Ecuyer, Blouin and Couture 1993), with jumps to any position of its stream. Bit-exact to
//! `generator/splittable_mrg.c` of the reference.

/// 2^31 - 1, the modulus.
pub(super) const MODULUS: u32 = 0x7FFF_FFFF;

/// Multipliers of the youngest and of the oldest element.
const X: u64 = 107_374_182;
const Y: u64 = 104_480;

/// `1 / m` and `1 / m^2`: the doubles nearest to the decimals in the reference.
const SCALE: f64 = 0.000_000_000_465_661_287_524_579_7;
const SCALE_SQUARED: f64 = 0.000_000_000_000_000_000_216_840_434_699_049_3;

/// Folds a value below 2^62 into `0..m`.
#[inline]
pub(super) const fn reduce(value: u64) -> u32 {
    // 2^31 is 1 modulo m, so that the upper bits count like the lower ones.
    let once = (value & MODULUS as u64) + (value >> 31);
    let twice = ((once & MODULUS as u64) + (once >> 31)) as u32;
    if twice >= MODULUS { twice - MODULUS } else { twice }
}

/// A position in the stream: the last five elements, the youngest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stream(pub(super) [u32; 5]);

impl Stream {
    /// The start of the stream of two 64-bit seeds, spread over five nonzero values.
    pub(super) fn from_seeds(one: u64, two: u64) -> Self {
        let low = |seed: u64| (seed & 0x3FFF_FFFF) as u32 + 1;
        let last = ((two >> 60) << 4) + (one >> 60) + 1;
        Self([low(one), low(one >> 30), low(two), low(two >> 30), last as u32])
    }

    /// The next integer, in `0..m`.
    #[inline]
    pub(super) fn next(&mut self) -> u32 {
        let [z1, z2, z3, z4, z5] = self.0;
        let next = reduce(X * u64::from(z1) + Y * u64::from(z5));
        self.0 = [next, z1, z2, z3, z4];
        next
    }

    /// The next double, in `0.0..1.0`; uses two integers.
    pub(super) fn next_double(&mut self) -> f64 {
        let coarse = f64::from(self.next()) * SCALE;
        coarse + f64::from(self.next()) * SCALE_SQUARED
    }

    /// The next weight of an edge: an integer converted to single precision, scaled in double
    /// precision, and rounded again, as C evaluates the reference's expression.
    pub(super) fn next_weight(&mut self) -> f32 {
        (f64::from(self.next() as f32) * SCALE) as f32
    }
}

/// One or many steps of the stream, as a matrix on its five elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Jump([[u32; 5]; 5]);

impl Jump {
    /// One step.
    const STEP: Self = Self([
        [X as u32, 0, 0, 0, Y as u32],
        [1, 0, 0, 0, 0],
        [0, 1, 0, 0, 0],
        [0, 0, 1, 0, 0],
        [0, 0, 0, 1, 0],
    ]);

    /// The stream after this jump.
    #[inline]
    pub(super) fn applied_to(&self, stream: Stream) -> Stream {
        Stream(self.0.map(|row| {
            let product = |at: usize| u64::from(row[at]) * u64::from(stream.0[at]);
            // Three products fit 64 bits, five do not.
            let three = reduce_wide(product(0) + product(1) + product(2));
            reduce(three + reduce_wide(product(3) + product(4)))
        }))
    }

    /// This jump twice.
    fn doubled(&self) -> Self {
        // Columns of a matrix transform like streams.
        let mut square = [[0; 5]; 5];
        for column in 0..5 {
            let image = self.applied_to(Stream(self.0.map(|row| row[column])));
            for (row, value) in image.0.into_iter().enumerate() {
                square[row][column] = value;
            }
        }
        Self(square)
    }
}

/// One reduction of a 64-bit value; the result is below 2^34.
#[inline]
const fn reduce_wide(value: u64) -> u64 {
    (value & MODULUS as u64) + (value >> 31)
}

/// Jumps by powers of two, up to 2^191 steps.
pub(super) struct Jumps(Vec<Jump>);

impl Jumps {
    pub(super) fn new() -> Self {
        let mut jump = Jump::STEP;
        let mut powers = Vec::with_capacity(192);
        for _ in 0..192 {
            powers.push(jump);
            jump = jump.doubled();
        }
        Self(powers)
    }

    /// The jump by 2^`power` steps.
    pub(super) fn power(&self, power: usize) -> Jump {
        self.0[power]
    }

    /// The stream after `high * 2^128 + middle * 2^64 + low` steps.
    pub(super) fn skip(&self, mut stream: Stream, high: u64, middle: u64, low: u64) -> Stream {
        for (word, steps) in [low, middle, high].into_iter().enumerate() {
            for bit in (0..64).filter(|bit| steps >> bit & 1 == 1) {
                stream = self.0[word * 64 + bit].applied_to(stream);
            }
        }
        stream
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(mut stream: Stream, count: usize) -> Vec<u32> {
        (0..count).map(|_| stream.next()).collect()
    }

    /// Test vectors of the reference, 2.1.4 with SEED 0xDECAFBAD.
    #[test]
    fn the_stream_of_the_default_seed_matches_the_reference() {
        let start = Stream::from_seeds(0xDECA_FBAD, 0xDECA_FBAD);
        assert_eq!(start, Stream([516_619_182, 4, 516_619_182, 4, 1]));
        assert_eq!(first(start, 4), [34_036_131, 1_169_621_280, 1_108_784_214, 1_115_581_998]);
        let second = Jumps::new().skip(start, 0, 1, 0);
        assert_eq!(first(second, 3), [1_813_004_043, 2_125_456_108, 2_082_795_976]);
    }

    /// Test vectors of the reference, 3.0 with its seeds 2 and 3.
    #[test]
    fn the_stream_of_two_different_seeds_matches_the_reference() {
        let start = Stream::from_seeds(2, 3);
        assert_eq!(start, Stream([3, 1, 4, 1, 1]));
        assert_eq!(first(start, 3), [322_227_026, 531_570_115, 1_424_981_115]);
    }

    #[test]
    fn a_jump_equals_its_steps() {
        let jumps = Jumps::new();
        let mut walked = Stream::from_seeds(1, u64::MAX);
        for _ in 0..1000 {
            walked.next();
        }
        assert_eq!(jumps.skip(Stream::from_seeds(1, u64::MAX), 0, 0, 1000), walked);
        let twice = jumps.skip(jumps.skip(walked, 0, u64::MAX, u64::MAX), 0, 0, 1);
        assert_eq!(twice, jumps.skip(walked, 1, 0, 0), "2^128 - 1 steps and one more");
    }

    #[test]
    fn doubles_and_weights_stay_in_their_range() {
        let mut stream = Stream::from_seeds(7, 7);
        for _ in 0..1000 {
            assert!((0.0..1.0).contains(&stream.next_double()));
            assert!((0.0..=1.0).contains(&stream.next_weight()));
        }
    }
}
