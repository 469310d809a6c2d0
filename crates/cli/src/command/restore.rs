//! `assay restore`

use assay_escape::shell_word;
use assay_host::{ledger::LedgerRestore, restore_all, set_aside, state_dir};
use assay_kernel::Root;
use clap::Args;

use crate::exit::Code;
use crate::output;

/// What `assay restore` takes.
#[derive(Debug, Args)]
pub(crate) struct RestoreArguments {
    /// Touch nothing; put the ledger of this run aside, after you have cleaned up by hand what
    /// Assay could not. It is kept as RUN.set-aside and hinders no run any more
    #[arg(long, value_name = "RUN")]
    set_aside: Option<String>,
}

/// Takes back what killed runs left behind, and says what that was.
pub(crate) fn run(arguments: &RestoreArguments) -> Code {
    match &arguments.set_aside {
        Some(run) => put_aside(run),
        None => restore(),
    }
}

fn put_aside(run: &str) -> Code {
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
        output::say(&format!("run {} is in progress; it was left alone", live.run_id));
    }
    for ledger in &report.ledgers {
        tell(ledger);
    }
    for held in &report.held {
        output::error(held);
    }
    match (report.ledgers.is_empty(), report.is_complete()) {
        (true, true) => output::data("nothing to restore"),
        (false, true) => output::data("the host is as it was found"),
        (_, false) => {
            for ledger in report.ledgers.iter().filter(|ledger| !ledger.complete) {
                output::error(&way_out(ledger));
            }
            return Code::RestoreIncomplete;
        }
    }
    Code::Kept
}

/// What a person can do about a ledger that Assay cannot bring to its end.
fn way_out(ledger: &LedgerRestore) -> String {
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
            "some changes of run {run} could not be taken back\n  hint: mend what hinders and run \
             `assay restore` again; or, {by_hand}"
        );
    }
    format!(
        "every change of run {run} that its ledger still tells of is taken back, but not all of it \
         can be read\n  hint: look for groups, mounts and loop devices named `assay`, and at the \
         lines above; {by_hand}"
    )
}

fn tell(ledger: &LedgerRestore) {
    output::say(&format!("run {}:", ledger.run_id));
    for change in ledger.changes.iter().rev() {
        match &change.restored {
            Some(Ok(())) => output::say(&format!("  took back: {}", change.what)),
            Some(Err(error)) => output::say(&format!("  NOT taken back: {}: {error}", change.what)),
            None => output::say(&format!("  NOT taken back: {}", change.what)),
        }
    }
    for damaged in &ledger.damaged {
        output::say(&format!(
            "  line {} of {}: {}: {}",
            damaged.line,
            ledger.path.display(),
            damaged.why,
            damaged.text
        ));
    }
}
