//! `assay`: turns arguments into calls, shows progress, sets exit codes. All logic lives in other crates.

mod args;
mod command;
mod destination;
mod exit;
mod observer;
mod output;
mod progress;

use clap::Parser;

use args::{Arguments, Command};

fn main() -> std::process::ExitCode {
    if let Some(words) = command::conform::probe_words() {
        return command::conform::probe(&words).into();
    }
    assay_kernel::open_files::raise_limit();
    let default_hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        // A panic that a library raises on a damaged file is reported as an error of that file.
        if !assay_run_folder::is_guarded() {
            default_hook(panic);
        }
    }));
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // clap knows which of its messages are help (stdout, 0) and which are errors.
            let _ = error.print();
            return exit::code_of_clap(&error).into();
        }
    };
    let code = match arguments.command {
        Command::Run(arguments) => command::run::run(&arguments),
        Command::Check(arguments) => command::check::run(&arguments),
        Command::Studies(arguments) => command::studies::run(&arguments),
        Command::Host(arguments) => command::host::run(&arguments),
        Command::Judge(arguments) => command::judge::run(&arguments),
        Command::Compare(arguments) => command::compare::run(&arguments),
        Command::Explain(arguments) => command::explain::run(&arguments),
        Command::Export(arguments) => command::export::run(&arguments),
        Command::Tune(arguments) => command::tune::run(&arguments),
        Command::Report(arguments) => command::report::run(&arguments),
        Command::Exec(arguments) => return command::exec::run(&arguments),
        Command::Sample(arguments) => command::sample::run(&arguments),
        Command::Blame(arguments) => return command::blame::run(&arguments),
        Command::Groups(arguments) => command::groups::run(&arguments),
        Command::Predict(arguments) => command::predict::run(&arguments),
        Command::Restore(arguments) => command::restore::run(&arguments),
        Command::Fleet(command) => return command::fleet::run(&command),
        Command::Lab(command) => return command::lab::run(&command),
        Command::Schema => command::schema::run(),
        Command::Conform(arguments) => command::conform::run(&arguments),
        Command::Completions(arguments) => command::completions::run(&arguments),
        Command::Man(arguments) => command::man::run(&arguments),
    };
    code.into()
}
