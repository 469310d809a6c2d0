//! `assay-suite`: runs the tests of the workspace as fast as possible. Each test binary is first run for the
//! tests that only compute, several binaries in parallel, and then for the tests that requested the host
//! (`assay_test_support::host_lock`), one after another; a few failed tests are run again at the end. The
//! output ends with skipped tests and reasons, the slowest tests, failures, and one line with the counts.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod account;
mod again;
mod binary;
mod pass;
mod scheduler;

use std::process::ExitCode;
use std::time::Instant;

const USAGE: &str = "usage: assay-suite FILE [--quick] [--only WORD], after scripts/test has built";

/// Selection of the tests to run.
#[derive(Debug, Default)]
struct Choice {
    /// Only tests that need neither root, network nor guests.
    quick: bool,
    /// A crate, or a substring of the names of tests.
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
    // Background processes of a shell ignore SIGINT, and so would the programs that tests interrupt.
    assay_kernel::signal::ignore_none();
    let begun = Instant::now();
    let binaries = binary::all(&built);
    let mut passes = scheduler::run(&binaries, &choice);
    let flaky = again::run(&binaries, &mut passes);
    let account = account::Account::new(&passes, &flaky, choice.quick);
    println!("\n{}", account.text());
    println!("tests took {} s", begun.elapsed().as_secs());
    println!("{}", account.counts());
    if account.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
