//! `assay audit`

use std::path::PathBuf;
use std::time::Duration;

use assay_audit::{Audit, Class, Snapshot, audit};
use assay_contention::Contention;
use assay_kernel::{Root, signal};
use assay_session::{
    Code, Error, audit_code, read_snapshot, take_snapshot, watch_audit, write_snapshot,
};
use clap::Args;
use serde::Serialize;

use crate::output;
use crate::parsers::duration_in;

/// Arguments of `assay audit`.
#[derive(Debug, Args)]
#[command(after_help = "\
Only reads files below /proc, /sys and the mounts of control groups; starts nothing and changes nothing. What the
calling user may not read is named. --for loads eBPF programs that count, which needs root. Exit code 1: `--fail-on` names
a class, and something of it was found.")]
pub(crate) struct AuditArguments {
    /// Judge this snapshot instead of this host
    #[arg(value_name = "SNAPSHOT", conflicts_with = "snapshot")]
    file: Option<PathBuf>,
    /// Write a snapshot of this host to FILE, and judge nothing
    #[arg(long, value_name = "FILE")]
    snapshot: Option<PathBuf>,
    /// Print everything that is known about a rule, e.g. `A-ANCESTOR`
    #[arg(long, value_name = "CODE", conflicts_with_all = ["file", "snapshot", "json"])]
    explain: Option<String>,
    /// Watch this host for so long, e.g. `60s`, and compare what its groups got while they contended with what they were told
    /// (by SNAPSHOT, if one is given)
    #[arg(long = "for", value_name = "DURATION", value_parser = length, conflicts_with_all = ["snapshot", "explain", "groups"])]
    length: Option<Duration>,
    /// End with 1 if anything of this class or of one that matters more was found; `broken`: by what --for saw
    #[arg(long, value_name = "CLASS", value_parser = fail_on, conflicts_with_all = ["snapshot", "explain"])]
    fail_on: Option<FailOn>,
    /// Show every finding and every group, not the first of each kind
    #[arg(long, conflicts_with_all = ["snapshot", "explain"])]
    all: bool,
    /// Show the limits that hold for each group, by itself, the groups above and the machine; with `=PATH` of one and those below
    #[arg(long, value_name = "PATH", num_args = 0..=1, require_equals = true, default_missing_value = "/",
          conflicts_with_all = ["snapshot", "explain", "json", "all"])]
    groups: Option<String>,
    /// Print JSON
    #[arg(long, conflicts_with = "snapshot")]
    json: bool,
}

/// What ends the command with 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FailOn {
    /// A finding of a class.
    Class(Class),
    /// A division that was broken.
    Broken,
}

impl FailOn {
    const fn class(self) -> Option<Class> {
        match self {
            Self::Class(class) => Some(class),
            Self::Broken => None,
        }
    }
}

fn fail_on(text: &str) -> Result<FailOn, String> {
    if text == "broken" {
        return Ok(FailOn::Broken);
    }
    let known = Class::ALL.iter().find(|(word, ..)| *word == text);
    known.map(|(_, class, _)| FailOn::Class(*class)).ok_or_else(|| {
        let words: Vec<&str> = Class::ALL.iter().map(|(word, ..)| *word).collect();
        format!("expected one of {}, broken", words.join(", "))
    })
}

fn length(text: &str) -> Result<Duration, String> {
    duration_in(text, Duration::from_secs(1).., "watching needs at least 1 s")
}

/// An audit with what was seen while it watched.
#[derive(Serialize)]
struct Watched<'a> {
    #[serde(flatten)]
    audit: &'a Audit,
    contended: &'a Contention,
}

/// Judges a host or a snapshot.
pub(crate) fn run(arguments: &AuditArguments) -> Result<Code, Error> {
    if let Some(code) = &arguments.explain {
        return explain(code);
    }
    let snapshot = match &arguments.file {
        Some(file) => read_snapshot(file)?,
        None => take_snapshot(&Root::real())?,
    };
    if let Some(file) = &arguments.snapshot {
        write_snapshot(file, &snapshot)?;
        return Ok(Code::Kept);
    }
    let audit = audit(&snapshot);
    if let Some(length) = arguments.length {
        return watch(arguments, &snapshot, &audit, length);
    }
    if arguments.fail_on == Some(FailOn::Broken) {
        return Err(Error::usage("`--fail-on broken` needs --for\n  hint: --for 60s"));
    }
    if arguments.json {
        output::json(&audit)?;
    } else if let Some(below) = &arguments.groups {
        output::data(&assay_audit::limits(&audit, below));
    } else {
        output::data(&assay_audit::text(&audit, arguments.all));
    }
    Ok(audit_code(&audit, arguments.fail_on.and_then(FailOn::class)))
}

/// The same, with what this host's groups got meanwhile. A signal ends it with what was seen so far.
fn watch(
    arguments: &AuditArguments,
    settings: &Snapshot,
    audit: &Audit,
    length: Duration,
) -> Result<Code, Error> {
    signal::note_interruptions();
    let contended = watch_audit(&Root::real(), settings, length)?;
    if arguments.json {
        output::json(&Watched { audit, contended: &contended })?;
    } else {
        let part = assay_contention::text(&contended, arguments.all);
        output::data(&format!("{}{part}", assay_audit::text(audit, arguments.all)));
    }
    if signal::interrupted_by().is_some() {
        return Ok(Code::Interrupted);
    }
    Ok(match arguments.fail_on {
        Some(FailOn::Broken) if contended.has_broken() => Code::Broken,
        other => audit_code(audit, other.and_then(FailOn::class)),
    })
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
