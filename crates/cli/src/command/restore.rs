//! `assay restore`

use assay_escape::shell_word;
use assay_host::{ledger::LedgerRestore, restore_all, set_aside, state_dir};
use assay_kernel::Root;
use clap::Args;

use crate::exit::Code;
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
pub(crate) fn run(arguments: &RestoreArguments) -> Code {
    match &arguments.set_aside {
        Some(run) => set_ledger_aside(run),
        None => restore(),
    }
}

fn set_ledger_aside(run: &str) -> Code {
    match set_aside(&state_dir(), run) {
        Ok(path) => {
            output::data(&format!("nothing was touched; the ledger is now {}", path.display()));
            Code::Kept
        }
        Err(error) => {
            output::error(&error);
            Code::Host
        }
    }
}

fn restore() -> Code {
    let report = match restore_all(&state_dir(), &Root::real()) {
        Ok(report) => report,
        Err(error) => {
            output::error(&error);
            return Code::RestoreIncomplete;
        }
    };
    for live in &report.live {
        output::message(&format!("run {} is in progress; it was left alone", live.run_id));
    }
    for ledger in &report.ledgers {
        print_changes(ledger);
    }
    for held in &report.held {
        output::error(held);
    }
    match (report.ledgers.is_empty(), report.is_complete()) {
        (true, true) => output::data("nothing to restore"),
        (false, true) => output::data("the host is restored"),
        (_, false) => {
            for ledger in report.ledgers.iter().filter(|ledger| !ledger.complete) {
                output::error(&advice(ledger));
            }
            return Code::RestoreIncomplete;
        }
    }
    Code::Kept
}

/// What the user can do about a ledger that Assay cannot restore completely.
fn advice(ledger: &LedgerRestore) -> String {
    let run = &ledger.run_id;
    let by_hand =
        format!("once you have cleaned up by hand: assay restore --set-aside {}", shell_word(run));
    if let Some(format) = ledger.newer_format {
        return format!(
            "the ledger of run {run} was written by a newer Assay (format {format}) and was left \
             alone\n  hint: run `assay restore` of that version; or, {by_hand}"
        );
    }
    let failed = ledger.changes.iter().any(|change| !matches!(change.restored, Some(Ok(()))));
    if failed || ledger.damaged.is_empty() {
        return format!(
            "some changes of run {run} could not be restored\n  hint: fix the errors above and run \
             `assay restore` again; or, {by_hand}"
        );
    }
    format!(
        "every readable change of run {run} is restored, but parts of its ledger cannot be read\n  \
         hint: look for groups, mounts and loop devices named `assay`, and at the lines above; \
         {by_hand}"
    )
}

fn print_changes(ledger: &LedgerRestore) {
    output::message(&format!("run {}:", ledger.run_id));
    for change in ledger.changes.iter().rev() {
        match &change.restored {
            Some(Ok(())) => output::message(&format!("  restored: {}", change.what)),
            Some(Err(error)) => {
                output::message(&format!("  NOT restored: {}: {error}", change.what));
            }
            None => output::message(&format!("  NOT restored: {}", change.what)),
        }
    }
    for damaged in &ledger.damaged {
        output::message(&format!(
            "  line {} of {}: {}: {}",
            damaged.line,
            ledger.path.display(),
            damaged.why,
            damaged.text
        ));
    }
}
