//! Assay's own load generators, each exact to its published definition and usable alone as
//! `assay-load NAME`. `registry` lists the generators, `generator` defines their interface, and the
//! other top-level modules are shared by them.

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
pub use headroom::{GroupLimit, Headroom};
pub use measured::Backing;
pub use output::Reporter;
pub use registry::GENERATORS;
pub use ycsb::check_properties;

/// Translates spellings of the original programs' command lines to those of [`command`]: YCSB
/// writes `-threads` with one dash.
#[must_use]
pub fn normalize_arguments(
    arguments: impl IntoIterator<Item = std::ffi::OsString>,
) -> Vec<std::ffi::OsString> {
    ycsb::normalize_arguments(arguments)
}

/// Runs the generator selected by the arguments (`matches` of [`command`]) and returns its report.
/// `--json` has no effect here: a report has both forms.
pub fn run(matches: &clap::ArgMatches, reporter: &dyn Reporter) -> Result<Report, Failure> {
    let (name, own) = matches
        .subcommand()
        .ok_or_else(|| Failure::usage("no generator given; see `assay-load --help`"))?;
    let entry = GENERATORS
        .iter()
        .find(|entry| entry.name == name)
        .ok_or_else(|| Failure::usage(format!("unknown generator `{name}`")))?;
    (entry.start)(own, &assay_sys::kernel::Root::real(), reporter)
}
