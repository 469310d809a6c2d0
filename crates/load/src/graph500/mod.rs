//! graph500: a large graph with no locality, searched 64 times. The definitions and how they were
//! met stand in docs/load/compute.md.

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

/// Arguments, with the letters of the reference where it has them.
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
    /// The version of the reference: its graph, its roots, its count of edges, its output
    #[arg(long, value_enum, default_value_t = Dialect::V2)]
    dialect: Dialect,
    /// Run kernel 3 too: shortest paths by weight from the same roots
    #[arg(long)]
    sssp: bool,
    /// Searches, each from another root
    #[arg(long, value_name = "N", default_value_t = 64)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    searches: u32,
    /// Leave the validation out; the result says so
    #[arg(long)]
    skip_validation: bool,
}

/// Labels are 32 bits wide, and the last value stands for no vertex.
const LARGEST_SCALE: u32 = 31;

impl Graph500 {
    fn size(&self) -> Result<Size, Failure> {
        if self.scale > LARGEST_SCALE {
            return Err(Failure::Unable {
                what: format!(
                    "SCALE {} has more vertices than the 32 bits of a label here can tell apart",
                    self.scale
                ),
                remedy: format!(
                    "use a SCALE of at most {LARGEST_SCALE} (about 580 GiB at edgefactor 16)"
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

    fn run(&self, shared: &Shared, talk: &dyn Reporter) -> Result<Finished, Failure> {
        let (outcome, backing) = run::run(self, self.size()?, shared, talk)?;
        let report = Report { text: output::text(&outcome), json: output::json(&outcome) };
        Ok(Finished { report, backing })
    }
}
