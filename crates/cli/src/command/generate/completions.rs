//! `assay generate completions`

use assay_sys::exit::{Code, Error};
use clap::{Args, Command};
use clap_complete::{Shell, generate};

use crate::output;
use crate::parsers::one_of;

/// Arguments of `assay generate completions`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    /// Shell
    #[arg(value_parser = one_of(&SHELLS))]
    shell: Shell,
}

const SHELLS: [(&str, Shell, &str); 3] =
    [("bash", Shell::Bash, ""), ("zsh", Shell::Zsh, ""), ("fish", Shell::Fish, "")];

/// Prints the script of a shell.
pub(super) fn run(arguments: &CompletionsArguments, mut program: Command) -> Result<Code, Error> {
    let mut script = Vec::new();
    generate(arguments.shell, &mut program, "assay", &mut script);
    output::data(String::from_utf8_lossy(&script).trim_end());
    Ok(Code::Kept)
}
