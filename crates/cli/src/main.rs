//! `assay`: turns arguments into calls, shows progress, sets exit codes. All logic lives in other crates.

mod args;
mod command;
mod destination;
mod examples;
mod exporting;
mod for_ci;
mod live_export;
mod live_terminal;
mod observer;
mod output;
mod parsers;
mod shared_arguments;

use std::process::ExitCode;

use assay_sys::exit::{Code, Error};
use clap::{CommandFactory, FromArgMatches};

use args::{Arguments, Command};
use observer::refuse;

fn main() -> ExitCode {
    if let Some(words) = command::conform::probe_words() {
        return end(command::conform::probe(&words));
    }
    if let Some(code) = command::completions::answer(Arguments::command) {
        return code.into();
    }
    assay_sys::kernel::open_files::raise_limit();
    let default_hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        // A panic that a library raises on a damaged file is reported as an error of that file.
        if !assay_record::run_folder::is_guarded() {
            default_hook(panic);
        }
    }));
    let program = examples::with_examples(Arguments::command());
    let parsed = program.try_get_matches().and_then(|found| Arguments::from_arg_matches(&found));
    match parsed {
        Ok(arguments) => run(&arguments.command),
        Err(error) => {
            // clap knows which of its messages are help (stdout, 0) and which are errors.
            let _ = error.print();
            if error.use_stderr() { Code::Usage.into() } else { Code::Kept.into() }
        }
    }
}

fn run(command: &Command) -> ExitCode {
    match command {
        Command::Run(arguments) => end(command::run::run(arguments)),
        Command::Check(arguments) => end(command::check::run(arguments)),
        Command::Studies(arguments) => end(command::studies::run(arguments)),
        Command::Host(arguments) => end(command::host::run(arguments)),
        Command::Judge(arguments) => end(command::judge::run(arguments)),
        Command::Compare(arguments) => end(command::compare::run(arguments)),
        Command::Explain(arguments) => end(command::explain::run(arguments)),
        Command::Export(arguments) => end(command::export::run(arguments)),
        Command::Tune(arguments) => end(command::tune::run(arguments)),
        Command::Report(arguments) => end(command::report::run(arguments)),
        Command::Exec(arguments) => end(command::exec::run(arguments)),
        Command::Sample(arguments) => end(command::sample::run(arguments)),
        Command::Audit(arguments) => end(command::audit::run(arguments)),
        Command::Blame(arguments) => end(command::blame::run(arguments)),
        Command::Groups(arguments) => end(command::groups::run(arguments)),
        Command::Restore(arguments) => end(command::restore::run(arguments)),
        Command::Fleet(command) => end(command::fleet::run(command)),
        Command::Lab(command) => end(command::lab::run(command)),
        Command::Schema => {
            output::data(&format!("{:#}", assay_study::schema()));
            Code::Kept.into()
        }
        Command::Conform(arguments) => end(command::conform::run(arguments)),
        Command::Passport(arguments) => end(command::passport::run(arguments)),
        Command::Completions(arguments) => end(command::completions::run(arguments)),
        Command::Man(arguments) => end(command::man::run(arguments, Arguments::command())),
    }
}

/// The exit code of a command; an error is printed.
fn end(result: Result<impl Into<ExitCode>, Error>) -> ExitCode {
    result.map_or_else(|error| refuse(&error).into(), Into::into)
}
