//! Exit codes: a contract with scripts (docs/cli.md).

use std::process::ExitCode;

use assay_judge::verdict::{Equivalence, Judgement, Verdict};
use assay_record::run_folder::Manifest;
use assay_run::runner::Finished;

/// How a command ends.
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
    /// Every code, and what it means in a manual.
    pub const ALL: [(Self, &str); 8] = [
        (Self::Kept, "every promise kept, or the command succeeded"),
        (Self::Broken, "a promise broken, or the compared runs differ"),
        (Self::Usage, "wrong usage, study file or run folder; nothing was changed"),
        (Self::Undecided, "undecided or void"),
        (
            Self::Host,
            "the host cannot do it, or the output could not be written; the message names what is missing",
        ),
        (Self::Workload, "a workload failed; the run folder stays, and no promise counts as kept"),
        (
            Self::RestoreIncomplete,
            "the host could not be restored entirely; the message names what is left",
        ),
        (Self::Interrupted, "interrupted by SIGINT, SIGTERM, SIGHUP or SIGQUIT, and restored"),
    ];

    /// The code of a verdict.
    #[must_use]
    pub const fn from_verdict(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Kept => Self::Kept,
            Verdict::Broken => Self::Broken,
            Verdict::Undecided | Verdict::Void => Self::Undecided,
        }
    }

    /// The code of a judged run; one without promises counts as kept.
    #[must_use]
    pub fn from_judgement(judgement: &Judgement) -> Self {
        match judgement.promises_nothing() {
            true => Self::Kept,
            false => Self::from_verdict(judgement.verdict),
        }
    }

    /// The code of a recorded run that is judged again: as the run itself ended, but for its verdict.
    #[must_use]
    pub fn of_recorded(manifest: &Manifest, judgement: &Judgement) -> Self {
        match manifest.restored {
            Some(false) => Self::RestoreIncomplete,
            _ if has_failed_workload(manifest) => Self::Workload,
            _ => Self::from_judgement(judgement),
        }
    }

    /// The code of a comparison of two runs.
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
        match verdict {
            _ if has_failed_workload(&finished.manifest) => Self::Workload,
            verdict => verdict.unwrap_or(Self::Host),
        }
    }
}

fn has_failed_workload(manifest: &Manifest) -> bool {
    let mut repeats = manifest.trials.iter().flat_map(|trial| &trial.repeats);
    repeats.any(|repeat| repeat.fault.as_ref().is_some_and(|fault| fault.kind == "workload"))
}

/// Which verdicts a command fails on: each level names the mildest that still fails.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FailOn {
    /// Only broken promises.
    Broken,
    /// Broken and void ones: undecided ones want more time, and nothing contradicts them.
    Void,
    /// All that are not kept.
    #[default]
    Undecided,
}

impl FailOn {
    /// Every level with its name for users and what it means.
    pub const ALL: [(&str, Self, &str); 3] = [
        ("broken", Self::Broken, "Only a broken promise"),
        ("void", Self::Void, "A broken or void promise"),
        ("undecided", Self::Undecided, "Every promise that is not kept"),
    ];

    /// The code of a verdict, where milder verdicts than this count as kept.
    #[must_use]
    pub const fn code(self, verdict: Verdict) -> Code {
        match (self, verdict) {
            (Self::Broken, Verdict::Undecided | Verdict::Void)
            | (Self::Void, Verdict::Undecided) => Code::Kept,
            _ => Code::from_verdict(verdict),
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
    fn no_level_forgives_a_broken_promise_and_each_fails_on_more_than_the_one_before() {
        let verdicts = [Verdict::Kept, Verdict::Undecided, Verdict::Void, Verdict::Broken];
        let failing = FailOn::ALL.map(|(_, level, _)| {
            assert_eq!(level.code(Verdict::Broken), Code::Broken);
            verdicts.iter().filter(|verdict| level.code(**verdict) != Code::Kept).count()
        });
        assert_eq!(failing, [1, 2, 3]);
    }

    #[test]
    fn a_broken_promise_is_not_hidden_by_an_undecided_comparison() {
        assert_eq!(Code::Broken.worse(Code::Undecided), Code::Broken);
        assert_eq!(Code::Undecided.worse(Code::Broken), Code::Broken);
        assert_eq!(Code::Broken.worse(Code::Usage), Code::Broken);
        assert_eq!(Code::Kept.worse(Code::Usage), Code::Usage);
        assert_eq!(Code::Undecided.worse(Code::Kept), Code::Undecided);
        assert_eq!(Code::Kept.worse(Code::Kept), Code::Kept);
    }

    /// The codes of the table in docs/cli.md, with their rows.
    fn documented() -> Vec<(u8, String)> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/cli.md");
        let text = std::fs::read_to_string(path).unwrap();
        let section = text.split("## Exit codes").nth(1).unwrap().split("\n## ").next().unwrap();
        let code = |line: &str| line.split('|').nth(1)?.trim().parse().ok();
        section.lines().filter_map(|line| Some((code(line)?, line.to_owned()))).collect()
    }

    #[test]
    fn the_codes_are_those_of_the_documentation() {
        let codes: Vec<u8> = documented().into_iter().map(|(code, _)| code).collect();
        assert_eq!(codes, Code::ALL.map(|(code, _)| code as u8));
    }

    #[test]
    fn every_verdict_ends_with_the_code_whose_row_names_it() {
        let rows = documented();
        for verdict in [Verdict::Kept, Verdict::Broken, Verdict::Undecided, Verdict::Void] {
            let code = Code::from_verdict(verdict) as u8;
            let row = rows.iter().find(|(known, _)| *known == code).unwrap();
            assert!(row.1.contains(verdict.word()), "{verdict:?}: {row:?}");
        }
        let [.., (code, meaning), _, _, _, _] = Code::ALL;
        let row = rows.iter().find(|(known, _)| *known == code as u8).unwrap();
        assert!(code == Code::Undecided && row.1.contains(meaning));
    }
}
