//! graph500: a large graph without locality, searched 64 times. docs/load/compute.md describes the
//! definitions and how they are met.

mod bitmap;
mod c_format;
mod construct;
mod dialect;
mod graph;
mod kronecker;
mod outcome;
mod output;
mod random;
mod roots;
mod run;
mod search;
mod shortest;
mod size;
mod statistics;
mod trees;
mod validate;

use clap::Args;

use crate::arguments::Shared;
use crate::failure::Failure;
use crate::footprint::Footprint;
use crate::generator::{Finished, Generator, Report};
use crate::output::Reporter;
use dialect::Dialect;
use size::Size;

/// Command-line arguments, with the letters of the reference where it has them.
#[derive(Debug, Clone, Args)]
pub(crate) struct Graph500 {
    /// Base 2 logarithm of the number of vertices
    #[arg(short, long, value_name = "SCALE", default_value_t = 14)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    scale: u32,
    /// Edges per vertex: half of the mean degree
    #[arg(short, long, value_name = "N", default_value_t = 16)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    edgefactor: u32,
    /// Version of the reference: its graph, roots, edge count and output
    #[arg(long, value_enum, default_value_t = Dialect::V2)]
    dialect: Dialect,
    /// Also run kernel 3: shortest paths by weight from the same roots
    #[arg(long)]
    sssp: bool,
    /// Number of searches, each from another root
    #[arg(long, value_name = "N", default_value_t = 64)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    searches: u32,
    /// Skip the validation; the result says so
    #[arg(long)]
    skip_validation: bool,
}

/// Labels are 32 bits wide, and the last value means no vertex.
const MAX_SCALE: u32 = 31;

impl Graph500 {
    fn size(&self) -> Result<Size, Failure> {
        if self.scale > MAX_SCALE {
            return Err(Failure::Unable {
                what: format!(
                    "SCALE {} has more vertices than labels of 32 bits can number",
                    self.scale
                ),
                remedy: format!(
                    "use a SCALE of at most {MAX_SCALE} (about 580 GiB at edgefactor 16)"
                ),
            });
        }
        Ok(Size { scale: self.scale, edgefactor: self.edgefactor, weighted: self.sssp })
    }
}

impl Generator for Graph500 {
    const NAME: &'static str = "graph500";
    const ABOUT: &'static str =
        "Breadth-first searches (and shortest paths) through a large Kronecker graph";

    fn footprint(&self, shared: &Shared) -> Result<Footprint, Failure> {
        Ok(self.size()?.footprint(shared.workers()))
    }

    fn run(&self, shared: &Shared, reporter: &dyn Reporter) -> Result<Finished, Failure> {
        let (outcome, backing) = run::run(self, self.size()?, shared, reporter)?;
        let report = Report { text: output::text(&outcome), json: output::json(&outcome) };
        Ok(Finished { report, backing })
    }
}
