//! Testing whether the kernel behaves as documented: what is run, and what its result means.

use assay_host::facts::HostFacts;
use assay_host::gather;
use assay_run::context::Context;
use assay_sys::exit::{Code, Error};
use jiff::Timestamp;

use crate::{Case, Document, Request, Verdict};

/// A request to run these cases on this host. `patience` is the factor for windows and time limits;
/// without it 1, or 3 in an emulated machine.
///
/// # Errors
/// A kernel file that every host has cannot be read, or the file of this program is unknown.
pub fn prepare_conform<'c>(
    context: &Context,
    cases: Vec<&'c Case>,
    patience: Option<f64>,
) -> Result<Request<'c>, Error> {
    let facts = gather(&context.root).map_err(Error::host)?;
    let patience = patience.unwrap_or_else(|| default_patience(&facts));
    let program = std::env::current_exe()
        .map_err(|cause| Error::host(format!("cannot find this program's file: {cause}")))?;
    let now = Timestamp::now();
    Ok(Request {
        cases,
        facts,
        state_dir: context.state_dir.clone(),
        id: format!("{}-{}", now.strftime("%Y%m%dT%H%M%SZ"), std::process::id()),
        program,
        patience,
        started_at: now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        command: command_line(&context.command),
    })
}

/// QEMU without KVM runs a guest some ten times slower than its host, and irregularly.
fn default_patience(facts: &HostFacts) -> f64 {
    if facts.is_emulated() { 3.0 } else { 1.0 }
}

/// The command line with only the name of the program: its folder means nothing on other hosts.
fn command_line(command: &[String]) -> String {
    let mut words = vec!["assay".to_owned()];
    words.extend(command.iter().skip(1).cloned());
    words.join(" ")
}

/// The exit code of a result; unavailable cases do not count.
#[must_use]
pub fn conform_code(document: &Document) -> Code {
    match document.verdict() {
        Verdict::Kept | Verdict::NotAvailable => Code::Kept,
        Verdict::Broken => Code::Broken,
        Verdict::Undecided | Verdict::Void => Code::Undecided,
    }
}
