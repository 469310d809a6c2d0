//! The docs against the program: every command line in them is checked, every study in them
//! passes, and help texts and manual pages read well.
// A failure in what the tests share is a failure of the test.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

mod commands;
mod extract;
mod help;
mod package;
mod pages;
mod program;
mod shell;
mod studies;
