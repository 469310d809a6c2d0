//! The edge list: tuples of a Kronecker graph, bit-exact to `generator/graph_generator.c` of the
//! reference. Every edge has a random stream of its own, so that any thread can generate any part.

use assay_sys::kernel::Error;
use assay_sys::kernel::anonymous_memory::{HugePages, Pages};

use super::dialect::Dialect;
use super::random::{Jump, Jumps, Stream};
use crate::output::Reporter;
use crate::parallel_region::{ParallelRegion, cut};

/// The tuples of a graph as specified by the benchmark: undirected, with duplicates and loops,
/// unordered, and kept unchanged for the validation.
#[derive(Debug)]
pub(super) struct EdgeList {
    pub(super) pairs: Pages<[u32; 2]>,
    /// Weights in `0.0..=1.0`, one per tuple, if kernel 3 runs.
    pub(super) weights: Option<Pages<f32>>,
}

/// Parts per 10000 of the quadrants: B and C, B + C, and A + B + C.
const B: u32 = 1900;
const BC: u32 = 3800;
const ABC: u32 = 9500;

/// Edges generated side by side, since each is a chain of dependent multiplications.
const LANES: usize = 4;

/// The generator of one graph.
pub(super) struct Kronecker {
    scale: u32,
    rejected_below: u32,
    start: Stream,
    jumps: Jumps,
    /// From the stream of one edge to that of the next: 2^64 steps.
    to_next: Jump,
    keys: (u64, u64),
}

impl Kronecker {
    pub(super) fn new(scale: u32, dialect: Dialect, seed: Option<u64>) -> Self {
        let start = dialect.stream(seed);
        let jumps = Jumps::new();
        let mut stream = jumps.skip(start, 50, 7, 0);
        // The multiplier is 2^32 - 1 and not 2^32.
        let mut key = || {
            let high = u64::from(stream.next()).wrapping_mul(0xFFFF_FFFF);
            high.wrapping_add(u64::from(stream.next()))
        };
        let keys = (key(), key());
        let to_next = jumps.power(64);
        Self { scale, rejected_below: dialect.rejected_below(), start, jumps, to_next, keys }
    }

    /// Generates `count` tuples with all threads, with weights if `weighted`.
    pub(super) fn generate(
        &self,
        region: ParallelRegion,
        count: usize,
        weighted: bool,
        huge: HugePages,
        reporter: &dyn Reporter,
    ) -> Result<EdgeList, Error> {
        let mut pairs = Pages::zeroed(count, huge)?;
        let mut weights = weighted.then(|| Pages::zeroed(count, huge)).transpose()?;
        let shares = region.shares(count);
        let own_weights = match &mut weights {
            Some(weights) => cut(weights, &shares).into_iter().map(Some).collect(),
            None => shares.iter().map(|_| None).collect::<Vec<_>>(),
        };
        let parts = shares.iter().zip(cut(&mut pairs, &shares)).zip(own_weights).collect();
        region.each(parts, |worker, ((share, pairs), weights)| {
            let report = |done: usize| {
                if worker.id == 0 {
                    reporter.progress("edges", done * region.size(), count);
                }
            };
            self.fill(share.start as u64, pairs, weights, report);
        });
        Ok(EdgeList { pairs, weights })
    }

    /// Generates the edges from number `first` on.
    fn fill(
        &self,
        first: u64,
        pairs: &mut [[u32; 2]],
        mut weights: Option<&mut [f32]>,
        report: impl Fn(usize),
    ) {
        let mut stream = self.jumps.skip(self.start, 0, first, 0);
        for (at, group) in pairs.chunks_mut(LANES).enumerate() {
            let mut streams = [stream; LANES];
            for lane in &mut streams {
                *lane = stream;
                stream = self.to_next.applied_to(stream);
            }
            let tuples = self.edges(&mut streams);
            let length = group.len();
            group.copy_from_slice(&tuples[..length]);
            if let Some(weights) = weights.as_deref_mut() {
                let own = weights[at * LANES..].iter_mut();
                own.zip(&mut streams).take(length).for_each(|(w, s)| *w = s.next_weight());
            }
            if at % (1 << 16) == 0 {
                report(at * LANES);
            }
        }
    }

    /// Walks down the levels of the matrix, the most significant bit first.
    #[inline]
    fn edges(&self, streams: &mut [Stream; LANES]) -> [[u32; 2]; LANES] {
        let mut pairs = [[0u32; 2]; LANES];
        for _ in 0..self.scale {
            for (stream, pair) in streams.iter_mut().zip(&mut pairs) {
                let mut draw = stream.next();
                while draw < self.rejected_below {
                    draw = stream.next();
                }
                *pair = descend(*pair, draw % 10_000);
            }
        }
        pairs.map(|pair| pair.map(|vertex| self.scramble(vertex)))
    }

    /// Permutes the labels, so that they do not reveal the degrees.
    fn scramble(&self, vertex: u32) -> u32 {
        let (one, two) = self.keys;
        let short = |value: u64| value.reverse_bits() >> (64 - self.scale);
        let value = u64::from(vertex).wrapping_add(one).wrapping_add(two);
        let value = short(value.wrapping_mul(one | 0x4519_8402_1149_3211));
        short(value.wrapping_mul(two | 0x3050_8521_02C8_43A5)) as u32
    }
}

/// Descends one level: appends a bit to each end. As long as both ends are the same, the lower left
/// quadrant is folded into the upper right one, because edges have no direction.
#[inline]
fn descend([source, target]: [u32; 2], part: u32) -> [u32; 2] {
    let lower = u32::from(part.wrapping_sub(B) < BC - B || part >= ABC);
    let right = u32::from(!(B..ABC).contains(&part));
    let (lower, right) =
        if source == target { (lower & right, lower | right) } else { (lower, right) };
    [source << 1 | lower, target << 1 | right]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Silence;

    const REFERENCE_2: Dialect = Dialect::V2;

    fn edges(scale: u32, dialect: Dialect, threads: usize) -> EdgeList {
        Kronecker::new(scale, dialect, None)
            .generate(ParallelRegion::new(threads), 16 << scale, true, HugePages::System, &Silence)
            .unwrap()
    }

    /// A checksum over all edges, also computed with the reference's generator.
    fn sum(pairs: &[[u32; 2]]) -> u64 {
        pairs.iter().fold(0u64, |sum, [from, to]| {
            sum.wrapping_mul(31).wrapping_add(u64::from(*from) * 7).wrapping_add(u64::from(*to))
        })
    }

    #[test]
    fn scramble_keys_match_the_reference() {
        let keys = |dialect| Kronecker::new(10, dialect, None).keys;
        assert_eq!(keys(REFERENCE_2), (6_596_716_350_097_770_184, 8_522_051_933_364_737_159));
        assert_eq!(keys(Dialect::V3), (7_111_014_902_169_325_161, 3_043_718_919_927_570_188));
    }

    #[test]
    fn edges_of_2_1_4_match_the_reference() {
        for (scale, first, last, checksum) in [
            (4, [[0, 13], [4, 4], [4, 4], [4, 0]], [4, 13], 442_954_796_908_675_329),
            (
                10,
                [[43, 928], [87, 989], [815, 345], [858, 772]],
                [554, 699],
                823_548_247_486_186_692,
            ),
            (
                16,
                [[20_603, 59_470], [50_050, 36_165], [46_717, 28_427], [32_603, 47_698]],
                [12_690, 48_149],
                13_665_818_103_984_161_556,
            ),
        ] {
            let edges = edges(scale, REFERENCE_2, 2).pairs;
            assert_eq!(edges[..4], first, "SCALE {scale}");
            assert_eq!(edges[edges.len() - 1], last, "SCALE {scale}");
            assert_eq!(sum(&edges), checksum, "SCALE {scale}");
        }
    }

    /// Edges, weights and checksums of the generator of 3.0 with its own rejection limit.
    #[test]
    fn edges_and_weights_of_3_0_match_the_reference() {
        let list = edges(10, Dialect::V3, 3);
        let weights = list.weights.unwrap();
        assert_eq!(list.pairs[..4], [[299, 797], [684, 861], [185, 385], [428, 328]]);
        assert_eq!(list.pairs[16_383], [206, 55]);
        assert_eq!(weights[..4], [0.490_170_42, 0.528_551_46, 0.651_318_9, 0.263_168_7]);
        assert_eq!(weights[16_383], 0.848_867_83);
        assert_eq!(sum(&list.pairs), 7_138_739_390_546_328_095);
        assert_eq!(sum(&edges(6, Dialect::V3, 1).pairs), 352_433_972_859_124_685);
        assert_eq!(sum(&edges(13, Dialect::V3, 2).pairs), 14_574_924_277_449_419_024);
    }

    #[test]
    fn the_graph_does_not_depend_on_the_number_of_threads() {
        let one = edges(8, REFERENCE_2, 1);
        for threads in [2, 3, 7, 64] {
            let many = edges(8, REFERENCE_2, threads);
            assert_eq!(*one.pairs, *many.pairs, "{threads} threads");
            assert_eq!(one.weights.as_deref(), many.weights.as_deref(), "{threads} threads");
        }
    }

    #[test]
    fn labels_are_permuted_and_not_lost() {
        let recipe = Kronecker::new(10, REFERENCE_2, None);
        let mut labels: Vec<u32> = (0..1024).map(|vertex| recipe.scramble(vertex)).collect();
        labels.sort_unstable();
        assert!(labels.into_iter().eq(0..1024));
    }
}
