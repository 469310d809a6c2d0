//! `assay audit`

use std::path::{Path, PathBuf};

use assay_audit::{Audit, Class, audit};
use assay_kernel::Root;
use assay_session::{Code, Error, audit_code, read_snapshot, take_snapshot, write_snapshot};
use clap::Args;

use crate::destination::Destination;
use crate::output;

/// Arguments of `assay audit`.
#[derive(Debug, Args)]
#[command(after_help = "\
Only reads files below /proc, /sys and the mounts of control groups; starts nothing and changes nothing. What the
calling user may not read is named. Exit code 1: `--fail-on` names a class, and something of it was found.")]
pub(crate) struct AuditArguments {
    /// Judge this snapshot instead of this host
    #[arg(value_name = "SNAPSHOT", conflicts_with = "snapshot")]
    file: Option<PathBuf>,
    /// Audit the host whose root is mounted at DIR, as in a container that was started with `-v /:/host:ro`
    #[arg(long, value_name = "DIR", default_value = "/", conflicts_with_all = ["file", "explain"])]
    root: PathBuf,
    /// Write a snapshot of this host to FILE, and judge nothing
    #[arg(long, value_name = "FILE")]
    snapshot: Option<PathBuf>,
    /// Print everything that is known about a rule, e.g. `A-ANCESTOR`
    #[arg(long, value_name = "CODE", conflicts_with_all = ["file", "snapshot", "json"])]
    explain: Option<String>,
    /// End with 1 if anything of this class or of one that matters more was found
    #[arg(long, value_name = "CLASS", value_parser = class, conflicts_with_all = ["snapshot", "explain"])]
    fail_on: Option<Class>,
    /// Show every finding and every group, not the first of each kind
    #[arg(long, conflicts_with_all = ["snapshot", "explain"])]
    all: bool,
    /// Show the limits that hold for each group, by itself, the groups above and the machine; with `=PATH` of one and those below
    #[arg(long, value_name = "PATH", num_args = 0..=1, require_equals = true, default_missing_value = "/",
          conflicts_with_all = ["snapshot", "explain", "json", "all"])]
    groups: Option<String>,
    /// Write the findings as SARIF 2.1.0, for code scanning, to this file as well; `-` for stdout instead of the page
    #[arg(long, value_name = "FILE", conflicts_with_all = ["snapshot", "explain"])]
    sarif: Option<PathBuf>,
    /// Print JSON
    #[arg(long, conflicts_with = "snapshot")]
    json: bool,
}

fn class(text: &str) -> Result<Class, String> {
    let known = Class::ALL.iter().find(|(word, ..)| *word == text);
    known.map(|(_, class, _)| *class).ok_or_else(|| {
        let words: Vec<&str> = Class::ALL.iter().map(|(word, ..)| *word).collect();
        format!("expected one of {}", words.join(", "))
    })
}

/// Judges a host or a snapshot.
pub(crate) fn run(arguments: &AuditArguments) -> Result<Code, Error> {
    if let Some(code) = &arguments.explain {
        return explain(code);
    }
    // A path that cannot be written is refused before anything is read.
    let sarif = arguments.sarif.as_deref().map(Destination::open).transpose()?;
    let snapshot = match &arguments.file {
        Some(file) => read_snapshot(file)?,
        None => take_snapshot(&root_at(&arguments.root)?)?,
    };
    if let Some(file) = &arguments.snapshot {
        write_snapshot(file, &snapshot)?;
        return Ok(Code::Kept);
    }
    let audit = audit(&snapshot);
    let is_on_stdout = arguments.sarif.as_deref().is_some_and(|path| path == "-");
    if let Some(file) = sarif {
        let text = serde_json::to_string_pretty(&sarif_of(&audit)).map_err(Error::host)?;
        file.write_text(&format!("{text}\n")).map_err(Error::host)?;
    }
    if is_on_stdout {
        return Ok(audit_code(&audit, arguments.fail_on));
    }
    if arguments.json {
        output::json(&audit)?;
    } else if let Some(below) = &arguments.groups {
        output::data(&assay_audit::limits(&audit, below));
    } else {
        output::data(&assay_audit::text(&audit, arguments.all));
    }
    Ok(audit_code(&audit, arguments.fail_on))
}

/// The tree of kernel files in a folder.
fn root_at(folder: &Path) -> Result<Root, Error> {
    let root = Root::at(folder);
    if root.exists("/proc/self/mountinfo") {
        return Ok(root);
    }
    Err(Error::usage(format!(
        "{} is no root directory of a host: it has no proc/self/mountinfo\n  hint: start the container with \
         `-v /:/host:ro`, and name `--root /host`",
        folder.display()
    )))
}

fn sarif_of(audit: &Audit) -> serde_json::Value {
    assay_audit::sarif(audit, env!("CARGO_PKG_VERSION"))
}

fn explain(code: &str) -> Result<Code, Error> {
    let Some(rule) = assay_audit::find(code) else {
        let codes: Vec<&str> = assay_audit::all().map(|rule| rule.code).collect();
        let known = codes.join(", ");
        return Err(Error::usage(format!("unknown code `{code}`\n  hint: one of {known}")));
    };
    output::data(&assay_audit::explain(rule));
    Ok(Code::Kept)
}
