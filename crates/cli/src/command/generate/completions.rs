//! `assay generate completions`: scripts for shells, which ask the program what may stand at a place.

mod names;
mod words;

use std::io::Write;

use assay_sys::exit::{Code, Error};
use clap::{Args, Command};
use clap_complete::env::{Bash, EnvCompleter, Fish, Zsh};

use crate::output;
use crate::parsers::one_of;

/// Arguments of `assay generate completions`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    /// Shell
    #[arg(value_parser = one_of(&SHELLS))]
    shell: Shell,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

const SHELLS: [(&str, Shell, &str); 3] =
    [("bash", Shell::Bash, ""), ("zsh", Shell::Zsh, ""), ("fish", Shell::Fish, "")];

/// Set by the scripts to the name of the shell.
const VARIABLE: &str = "ASSAY_COMPLETE";

/// In a folder of `$fpath` zsh reads the script when completions are first asked for, and expects an answer.
const AUTOLOADED: &[u8] = br#"
if [[ "${funcstack[1]}" == _assay ]]; then
    _clap_dynamic_completer_assay "$@"
fi
"#;

impl Shell {
    fn completer(self) -> &'static dyn EnvCompleter {
        match self {
            Self::Bash => &Bash,
            Self::Zsh => &Zsh,
            Self::Fish => &Fish,
        }
    }

    fn script(self) -> Result<String, Error> {
        // That of clap_complete gets words that bash split at `=`, as in `--set groups=4`.
        if self == Self::Bash {
            return Ok(include_str!("completions/assay.bash").to_owned());
        }
        let mut script = Vec::new();
        let written =
            self.completer().write_registration(VARIABLE, "assay", "assay", "assay", &mut script);
        written.map_err(Error::host)?;
        if self == Self::Zsh {
            script.extend_from_slice(AUTOLOADED);
        }
        Ok(String::from_utf8_lossy(&script).into_owned())
    }

    /// Whether a line may be shown by this shell, and inserted into a command line. Names come from folders
    /// that others may write to.
    fn accepts(self, line: &str) -> bool {
        let text = line.replace('\t', " ");
        // Bash inserts words as they are; the others quote them. What is dropped here it completes as a file.
        let is_plain = |letter: char| letter.is_alphanumeric() || "._-+:@%,=/".contains(letter);
        assay_sys::escape::terminal(&text) == text
            && (self != Self::Bash || line.chars().all(is_plain))
    }
}

/// Prints the script of a shell.
pub(crate) fn run(arguments: &CompletionsArguments) -> Result<Code, Error> {
    output::data(&arguments.shell.script()?);
    Ok(Code::Kept)
}

/// Answers a script, if one asks: it gives the words so far after `--`. Nothing is changed, and an error is an
/// answer without words.
pub(crate) fn answer(program: impl Fn() -> Command) -> Option<Code> {
    let asked = std::env::var_os(VARIABLE)?;
    let (_, shell, _) = SHELLS.iter().find(|(name, ..)| asked == *name)?;
    let mut answers = Vec::new();
    let mut program = names::with_names(program());
    let here = std::env::current_dir().ok();
    let words = words::words();
    if words.is_empty() {
        return None;
    }
    let completer = shell.completer();
    let asked = completer.write_complete(&mut program, words, here.as_deref(), &mut answers);
    if asked.is_err() {
        return Some(Code::Usage);
    }
    let answers = String::from_utf8_lossy(&answers);
    let accepted: Vec<&str> = answers.lines().filter(|line| shell.accepts(line)).collect();
    let _ = writeln!(std::io::stdout().lock(), "{}", accepted.join("\n"));
    Some(Code::Kept)
}

#[cfg(test)]
mod tests {
    use super::Shell;

    #[test]
    fn bash_inserts_no_word_that_it_would_take_apart_or_run() {
        for word in ["runs/$(id)", "runs/a b", "runs/`id`", "runs/*", "runs/\u{1b}[2J", "a'b", "~"]
        {
            assert!(!Shell::Bash.accepts(word), "{word:?}");
        }
        assert!(Shell::Bash.accepts("runs/20261126T195953Z-io-weight"));
        assert!(Shell::Fish.accepts("runs/a b\tof a study"));
        assert!(!Shell::Zsh.accepts("runs/\u{1b}]0;x") && !Shell::Fish.accepts("\u{202e}x"));
    }
}
