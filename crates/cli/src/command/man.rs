//! `assay man`

use std::io;
use std::path::PathBuf;

use assay_files::{Dir, output_dir};
use clap::{Args, Command, CommandFactory};
use clap_mangen::Man;

use crate::args::Arguments;
use crate::exit::{self, Code};
use crate::output;

/// Arguments of `assay man`.
#[derive(Debug, Args)]
pub(crate) struct ManArguments {
    /// Folder for the pages; created if missing
    folder: PathBuf,
}

/// Writes a manual page for the program and for each of its commands.
pub(crate) fn run(arguments: &ManArguments) -> Code {
    let folder = &arguments.folder;
    let mut command = Arguments::command().disable_help_subcommand(true);
    command.build();
    let written = output_dir(folder).map_err(io::Error::from);
    let written = written.and_then(|dir| write(&command, &dir));
    match written {
        Ok(count) => {
            output::data(&format!("{count} pages in {}", folder.display()));
            Code::Kept
        }
        Err(cause) => {
            output::error(&format!(
                "cannot write manual pages to {}: {cause}\n  hint: name a folder that you can \
                 write to",
                folder.display()
            ));
            Code::Host
        }
    }
}

/// Writes the page of a command and those of its subcommands; returns their number.
fn write(command: &Command, folder: &Dir) -> io::Result<usize> {
    let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
    folder.replace(format!("{name}.1"), &page(command, &name)?)?;
    let mut count = 1;
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        count += write(below, folder)?;
    }
    Ok(count)
}

/// The page: clap's sections, then exit codes, files, variables and references.
fn page(command: &Command, name: &str) -> io::Result<Vec<u8>> {
    // Exit codes are listed in their own section instead of clap's text after the help.
    let man = Man::new(command.clone().after_help("").after_long_help(""))
        .title(name.to_uppercase())
        .section("1")
        .manual("Assay");
    let mut text = Vec::new();
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    man.render_synopsis_section(&mut text)?;
    man.render_description_section(&mut text)?;
    if command.get_arguments().any(|argument| !argument.is_hide_set()) {
        man.render_options_section(&mut text)?;
    }
    if command.has_subcommands() {
        man.render_subcommands_section(&mut text)?;
    }
    let below = name.strip_prefix("assay-").unwrap_or("");
    text.extend(exit_status(below).into_bytes());
    text.extend(files_and_variables().into_bytes());
    text.extend(see_also(name).into_bytes());
    Ok(text)
}

fn exit_status(command: &str) -> String {
    let mut text = String::from(".SH \"EXIT STATUS\"\n");
    for (code, meaning) in exit::codes_of(command) {
        text.push_str(&format!(".TP\n\\fB{}\\fR\n{}\n", code as u8, escaped(meaning)));
    }
    if let Some(note) = exit::note_of(command) {
        text.push_str(&format!(".PP\n{}\n", escaped(note)));
    }
    text
}

fn files_and_variables() -> String {
    let entries = [
        (
            "FILES",
            &[
                ("/var/lib/assay", "the ledger: every change of the host that is not yet restored"),
                ("runs/TIME-STUDY", "a run folder: manifest, samples, logs, verdict, report"),
            ][..],
        ),
        (
            "ENVIRONMENT",
            &[
                ("ASSAY_STATE", "folder of the ledger, instead of /var/lib/assay"),
                ("NO_COLOR", "no colours if set and not empty"),
            ][..],
        ),
    ];
    let mut text = String::new();
    for (section, rows) in entries {
        text.push_str(&format!(".SH {section}\n"));
        for (what, meaning) in rows {
            text.push_str(&format!(".TP\n\\fI{}\\fR\n{}\n", escaped(what), escaped(meaning)));
        }
    }
    text
}

/// References to the parent page and to related pages.
fn see_also(name: &str) -> String {
    let mut pages = vec!["assay-load"];
    if let Some((above, _)) = name.rsplit_once('-') {
        pages.insert(0, above);
    }
    let pages = pages.iter().map(|page| format!("\\fB{}\\fR(1)", escaped(page)));
    let pages = pages.collect::<Vec<_>>().join(", ");
    format!(
        ".SH \"SEE ALSO\"\n{pages}, \\fBcgroups\\fR(7), \\fBfio\\fR(1)\n.PP\nThe guide, the \
         reference and the explanation are in \\fI/usr/share/doc/assay\\fR if Assay was \
         installed as a package.\n"
    )
}

/// Text escaped for troff: hyphens as minus signs, and no line that begins as a request.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}
