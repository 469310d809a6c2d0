//! `assay-suite`: runs the tests of the workspace as fast as they allow. Each test binary is run for
//! what only computes first, several side by side, and then for the tests that asked for the host
//! meanwhile (`assay_test_support::host_lock`), one after the other; a few that failed are run again at the end.
//! Ends with what failed, what was skipped and why, the slowest tests, and one line with the counts.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod account;
mod again;
mod binary;
mod lanes;
mod pass;

use std::process::ExitCode;
use std::time::Instant;

const USAGE: &str = "usage: assay-suite FILE [--quick] [--only WORD], after scripts/test has built";

/// Which tests are run.
#[derive(Debug, Default)]
struct Choice {
    /// Only those that need neither root, network nor guests.
    quick: bool,
    /// A crate, or a part of the names of tests.
    only: Option<String>,
}

impl Choice {
    fn read(mut words: impl Iterator<Item = String>) -> Option<Self> {
        let mut choice = Self::default();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--quick" => choice.quick = true,
                "--only" => choice.only = Some(words.next()?),
                _ => return None,
            }
        }
        Some(choice)
    }
}

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let built = words.next().and_then(|path| std::fs::read_to_string(path).ok());
    let (Some(built), Some(choice)) = (built, Choice::read(words)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    // What a shell starts in the background ignores SIGINT, and so would the programs that tests interrupt.
    assay_kernel::signal::ignore_none();
    let begun = Instant::now();
    let binaries = binary::all(&built);
    let mut passes = lanes::run(&binaries, &choice);
    let flaky = again::run(&binaries, &mut passes);
    let account = account::Account::of(&passes, &flaky, choice.quick);
    println!("\n{}", account.text());
    println!("tests took {} s", begun.elapsed().as_secs());
    println!("{}", account.counts());
    if account.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
