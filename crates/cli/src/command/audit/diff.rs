//! `assay audit diff`: what changed since a snapshot was taken.

use std::path::PathBuf;

use assay_audit::collect::read_snapshot;
use assay_sys::exit::{Code, Error};
use clap::Args;

use crate::shared_arguments::FormatArguments;

/// Arguments of a comparison.
#[derive(Debug, Args)]
#[command(after_help = "Exit code 1: something differs.")]
pub(super) struct DiffArguments {
    /// Snapshot that was taken before
    before: PathBuf,
    /// Compare it with this later snapshot instead of this host
    after: Option<PathBuf>,
    /// Compare it with the host whose root is mounted at DIR
    #[arg(long, value_name = "DIR", default_value = "/", conflicts_with = "after")]
    root: PathBuf,
    #[command(flatten)]
    format: FormatArguments,
}

/// Compares, and ends as diff(1) does.
pub(super) fn run(arguments: &DiffArguments) -> Result<Code, Error> {
    let before = read_snapshot(&arguments.before)?;
    let after = super::host(arguments.after.as_deref(), &arguments.root)?;
    let drift = assay_audit::drift(&before, &after);
    super::show(&drift, arguments.format.is_json(), assay_audit::drift_page)?;
    Ok(super::code(!drift.changes.is_empty()))
}
