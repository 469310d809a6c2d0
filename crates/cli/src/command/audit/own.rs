//! `assay audit self`: the groups of this process, from inside a container, job or pod.

use std::path::PathBuf;

use assay_sys::exit::{Code, Error};
use clap::Args;

use crate::output;
use crate::shared_arguments::FormatArguments;

/// Arguments of an audit of the own groups.
#[derive(Debug, Args)]
pub(super) struct OwnArguments {
    /// Look at the host whose root is mounted at DIR
    #[arg(long, value_name = "DIR", default_value = "/")]
    root: PathBuf,
    /// Write them as an HTML page to FILE too
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    #[command(flatten)]
    format: FormatArguments,
}

/// Shows them.
pub(super) fn run(arguments: &OwnArguments) -> Result<Code, Error> {
    let own = assay_audit::own(&super::host(None, &arguments.root)?);
    if let Some(file) = &arguments.report {
        output::page(file, &assay_report::page_html(&assay_audit::own_page(&own)))?;
    }
    super::show(&own, arguments.format.is_json(), assay_audit::own_page)?;
    Ok(Code::Kept)
}
