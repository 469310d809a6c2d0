//! `assay generate man`

use std::io;
use std::path::PathBuf;

use assay_sys::exit::{Code, Error};
use assay_sys::files::{Dir, output_dir};
use clap::{Args, Command};
use clap_mangen::Man;

use crate::output;

/// Arguments of `assay generate man`.
#[derive(Debug, Args)]
pub(crate) struct ManArguments {
    /// Folder for the pages; created if missing
    folder: PathBuf,
}

/// Writes a manual page for the program and for each of its commands.
pub(super) fn run(arguments: &ManArguments, mut program: Command) -> Result<Code, Error> {
    let folder = &arguments.folder;
    program.build();
    let written = output_dir(folder).map_err(io::Error::from);
    let count = written.and_then(|dir| write(&program, &dir)).map_err(|cause| {
        let (folder, hint) = (folder.display(), "name a folder that you can write to");
        Error::host(format!("cannot write manual pages to {folder}: {cause}\n  hint: {hint}"))
    })?;
    output::data(&format!("{count} pages in {}", folder.display()));
    Ok(Code::Kept)
}

/// Writes the page of a command and those of its subcommands; returns their number.
fn write(command: &Command, folder: &Dir) -> io::Result<usize> {
    let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
    let mut page = Vec::new();
    Man::new(command.clone()).render(&mut page)?;
    folder.replace(format!("{name}.1"), &page)?;
    let mut count = 1;
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        count += write(below, folder)?;
    }
    Ok(count)
}
