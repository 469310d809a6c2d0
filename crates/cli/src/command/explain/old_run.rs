//! Runs of versions that did not record how their study was chosen: their command line is parsed again.

use assay_session::StudyChoice;
use clap::Parser;

use crate::args::{Arguments, Command};

/// The study of a recorded command line; `None` if it is not one of `assay run`.
pub(super) fn choice(command: &[String]) -> Option<StudyChoice> {
    match Arguments::try_parse_from(command).ok()?.command {
        Command::Run(arguments) => Some(arguments.study.choice()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_overrides_of_an_old_run_are_read_from_its_command_line() {
        let line =
            ["assay", "run", "mine.toml", "--set", "groups=4", "--repeats", "2", "--seed", "7"];
        let read = choice(&line.map(str::to_owned)).unwrap();
        let set = vec!["groups=4".to_owned()];
        let named = StudyChoice::named("mine.toml");
        assert_eq!(read, StudyChoice { set, repeats: Some(2), seed: 7, ..named });
    }

    #[test]
    fn other_commands_have_no_study_to_repeat() {
        for line in [&["assay", "tune", "mine.toml"][..], &["assay", "run"], &[]] {
            let line: Vec<String> = line.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(choice(&line), None, "{line:?}");
        }
    }
}
