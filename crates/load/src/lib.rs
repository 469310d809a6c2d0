//! Assay's own load generators, each exact to its published definition and each also usable alone
//! as `assay-load NAME`. This file is the map; `registry` lists the generators, `generator` says
//! what one is, and all the rest of the top level is what they share.

mod arguments;
mod bandwidth;
mod build;
mod caches;
mod chase;
mod failure;
mod filebench;
mod footprint;
mod generator;
mod graph500;
mod headroom;
mod hog;
mod input;
mod latency;
mod measured;
mod output;
mod pages;
mod parallel_region;
mod parsec;
mod placement;
mod registry;
mod sleep;
mod spin;
mod vectors;
mod ycsb;

pub use arguments::command;
pub use failure::Failure;
pub use filebench::check_script;
pub use footprint::{Footprint, Phase};
pub use generator::{Entry, Finished, Generator, Report};
pub use headroom::{GroupRoom, Headroom};
pub use measured::Backing;
pub use output::Reporter;
pub use registry::GENERATORS;
pub use ycsb::check_properties;

/// Arguments with the spellings of the founders' own command lines replaced by those that
/// [`command`] knows: `-threads` of YCSB has one dash.
#[must_use]
pub fn spelled(arguments: impl IntoIterator<Item = std::ffi::OsString>) -> Vec<std::ffi::OsString> {
    ycsb::spelled(arguments)
}

/// Runs the generator that the arguments name (`matches` of [`command`]) and returns what it has
/// to say. `json` in the arguments decides nothing here: a report has both forms.
pub fn run(matches: &clap::ArgMatches, talk: &dyn Reporter) -> Result<Report, Failure> {
    let (name, own) = matches
        .subcommand()
        .ok_or_else(|| Failure::usage("no generator is named; see `assay-load --help`"))?;
    let entry = GENERATORS
        .iter()
        .find(|entry| entry.name == name)
        .ok_or_else(|| Failure::usage(format!("there is no generator `{name}`")))?;
    (entry.start)(own, &assay_kernel::Root::real(), talk)
}
