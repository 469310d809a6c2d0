//! What the exit codes mean, for the manual pages (docs/cli.md).

pub(crate) use assay_session::Code;

/// The exit code of a command line that clap refused or answered.
pub(crate) fn code_of_clap(error: &clap::Error) -> Code {
    if error.use_stderr() { Code::Usage } else { Code::Kept }
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
        "blame" => &[Kept, Usage, Undecided, Host, Workload, RestoreIncomplete, Interrupted],
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
    use assay_verdict::Verdict;

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
    fn a_command_without_a_row_may_end_with_any_code() {
        assert_eq!(codes_of("run").len(), MEANINGS.len());
        assert_eq!(codes_of("check").len(), 3);
        assert!(note_of("exec").is_some() && note_of("run").is_none());
    }
}
