//! `assay restore`

use assay_host::set_aside;
use assay_session::{Code, Error, restore};
use clap::Args;

use crate::observer::{Terminal, this_host};
use crate::output;

/// Arguments of `assay restore`.
#[derive(Debug, Args)]
pub(crate) struct RestoreArguments {
    /// Change nothing on the host; set the ledger of this run aside after you have cleaned up by hand
    /// what Assay could not. It is kept as RUN.set-aside and no longer blocks new runs
    #[arg(long, value_name = "RUN")]
    set_aside: Option<String>,
}

/// Restores what killed runs left behind, and prints each change.
pub(crate) fn run(arguments: &RestoreArguments) -> Result<Code, Error> {
    let context = this_host();
    if let Some(run) = &arguments.set_aside {
        let path = set_aside(&context.state_dir, run).map_err(Error::host)?;
        output::data(&format!("nothing was touched; the ledger is now {}", path.display()));
    } else if restore(&context, &mut Terminal)? {
        output::data("the host is restored");
    } else {
        output::data("nothing to restore");
    }
    Ok(Code::Kept)
}
