//! Exit codes: a contract with scripts (docs/cli.md).

use std::process::ExitCode;

use assay_judge::Verdict;

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    /// Every promise kept, or what was asked is done.
    Kept = 0,
    /// A promise broken.
    Broken = 1,
    /// Usage or study file wrong.
    Usage = 2,
    /// Undecided or void.
    Undecided = 3,
    /// The host cannot do it.
    Host = 4,
    /// A workload failed.
    Workload = 5,
    /// The host could not be put back as it was.
    RestoreIncomplete = 6,
    /// Interrupted by the user, and restored.
    Interrupted = 130,
}

impl Code {
    pub(crate) const fn of_verdict(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Kept => Self::Kept,
            Verdict::Broken => Self::Broken,
            Verdict::Undecided | Verdict::Void => Self::Undecided,
        }
    }

    pub(crate) fn of_clap(error: &clap::Error) -> Self {
        if error.use_stderr() { Self::Usage } else { Self::Kept }
    }
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(code as u8)
    }
}
