//! The end of a command whose thread hangs in the kernel, after another thread has restored the host.

use std::sync::mpsc::channel;
use std::thread::Builder;
use std::time::Duration;

use assay_host::Replaced;
use assay_sys::exit::Code;
use assay_sys::kernel::fork::exit_immediately;

use crate::output;

/// Says what was done, and ends this process. What hangs in the kernel ends, and with it this process, when that answers.
pub(crate) fn end(replaced: &Replaced) {
    /// The file system that does not answer may be that of stderr.
    const LONGEST: Duration = Duration::from_secs(1);
    let (code, lines) = outcome(replaced);
    let (to, is_said) = channel();
    let said = Builder::new().spawn(move || {
        lines.iter().for_each(|line| output::error(line));
        let _ = to.send(());
    });
    if said.is_ok() {
        let _ = is_said.recv_timeout(LONGEST);
    }
    exit_immediately(code as i32)
}

fn outcome(replaced: &Replaced) -> (Code, Vec<String>) {
    let Replaced { hangs, not_restored, ledger } = replaced;
    let mut lines: Vec<String> =
        not_restored.iter().map(|error| format!("not restored: {error}")).collect();
    let (code, what) = match ledger {
        None => (Code::Interrupted, "nothing of the host is left changed".to_owned()),
        Some(path) => {
            let restored =
                if not_restored.is_empty() { "everything is restored, but " } else { "" };
            let what =
                format!("{restored}{} stays: `assay restore` once it answers", path.display());
            (Code::RestoreIncomplete, what)
        }
    };
    lines.push(format!(
        "this process waits for a file system that does not answer ({hangs}); {what}"
    ));
    (code, lines)
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use assay_sys::kernel::Error;

    use super::*;

    #[test]
    fn what_is_left_decides_the_code_and_is_named() {
        let mut replaced =
            Replaced { hangs: "state D".to_owned(), not_restored: Vec::new(), ledger: None };
        let (code, lines) = outcome(&replaced);
        assert_eq!((code, lines.len()), (Code::Interrupted, 1));
        assert!(lines[0].contains("(state D); nothing of the host is left"), "{lines:?}");
        replaced.ledger = Some(PathBuf::from("/state/ledger/x.jsonl"));
        let (code, lines) = outcome(&replaced);
        assert_eq!((code, lines.len()), (Code::RestoreIncomplete, 1));
        assert!(lines[0].contains("everything is restored, but /state/ledger/x.jsonl stays"));
        replaced.not_restored.push(Error::unexpected("remove", Path::new("/y"), "it hangs"));
        let (code, lines) = outcome(&replaced);
        assert_eq!(code, Code::RestoreIncomplete);
        assert!(
            lines[0].contains("not restored: cannot remove /y") && !lines[1].contains("everything")
        );
    }
}
