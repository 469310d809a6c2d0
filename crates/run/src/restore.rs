//! Restoring what killed runs left behind, and what the caller is told of it.

use assay_host::ledger::LedgerRestore;
use assay_host::restore_all;
use assay_sys::escape::shell_word;
use assay_sys::exit::{Code, Error};

use crate::context::Context;
use crate::observer::Observer;

/// Restores what killed runs left behind; the observer learns of each change. Returns whether there was
/// anything to restore.
///
/// # Errors
/// Something is left; the reasons say what the caller can do about it.
pub fn restore(context: &Context, observer: &mut dyn Observer) -> Result<bool, Error> {
    let incomplete = Error::ended(Code::RestoreIncomplete);
    let report = restore_all(&context.state_dir, &context.root)
        .map_err(|error| Error { code: Code::RestoreIncomplete, ..Error::host(error) })?;
    for live in &report.live {
        observer.message(&format!("run {} is in progress; it was left alone", live.run_id));
    }
    for ledger in &report.ledgers {
        show_changes(ledger, observer);
    }
    for held in &report.held {
        observer.error(held);
    }
    if report.is_complete() {
        return Ok(!report.ledgers.is_empty());
    }
    let left = report.ledgers.iter().filter(|ledger| !ledger.complete);
    Err(Error { reasons: left.map(advice).collect(), ..incomplete })
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

fn show_changes(ledger: &LedgerRestore, observer: &mut dyn Observer) {
    observer.message(&format!("run {}:", ledger.run_id));
    for change in ledger.changes.iter().rev() {
        observer.message(&match &change.restored {
            Some(Ok(())) => format!("  restored: {}", change.what),
            Some(Err(error)) => format!("  NOT restored: {}: {error}", change.what),
            None => format!("  NOT restored: {}", change.what),
        });
    }
    for damaged in &ledger.damaged {
        observer.message(&format!(
            "  line {} of {}: {}: {}",
            damaged.line,
            ledger.path.display(),
            damaged.why,
            damaged.text
        ));
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use assay_host::Ledger;
    use assay_sys::kernel::Root;

    use super::*;
    use crate::transcript::Transcript;

    /// A fake host with a folder that a killed run has made, whose ledger may be damaged.
    fn left_behind(damage: &str) -> (tempfile::TempDir, Context) {
        let temp = tempfile::tempdir().unwrap();
        fs::create_dir_all(temp.path().join("host/srv")).unwrap();
        let context = Context {
            root: Root::at(&temp.path().join("host")),
            state_dir: temp.path().join("state"),
            ..Context::of_this_host(Vec::new())
        };
        let mut ledger = Ledger::begin(&context.state_dir, "killed").unwrap();
        ledger.make_dir(&context.root, Path::new("/srv/assay-x")).unwrap();
        let path = ledger.path().to_owned();
        drop(ledger);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text + damage).unwrap();
        (temp, context)
    }

    #[test]
    fn what_a_killed_run_has_made_is_removed_and_named() {
        let (temp, context) = left_behind("");
        let mut transcript = Transcript::default();
        assert!(restore(&context, &mut transcript).unwrap());
        assert!(!temp.path().join("host/srv/assay-x").exists());
        let lines = transcript.lines();
        assert_eq!(lines[0], "run killed:");
        assert!(lines[1].starts_with("  restored: ") && lines[1].contains("/srv/assay-x"));
        assert!(!restore(&context, &mut transcript).unwrap(), "nothing is left");
    }

    #[test]
    fn a_damaged_line_is_shown_with_advice_once_all_others_are_restored() {
        let (temp, context) = left_behind("no line of a ledger\n");
        let mut transcript = Transcript::default();
        let error = restore(&context, &mut transcript).unwrap_err();
        assert!(!temp.path().join("host/srv/assay-x").exists());
        assert_eq!((error.code, error.reasons.len()), (Code::RestoreIncomplete, 1));
        assert!(error.reasons[0].contains("parts of its ledger cannot be read"), "{error}");
        assert!(error.reasons[0].contains("--set-aside killed"), "{error}");
        let lines = transcript.lines();
        assert!(lines.iter().any(|line| line.contains("no line of a ledger")), "{lines:?}");
    }

    #[test]
    fn a_change_that_cannot_be_undone_is_named_and_can_be_tried_again() {
        let (temp, context) = left_behind("");
        fs::write(temp.path().join("host/srv/assay-x/kept"), "").unwrap();
        let mut transcript = Transcript::default();
        let error = restore(&context, &mut transcript).unwrap_err();
        assert!(error.reasons[0].contains("`assay restore` again"), "{error}");
        assert!(transcript.lines()[1].starts_with("  NOT restored: "), "{transcript:?}");
        fs::remove_file(temp.path().join("host/srv/assay-x/kept")).unwrap();
        assert!(restore(&context, &mut transcript).unwrap());
    }
}
