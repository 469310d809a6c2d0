//! Exit codes: a contract with scripts (docs/cli.md).

use std::process::ExitCode;

/// How a command ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Code {
    /// Every promise kept, or the command succeeded.
    Kept = 0,
    /// A promise broken.
    Broken = 1,
    /// Wrong usage or study file.
    Usage = 2,
    /// What was measured gives no answer.
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
        use Code::{
            Broken, Host, Interrupted, Kept, RestoreIncomplete, Undecided, Usage, Workload,
        };
        let all = [Kept, Broken, Usage, Undecided, Host, Workload, RestoreIncomplete, Interrupted];
        assert_eq!(codes, all.map(|code| code as u8));
    }
}
