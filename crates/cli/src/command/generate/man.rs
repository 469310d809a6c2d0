//! `assay generate man`

use std::io;
use std::path::PathBuf;

use assay_sys::exit::{Code, Error};
use assay_sys::files::{Dir, output_dir};
use clap::{Args, Command};
use clap_mangen::Man;

use crate::{examples, output};

/// Arguments of `assay generate man`.
#[derive(Debug, Args)]
pub(crate) struct ManArguments {
    /// Folder for the pages; created if missing
    folder: PathBuf,
}

/// Writes a manual page for the program and for each of its commands.
pub(crate) fn run(arguments: &ManArguments, program: Command) -> Result<Code, Error> {
    let folder = &arguments.folder;
    let mut command = program.disable_help_subcommand(true);
    command.build();
    let written = output_dir(folder).map_err(io::Error::from);
    let count = written.and_then(|dir| write(&command, &dir)).map_err(|cause| {
        let (folder, hint) = (folder.display(), "name a folder that you can write to");
        Error::host(format!("cannot write manual pages to {folder}: {cause}\n  hint: {hint}"))
    })?;
    output::data(&format!("{count} pages in {}", folder.display()));
    Ok(Code::Kept)
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

/// The page: clap's sections, then examples, exit codes, files, variables and references.
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
    text.extend(examples(below).into_bytes());
    text.extend(exit_status(below).into_bytes());
    text.extend_from_slice(FILES_AND_VARIABLES.as_bytes());
    text.extend(see_also(name).into_bytes());
    Ok(text)
}

/// The examples of a command, by the name of its page.
fn examples(command: &str) -> String {
    let examples = examples::of(&command.replace('-', " "));
    if examples.is_empty() {
        return String::new();
    }
    let mut text = String::from(".SH EXAMPLES\n");
    for (line, what) in examples {
        text.push_str(&format!(".TP\n\\fB{}\\fR\n{}\n", escaped(line), escaped(what)));
    }
    text
}

fn exit_status(command: &str) -> String {
    let mut text = String::from(".SH \"EXIT STATUS\"\n");
    for (code, meaning) in codes_of(command) {
        text.push_str(&format!(".TP\n\\fB{}\\fR\n{}\n", code as u8, escaped(meaning)));
    }
    if matches!(command, "exec" | "lab-exec") {
        text.push_str(&format!(".PP\n{}\n", escaped(CODE_OF_THE_COMMAND)));
    }
    text
}

const CODE_OF_THE_COMMAND: &str = "Otherwise the exit code of the command itself: 128 plus the number of the signal that ended \
     it, 127 if the program was not found, 126 if it cannot be executed.";

/// The exit codes of a command, by its name below `assay`: `run`, `lab-run`. A command without a row
/// here may end with any.
fn codes_of(command: &str) -> Vec<(Code, &'static str)> {
    use Code::{Broken, Host, Interrupted, Kept, RestoreIncomplete, Undecided, Usage, Workload};
    let only: &[Code] = match command {
        "explain" | "generate-schema" | "generate-completions" => &[Kept, Usage],
        "generate-man" | "check" | "report" | "lab-kernels" | "top" | "audit-self" => {
            &[Kept, Usage, Host]
        }
        "audit" | "audit-diff" => &[Kept, Broken, Usage, Host],
        "audit-watch" => &[Kept, Usage, Host],
        "fairness" => &[Kept, Broken, Usage, Host, Interrupted],
        "blame" => &[Kept, Usage, Undecided, Host, Workload, RestoreIncomplete, Interrupted],
        "judge" => &[Kept, Broken, Usage, Undecided, Host],
        "host" => &[Kept, Broken, Usage, Host, RestoreIncomplete],
        "restore" => &[Kept, Usage, Host, RestoreIncomplete],
        "record" => &[Kept, Usage, Host, Workload, Interrupted],
        "conform" | "lab-conform" => {
            &[Kept, Broken, Usage, Undecided, Host, RestoreIncomplete, Interrupted]
        }
        "exec" => &[Usage, Host, RestoreIncomplete],
        "lab-exec" | "lab-shell" => &[Usage, Host, Interrupted],
        _ => return Code::ALL.to_vec(),
    };
    Code::ALL.into_iter().filter(|(code, _)| only.contains(code)).collect()
}

/// Files and variables, as troff.
const FILES_AND_VARIABLES: &str = r".SH FILES
.TP
\fI/var/lib/assay\fR
the ledger: every change of the host that is not yet restored
.TP
\fIruns/TIME\-STUDY\fR
a run folder: manifest, samples, logs, verdict, report
.SH ENVIRONMENT
.TP
\fIASSAY_STATE\fR
folder of the ledger, instead of /var/lib/assay
.TP
\fINO_COLOR\fR
no colours if set and not empty
";

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_without_a_row_may_end_with_any_code() {
        assert_eq!(codes_of("run").len(), Code::ALL.len());
        assert_eq!(codes_of("check").len(), 3);
    }
}
