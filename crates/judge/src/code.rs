//! The exit codes of verdicts.

use assay_record::run_folder::Manifest;
use assay_sys::exit::Code;

use crate::verdict::{Equivalence, Judgement, Verdict};

impl Verdict {
    /// The code of a verdict.
    #[must_use]
    pub const fn code(self) -> Code {
        match self {
            Self::Kept => Code::Kept,
            Self::Broken => Code::Broken,
            Self::Undecided | Self::Void => Code::Undecided,
        }
    }
}

impl Equivalence {
    /// The code of a comparison of two runs.
    #[must_use]
    pub const fn code(self) -> Code {
        match self {
            Self::Equal | Self::Better => Code::Kept,
            Self::Worse | Self::Different => Code::Broken,
            Self::Undecided => Code::Undecided,
            Self::NotComparable => Code::Usage,
        }
    }
}

impl Judgement {
    /// The code of a judged run; one without promises counts as kept.
    #[must_use]
    pub fn code(&self) -> Code {
        match self.promises_nothing() {
            true => Code::Kept,
            false => self.verdict.code(),
        }
    }

    /// The code of a recorded run that is judged again: as the run itself ended, but for its verdict.
    #[must_use]
    pub fn code_of_recorded(&self, manifest: &Manifest) -> Code {
        match manifest.restored {
            Some(false) => Code::RestoreIncomplete,
            _ if manifest.has_failed_workload() => Code::Workload,
            _ => self.code(),
        }
    }
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
            _ => verdict.code(),
        }
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
    fn compared_runs_that_differ_end_with_one() {
        use Equivalence::{Better, Different, Equal, NotComparable, Undecided, Worse};
        let all = [Equal, Better, Worse, Different, Undecided, NotComparable];
        assert_eq!(all.map(|one| one.code() as u8), [0, 0, 1, 1, 3, 2]);
    }

    /// The rows of the table in docs/cli.md with their codes.
    fn documented() -> Vec<(u8, String)> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/cli.md");
        let text = std::fs::read_to_string(path).unwrap();
        let section = text.split("## Exit codes").nth(1).unwrap().split("\n## ").next().unwrap();
        let code = |line: &str| line.split('|').nth(1)?.trim().parse().ok();
        section.lines().filter_map(|line| Some((code(line)?, line.to_owned()))).collect()
    }

    #[test]
    fn every_verdict_ends_with_the_code_whose_row_names_it() {
        let rows = documented();
        for verdict in [Verdict::Kept, Verdict::Broken, Verdict::Undecided, Verdict::Void] {
            let code = verdict.code() as u8;
            let row = rows.iter().find(|(known, _)| *known == code).unwrap();
            assert!(row.1.contains(verdict.word()), "{verdict:?}: {row:?}");
        }
    }
}
