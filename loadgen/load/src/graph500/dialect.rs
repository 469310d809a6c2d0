//! The two versions of the reference that results are compared with. They differ in the graph, in
//! the choice of roots, in what counts as a traversed edge and in the output.

use clap::ValueEnum;

use super::random::Stream;

/// A version of the benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Dialect {
    /// 2.1.4 of 2011, shared memory (`omp-csr`)
    #[value(name = "2.1.4", alias = "2")]
    V2,
    /// 3.0 of 2017, MPI
    #[value(name = "3.0", alias = "3")]
    V3,
}

impl Dialect {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::V2 => "2.1.4",
            Self::V3 => "3.0",
        }
    }

    /// The two seeds: one number twice in 2.1.4; 2 and 3 in 3.0, where `--seed` replaces the first
    /// and its successor the second.
    pub(super) fn seeds(self, seed: Option<u64>) -> (u64, u64) {
        match self {
            Self::V2 => {
                let seed = seed.unwrap_or(0xDECA_FBAD);
                (seed, seed)
            }
            Self::V3 => {
                let seed = seed.unwrap_or(2);
                (seed, seed.wrapping_add(1))
            }
        }
    }

    pub(super) fn stream(self, seed: Option<u64>) -> Stream {
        let (one, two) = self.seeds(seed);
        Stream::from_seeds(one, two)
    }

    /// Draws below this are rejected, so that the remainder by 10000 is unbiased: 2^32 - 1 modulo
    /// 10000 in 2.1.4, and 2^31 - 1 modulo 10000 in 3.0, which is right for the range of the draws.
    pub(super) fn rejected_below(self) -> u32 {
        match self {
            Self::V2 => 0xFFFF_FFFF % 10_000,
            Self::V3 => 0x7FFF_FFFF % 10_000,
        }
    }

    /// Whether a loop counts as a traversed edge. The code of 3.0 drops loops, contrary to its own
    /// specification.
    pub(super) fn counts_loops(self) -> bool {
        self == Self::V2
    }
}
