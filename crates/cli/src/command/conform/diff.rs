//! `assay conform diff`: the cases that ended differently.

use std::path::PathBuf;

use assay_conform::request::read_conform;
use assay_sys::exit::{Code, Error};
use clap::Args;

use crate::output;

/// Arguments of a comparison.
#[derive(Debug, Args)]
#[command(after_help = "Exit code 1: a case ended differently.")]
pub(super) struct DiffArguments {
    /// Results of one host or kernel, as `assay conform -o json` prints them
    one: PathBuf,
    /// Results of the other
    other: PathBuf,
}

/// Compares, and ends as diff(1) does.
pub(super) fn run(arguments: &DiffArguments) -> Result<Code, Error> {
    let (one, other) = (read_conform(&arguments.one)?, read_conform(&arguments.other)?);
    let Some(text) = assay_conform::differences(&one, &other) else { return Ok(Code::Kept) };
    output::data(&text);
    Ok(Code::Broken)
}
