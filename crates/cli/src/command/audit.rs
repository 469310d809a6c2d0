//! `assay audit`

mod diff;
mod manifest;
mod own;
mod watch;

use std::path::{Path, PathBuf};
use std::time::Instant;

use assay_audit::collect::{
    audit_code, read_snapshot, take_snapshot, write_snapshot, write_textfile,
};
use assay_audit::{Class, Snapshot, audit};
use assay_sys::escape::page::{Page, Paint};
use assay_sys::exit::{Code, Error};
use assay_sys::kernel::Root;
use clap::{Args, Subcommand};

use crate::output;
use crate::parsers::one_of;
use crate::shared_arguments::FormatArguments;

/// Arguments of `assay audit`.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_value_name = "COMMAND",
    after_help = "Reads files only; starts nothing and changes nothing. Exit code 1: `--fail-on` names a class, \
                  and something of it was found; or something differs from --manifest."
)]
pub(crate) struct AuditArguments {
    #[command(subcommand)]
    command: Option<AuditCommand>,
    /// Audit this snapshot instead of this host
    #[arg(value_name = "SNAPSHOT", conflicts_with = "snapshot")]
    file: Option<PathBuf>,
    /// Root of the host to audit
    ///
    /// Where the root of the host is mounted, as in a container that was started with `--pid host -v
    /// /:/host:ro`.
    #[arg(long, value_name = "DIR", default_value = "/", conflicts_with = "file")]
    root: PathBuf,
    /// Write a snapshot, and audit nothing
    #[arg(long, value_name = "FILE")]
    snapshot: Option<PathBuf>,
    /// With masks in place of names
    ///
    /// Of the host, groups, units, containers, pods and folders. Rules find the same. Numbers, such as those of
    /// users, and names of disks stay.
    #[arg(long, requires = "snapshot")]
    anonymous: bool,
    /// Exit with 1 on findings of CLASS or worse
    ///
    /// `no-effect`, `weakened`, `means-else`, `risk` or `not-now`.
    #[arg(long, value_name = "CLASS", conflicts_with = "snapshot", hide_possible_values = true, value_parser = one_of(&Class::ALL))]
    fail_on: Option<Class>,
    /// Show every finding and every group
    ///
    /// Not only the first of each kind.
    #[arg(short, long, conflicts_with = "snapshot")]
    verbose: bool,
    /// Show the limits of each group
    ///
    /// Those that hold, by the group itself, the groups above and the machine; with `=PATH` of one and
    /// those below.
    #[arg(long, value_name = "PATH", num_args = 0..=1, require_equals = true, default_missing_value = "/",
          conflicts_with_all = ["snapshot", "format", "verbose"])]
    groups: Option<String>,
    /// Write an HTML page too
    #[arg(long, value_name = "FILE", conflicts_with = "snapshot")]
    report: Option<PathBuf>,
    /// Write metrics for node_exporter too
    ///
    /// For its textfile collector.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["file", "snapshot", "manifests"])]
    textfile: Option<PathBuf>,
    #[command(flatten)]
    format: FormatArguments,
    #[command(flatten)]
    manifest: manifest::ManifestArguments,
}

/// Subcommands of `assay audit`.
#[derive(Debug, Subcommand)]
enum AuditCommand {
    /// Show what changed since a snapshot
    Diff(diff::DiffArguments),
    /// Show changes of settings as they happen
    Watch(watch::WatchArguments),
    /// Show what this process sees of its own groups
    #[command(name = "self")]
    Own(own::OwnArguments),
}

/// Audits a host or a snapshot.
pub(crate) fn run(arguments: &AuditArguments) -> Result<Code, Error> {
    match &arguments.command {
        Some(AuditCommand::Diff(arguments)) => diff::run(arguments),
        Some(AuditCommand::Watch(arguments)) => watch::run(arguments),
        Some(AuditCommand::Own(arguments)) => own::run(arguments),
        None if arguments.manifest.is_asked() => {
            let (host, report) = (arguments.host()?, arguments.report.as_deref());
            arguments.manifest.run(&host, report, arguments.format.is_json()).map(code)
        }
        None => judge(arguments),
    }
}

impl AuditArguments {
    fn host(&self) -> Result<Snapshot, Error> {
        host(self.file.as_deref(), &self.root)
    }
}

/// A snapshot that was taken, or one of the host at `root`.
fn host(file: Option<&Path>, root: &Path) -> Result<Snapshot, Error> {
    match file {
        Some(file) => read_snapshot(file),
        None => take_snapshot(&root_at(root)?),
    }
}

/// As of diff(1).
const fn code(differs: bool) -> Code {
    if differs { Code::Broken } else { Code::Kept }
}

fn judge(arguments: &AuditArguments) -> Result<Code, Error> {
    let begun = Instant::now();
    let mut snapshot = arguments.host()?;
    if let Some(file) = &arguments.snapshot {
        if arguments.anonymous {
            snapshot.mask();
        }
        write_snapshot(file, &snapshot)?;
        return Ok(Code::Kept);
    }
    let audit = audit(&snapshot);
    if let Some(file) = &arguments.textfile {
        write_textfile(file, &audit, begun.elapsed().as_secs_f64())?;
    }
    if let Some(file) = &arguments.report {
        output::page(file, &assay_report::page_html(&assay_audit::audit_page(&audit, true)))?;
    }
    if arguments.format.is_json() {
        output::json(&audit)?;
    } else if let Some(below) = &arguments.groups {
        let limits = assay_audit::limits(&audit, below).ok_or_else(|| {
            let hint = "`assay top` lists all; paths begin below the mount";
            let what = "no hierarchy of cpu, cpuset, memory or pids has a group";
            Error::usage(format!("{what} `{below}`\n  hint: {hint}"))
        })?;
        let lines = limits.lines(usize::MAX, Paint { color: false });
        output::data(&lines.join("\n"));
    } else {
        output::data(&assay_audit::audit_page(&audit, arguments.verbose).unwrapped());
    }
    Ok(audit_code(&audit, arguments.fail_on))
}

/// The tree of kernel files in a folder.
fn root_at(folder: &Path) -> Result<Root, Error> {
    let root = Root::foreign(folder);
    if root.exists("/proc/self/mountinfo") {
        return Ok(root);
    }
    Err(Error::usage(format!(
        "{} is no root directory of a host: it has no proc/self/mountinfo\n  hint: start the container with \
         `--pid host -v /:/host:ro`, and name `--root /host`",
        folder.display()
    )))
}

fn show<T: serde::Serialize>(
    document: &T,
    as_json: bool,
    page: impl Fn(&T) -> Page,
) -> Result<(), Error> {
    if as_json {
        return output::json(document);
    }
    output::data(&page(document).unwrapped());
    Ok(())
}
