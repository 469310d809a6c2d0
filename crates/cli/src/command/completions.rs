//! `assay completions`

use clap::{Args, CommandFactory, ValueEnum};
use clap_complete::aot::{Bash, Fish, Zsh, generate};

use crate::args::Arguments;
use crate::exit::Code;
use crate::output;

/// Arguments of `assay completions`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    /// Shell
    shell: Shell,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// Prints the completions of a shell: commands, options and their possible values.
pub(crate) fn run(arguments: &CompletionsArguments) -> Code {
    let mut command = Arguments::command();
    let mut script = Vec::new();
    match arguments.shell {
        Shell::Bash => generate(Bash, &mut command, "assay", &mut script),
        Shell::Zsh => generate(Zsh, &mut command, "assay", &mut script),
        Shell::Fish => generate(Fish, &mut command, "assay", &mut script),
    }
    output::data(&String::from_utf8_lossy(&script));
    Code::Kept
}
