//! Exit codes: a contract with scripts (docs/cli.md).

use std::process::ExitCode;

use assay_runner::Finished;
use assay_verdict::{Equivalence, Judgement, Verdict};

/// How a command ends.
///
/// ```
/// use assay_session::Code;
/// assert_eq!(Code::RestoreIncomplete as u8, 6);
/// assert!(Code::Kept < Code::Broken);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Code {
    /// Every promise kept, or the command succeeded.
    Kept = 0,
    /// A promise broken.
    Broken = 1,
    /// Wrong usage or study file.
    Usage = 2,
    /// Undecided or void.
    Undecided = 3,
    /// The host cannot do it.
    Host = 4,
    /// A workload failed.
    Workload = 5,
    /// The host could not be restored entirely.
    RestoreIncomplete = 6,
    /// Interrupted by the user, and restored.
    Interrupted = 130,
}

impl Code {
    /// The code of a verdict.
    ///
    /// ```
    /// use assay_session::Code;
    /// use assay_verdict::Verdict;
    /// assert_eq!(Code::from_verdict(Verdict::Void), Code::Undecided);
    /// ```
    #[must_use]
    pub const fn from_verdict(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Kept => Self::Kept,
            Verdict::Broken => Self::Broken,
            Verdict::Undecided | Verdict::Void => Self::Undecided,
        }
    }

    /// The code of a judged run; one without promises counts as kept.
    ///
    /// ```no_run
    /// use assay_session::{Code, Transcript, open_run};
    /// let (_, run) = open_run("runs/one".as_ref(), &mut Transcript::default())?;
    /// let judgement = assay_judge::judge(&run.manifest, &run.samples);
    /// assert_eq!(Code::from_judgement(&judgement), Code::Kept);
    /// # Ok::<(), assay_session::Error>(())
    /// ```
    #[must_use]
    pub fn from_judgement(judgement: &Judgement) -> Self {
        match judgement.promises_nothing() {
            true => Self::Kept,
            false => Self::from_verdict(judgement.verdict),
        }
    }

    /// The code of a comparison of two runs.
    ///
    /// ```
    /// use assay_session::Code;
    /// use assay_verdict::Equivalence;
    /// assert_eq!(Code::from_equivalence(Equivalence::Better), Code::Kept);
    /// ```
    #[must_use]
    pub const fn from_equivalence(verdict: Equivalence) -> Self {
        match verdict {
            Equivalence::Equal | Equivalence::Better => Self::Kept,
            Equivalence::Worse | Equivalence::Different => Self::Broken,
            Equivalence::Undecided => Self::Undecided,
            Equivalence::NotComparable => Self::Usage,
        }
    }

    /// The worse of two results of one command (docs/cli.md): broken, not comparable, undecided, kept.
    /// Whatever else a code may say comes before these.
    ///
    /// ```
    /// use assay_session::Code;
    /// assert_eq!(Code::Broken.worse(Code::Undecided), Code::Broken);
    /// ```
    #[must_use]
    pub fn worse(self, other: Self) -> Self {
        let rank = |code: &Self| match code {
            Self::Kept => 0,
            Self::Undecided => 1,
            Self::Usage => 2,
            Self::Broken => 3,
            Self::Workload => 4,
            Self::Host => 5,
            Self::Interrupted => 6,
            Self::RestoreIncomplete => 7,
        };
        std::cmp::max_by_key(self, other, rank)
    }

    /// The code of a run; `verdict`, the code of its verdict, has the lowest precedence.
    pub(crate) fn of_run(finished: &Finished, verdict: Option<Self>) -> Self {
        if !finished.not_restored.is_empty() {
            return Self::RestoreIncomplete;
        }
        if finished.interrupted.is_some() {
            return Self::Interrupted;
        }
        if finished.failure.is_some() {
            return Self::Host;
        }
        let workload_failed = finished
            .manifest
            .trials
            .iter()
            .flat_map(|trial| &trial.repeats)
            .any(|repeat| repeat.fault.as_ref().is_some_and(|fault| fault.kind == "workload"));
        match verdict {
            _ if workload_failed => Self::Workload,
            verdict => verdict.unwrap_or(Self::Host),
        }
    }
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(code as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_promise_is_not_hidden_by_an_undecided_comparison() {
        assert_eq!(Code::Broken.worse(Code::Undecided), Code::Broken);
        assert_eq!(Code::Undecided.worse(Code::Broken), Code::Broken);
        assert_eq!(Code::Broken.worse(Code::Usage), Code::Broken);
        assert_eq!(Code::Kept.worse(Code::Usage), Code::Usage);
        assert_eq!(Code::Undecided.worse(Code::Kept), Code::Undecided);
        assert_eq!(Code::Kept.worse(Code::Kept), Code::Kept);
    }
}
