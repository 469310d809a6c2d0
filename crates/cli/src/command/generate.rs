//! `assay generate`

mod completions;
mod man;

use assay_sys::exit::{Code, Error};
use clap::{Command, Subcommand};

use crate::output;

/// Subcommands of `assay generate`.
#[derive(Debug, Subcommand)]
pub(crate) enum GenerateCommand {
    /// Print the JSON schema of study files, for editors
    Schema,
    /// Print shell completions
    Completions(completions::CompletionsArguments),
    /// Write manual pages for all commands to a folder
    Man(man::ManArguments),
}

/// Runs a subcommand.
pub(crate) fn run(command: &GenerateCommand, program: Command) -> Result<Code, Error> {
    match command {
        GenerateCommand::Schema => {
            output::data(&format!("{:#}", assay_study::schema()));
            Ok(Code::Kept)
        }
        GenerateCommand::Completions(arguments) => completions::run(arguments, program),
        GenerateCommand::Man(arguments) => man::run(arguments, program),
    }
}
