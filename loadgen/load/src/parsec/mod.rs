//! Two programs of PARSEC (Bienia, "Benchmarking Modern Multiprocessors", 2011), written from their
//! published definitions: `blackscholes` is bound by computation, `streamcluster` by memory
//! bandwidth.

mod blackscholes;
mod lrand48;
mod streamcluster;

use crate::failure::Failure;

pub(crate) use blackscholes::Blackscholes;
pub(crate) use streamcluster::Streamcluster;

/// First line of both programs' output.
const BANNER: &str = "PARSEC Benchmark Suite";

/// `--time` in nanoseconds.
fn for_ns(seconds: Option<f64>) -> Result<Option<u64>, Failure> {
    match seconds {
        Some(time) if !(time > 0.0 && time <= 1e9) => {
            Err(Failure::usage(format!("--time {time}: must be more than 0 seconds")))
        }
        _ => Ok(seconds.map(|seconds| (seconds * 1e9) as u64)),
    }
}
