//! `assay restore`

use assay_host::{ledger::LedgerRestore, restore_all, state_dir};
use assay_kernel::Root;

use crate::exit::Code;
use crate::talk;

/// Takes back what killed runs left behind, and says what that was.
pub(crate) fn run() -> Code {
    let report = match restore_all(&state_dir(), &Root::real()) {
        Ok(report) => report,
        Err(error) => {
            talk::error(&error);
            return Code::RestoreIncomplete;
        }
    };
    for live in &report.live {
        talk::say(&format!("run {} is in progress; it was left alone", live.run_id));
    }
    for ledger in &report.ledgers {
        tell(ledger);
    }
    match (report.ledgers.is_empty(), report.is_complete()) {
        (true, _) => talk::data("nothing to restore"),
        (false, true) => talk::data("the host is as it was found"),
        (false, false) => {
            talk::error(
                &"some changes could not be taken back; mend what hinders and run `assay restore` again",
            );
            return Code::RestoreIncomplete;
        }
    }
    Code::Kept
}

fn tell(ledger: &LedgerRestore) {
    talk::say(&format!("run {}:", ledger.run_id));
    for change in ledger.changes.iter().rev() {
        match &change.restored {
            Some(Ok(())) => talk::say(&format!("  took back: {}", change.what)),
            Some(Err(error)) => talk::say(&format!("  NOT taken back: {}: {error}", change.what)),
            None => talk::say(&format!("  NOT taken back: {}", change.what)),
        }
    }
    for line in &ledger.damaged_lines {
        talk::say(&format!("  line {line} of {} cannot be understood", ledger.path.display()));
    }
}
