//! Checks of the docs against the program: every command line and every study in them, help texts and
//! manual pages.
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
