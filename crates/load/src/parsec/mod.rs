//! Two programs of PARSEC (Bienia, "Benchmarking Modern Multiprocessors", 2011), written from their
//! published definitions: `blackscholes`, which computes, and `streamcluster`, which streams.

mod blackscholes;
mod lrand48;
mod streamcluster;

pub(crate) use blackscholes::Blackscholes;
pub(crate) use streamcluster::Streamcluster;

/// What both print first.
const BANNER: &str = "PARSEC Benchmark Suite";
