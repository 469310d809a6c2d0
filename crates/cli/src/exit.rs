//! Exit codes: a contract with scripts (docs/cli.md).

use std::process::ExitCode;

use assay_verdict::{Judgement, Verdict};

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Code {
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
    pub(crate) const fn from_verdict(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Kept => Self::Kept,
            Verdict::Broken => Self::Broken,
            Verdict::Undecided | Verdict::Void => Self::Undecided,
        }
    }

    /// A run without promises counts as kept.
    pub(crate) fn from_judgement(judgement: &Judgement) -> Self {
        match judgement.promises_nothing() {
            true => Self::Kept,
            false => Self::from_verdict(judgement.verdict),
        }
    }

    /// The worse of two results of one command (docs/cli.md): broken, not comparable, undecided,
    /// kept. Whatever else a code may say comes before these.
    pub(crate) fn worse(self, other: Self) -> Self {
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

    pub(crate) fn from_clap(error: &clap::Error) -> Self {
        if error.use_stderr() { Self::Usage } else { Self::Kept }
    }
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(code as u8)
    }
}

/// Every code with its meaning for the manual pages.
const MEANINGS: [(Code, &str); 8] = [
    (Code::Kept, "every promise kept, or the command succeeded"),
    (Code::Broken, "a promise broken, or the compared runs differ"),
    (Code::Usage, "wrong usage, study file or run folder; nothing was changed"),
    (Code::Undecided, "undecided or void"),
    (
        Code::Host,
        "the host cannot do it, or the output could not be written; the message names what is missing",
    ),
    (Code::Workload, "a workload failed; the run folder stays, and no promise counts as kept"),
    (
        Code::RestoreIncomplete,
        "the host could not be restored entirely; the message names what is left",
    ),
    (Code::Interrupted, "interrupted by SIGINT, SIGTERM, SIGHUP or SIGQUIT, and restored"),
];

/// The exit codes of a command, by its name below `assay`: `run`, `lab-run`. A command without a row
/// here may end with any.
pub(crate) fn codes_of(command: &str) -> Vec<(Code, &'static str)> {
    use Code::{Broken, Host, Interrupted, Kept, RestoreIncomplete, Undecided, Usage, Workload};
    let only: &[Code] = match command {
        "schema" | "completions" => &[Kept, Usage],
        "studies" => &[Kept, Usage],
        "man" | "check" | "report" | "lab-kernels" => &[Kept, Usage, Host],
        "groups" => &[Kept, Usage, Host],
        "judge" => &[Kept, Broken, Usage, Undecided, Host],
        "host" => &[Kept, Broken, Usage, Host, RestoreIncomplete],
        "restore" => &[Kept, Usage, Host, RestoreIncomplete],
        "sample" => &[Kept, Usage, Host, Workload, Interrupted],
        "conform" | "lab-conform" => {
            &[Kept, Broken, Usage, Undecided, Host, RestoreIncomplete, Interrupted]
        }
        "exec" => &[Usage, Host, RestoreIncomplete],
        "lab-exec" | "lab-shell" => &[Usage, Host, Interrupted],
        _ => return MEANINGS.to_vec(),
    };
    MEANINGS.into_iter().filter(|(code, _)| only.contains(code)).collect()
}

/// A note on the exit codes of a command, for its manual page.
pub(crate) fn note_of(command: &str) -> Option<&'static str> {
    match command {
        "exec" | "lab-exec" => Some(
            "Otherwise the exit code of the command itself: 128 plus the number of the signal that \
             ended it, 127 if the program was not found, 126 if it cannot be executed.",
        ),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_codes_are_those_of_the_documentation() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/cli.md");
        let text = std::fs::read_to_string(path).unwrap();
        let section = text.split("## Exit codes").nth(1).unwrap().split("\n## ").next().unwrap();
        let rows = section.lines().filter_map(|line| line.split('|').nth(1)?.trim().parse().ok());
        let documented: Vec<u8> = rows.collect();
        let known: Vec<u8> = MEANINGS.iter().map(|(code, _)| *code as u8).collect();
        assert_eq!(known, documented);
    }

    /// The row of a code in the documentation.
    fn row(page: &str, code: Code) -> String {
        let path = format!("{}/../../docs/{page}", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        let start = format!("| {} | ", code as u8);
        text.lines().find(|line| line.starts_with(&start)).unwrap().to_owned()
    }

    #[test]
    fn every_verdict_ends_with_the_code_whose_row_names_it() {
        for verdict in [Verdict::Kept, Verdict::Broken, Verdict::Undecided, Verdict::Void] {
            let row = row("cli.md", Code::from_verdict(verdict));
            assert!(row.contains(verdict.word()), "{verdict:?}: {row}");
        }
        let (_, undecided) = MEANINGS[3];
        assert!(row("cli.md", Code::Undecided).contains(undecided));
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

    #[test]
    fn a_command_without_a_row_may_end_with_any_code() {
        assert_eq!(codes_of("run").len(), MEANINGS.len());
        assert_eq!(codes_of("check").len(), 3);
        assert!(note_of("exec").is_some() && note_of("run").is_none());
    }
}
