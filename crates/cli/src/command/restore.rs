//! `assay restore`

use std::path::PathBuf;

use assay_host::set_aside;
use assay_run::restore::restore;
use assay_sys::exit::{Code, Error};
use clap::Args;
use serde::Serialize;

use crate::observer::{Terminal, this_host};
use crate::output;
use crate::shared_arguments::FormatArguments;

/// Arguments of `assay restore`.
#[derive(Debug, Args)]
pub(crate) struct RestoreArguments {
    /// Set the ledger of this run aside
    ///
    /// Change nothing on the host, after you have cleaned up by hand what Assay could not. The ledger is
    /// kept as RUN.set-aside and no longer blocks new runs.
    #[arg(long, value_name = "RUN")]
    set_aside: Option<String>,
    #[command(flatten)]
    format: FormatArguments,
}

/// The document of `assay restore -o json`.
#[derive(Debug, Serialize)]
struct Restored {
    /// Version of this format.
    schema: u32,
    /// Whether anything had to be restored, and was.
    restored: bool,
    /// Where the ledger is now that was set aside.
    #[serde(skip_serializing_if = "Option::is_none")]
    set_aside: Option<PathBuf>,
}

/// Restores what killed runs left behind, and prints each change.
pub(crate) fn run(arguments: &RestoreArguments) -> Result<Code, Error> {
    let context = this_host();
    let (document, words) = if let Some(run) = &arguments.set_aside {
        let path = set_aside(&context.state_dir, run).map_err(Error::host)?;
        let words = format!("nothing was touched; the ledger is now {}", path.display());
        (Restored { schema: 1, restored: false, set_aside: Some(path) }, words)
    } else {
        let restored = restore(&context, &mut Terminal)?;
        let words = if restored { "the host is restored" } else { "nothing to restore" };
        (Restored { schema: 1, restored, set_aside: None }, words.to_owned())
    };
    match arguments.format.is_json() {
        true => output::json(&document)?,
        false => output::data(&words),
    }
    Ok(Code::Kept)
}
