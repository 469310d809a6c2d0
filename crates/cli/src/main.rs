//! `assay`: turns arguments into calls, shows progress, sets exit codes. All logic lives in other crates.

mod answering;
mod args;
mod codes;
mod command;
mod countdown;
mod destination;
mod examples;
mod exporting;
mod for_ci;
mod live_terminal;
mod observer;
mod output;
mod parsers;
mod replaced;
mod shared_arguments;
#[cfg(test)]
mod statements_tests;

use std::ffi::OsString;
use std::process::ExitCode;

use assay_host::start_stand_in;
use assay_sys::exit::{Code, Error};
use assay_sys::kernel::signal;
use clap::{CommandFactory, FromArgMatches};

use args::{Arguments, Command, grouped};
use observer::refuse;

fn main() -> ExitCode {
    if let Some(words) = command::conform::probe_words() {
        return end(command::conform::probe(&words));
    }
    assay_sys::kernel::open_files::raise_limit();
    let default_hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        // A panic that a library raises on a damaged file is reported as an error of that file.
        if !assay_record::run_folder::is_guarded() {
            default_hook(panic);
        }
    }));
    let program = grouped(examples::with_examples(Arguments::command()));
    let words = words();
    let parsed =
        program.try_get_matches_from(&words).and_then(|found| Arguments::from_arg_matches(&found));
    match parsed {
        Ok(arguments) => {
            output::set(arguments.output);
            match answering::refuse_silent(&words, arguments.command.keeps_ledger()) {
                Ok(()) => {
                    start_stand_in(replaced::end);
                    run(&arguments.command)
                }
                Err(error) => end(Err::<Code, _>(error)),
            }
        }
        Err(error) => {
            // clap knows which of its messages are help (stdout, 0) and which are errors.
            if !error.use_stderr() {
                let _ = error.print();
                return Code::Kept.into();
            }
            output::usage_error(&error.render());
            output::json_error(Code::Usage as i32, vec![error.render().to_string()]);
            Code::Usage.into()
        }
    }
}

/// The command line; `assay help run` is `assay run --help`.
fn words() -> Vec<OsString> {
    let mut words: Vec<OsString> = std::env::args_os().collect();
    if words.get(1).is_some_and(|word| word == "help") {
        words.remove(1);
        words.push("--help".into());
    }
    words
}

fn run(command: &Command) -> ExitCode {
    match command {
        Command::Audit(arguments) => end(command::audit::run(arguments)),
        Command::Fairness(arguments) => end(command::fairness::run(arguments)),
        Command::Blame(arguments) => end(command::blame::run(arguments)),
        Command::Probe(arguments) => end(command::probe::run(arguments)),
        Command::Top(arguments) => end(command::top::run(arguments)),
        Command::Check(arguments) => end(command::check::run(arguments)),
        Command::Run(arguments) => end(command::run::run(arguments)),
        Command::Exec(arguments) => end(command::exec::run(arguments)),
        Command::Record(arguments) => end(command::record::run(arguments)),
        Command::Report(arguments) => end(command::report::run(arguments)),
        Command::Compare(arguments) => end(command::compare::run(arguments)),
        Command::Diagnose(arguments) => end(command::diagnose::run(arguments)),
        Command::Tune(arguments) => end(command::tune::run(arguments)),
        Command::Judge(arguments) => end(command::judge::run(arguments)),
        Command::Conform(arguments) => end(command::conform::run(arguments)),
        Command::Host(arguments) => end(command::host::run(arguments)),
        Command::Restore(arguments) => end(command::restore::run(arguments)),
        Command::Explain(arguments) => end(command::explain::run(arguments)),
        Command::Generate(command) => {
            end(command::generate::run(command, examples::with_examples(Arguments::command())))
        }
        Command::Lab(command) => end(command::lab::run(command)),
        Command::Fleet(command) => end(command::fleet::run(command)),
    }
}

/// The exit code of a command; an error is printed. No result counts whose data were lost on the way.
fn end(result: Result<impl Into<ExitCode>, Error>) -> ExitCode {
    const RESULTS: [Code; 3] = [Code::Kept, Code::Broken, Code::Undecided];
    let refused = |mut error: Error| {
        // It was cut short.
        if error.code == Code::Host && signal::interrupted_by().is_some() {
            error.code = Code::Interrupted;
        }
        output::json_error(error.code as i32, error.reasons.clone());
        refuse(&error).into()
    };
    let code = result.map_or_else(refused, Into::into);
    match output::has_lost_data() && RESULTS.map(ExitCode::from).contains(&code) {
        true => Code::Host.into(),
        false => code,
    }
}
