//! `assay audit`

mod contended;
mod manifest;
mod watch;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use assay_audit::collect::{
    audit_code, read_snapshot, take_snapshot, write_snapshot, write_textfile,
};
use assay_audit::{Class, Snapshot, audit};
use assay_sys::escape::page::{Page, Paint};
use assay_sys::exit::{Code, Error};
use assay_sys::kernel::Root;
use clap::Args;

use crate::output;
use crate::parsers::duration_in;

/// Arguments of `assay audit`.
#[derive(Debug, Args)]
#[command(after_help = "\
Only reads files below /proc, /sys and the mounts of control groups; starts nothing and changes nothing. What the \
calling user may not read is named. --for loads eBPF programs that count, which needs root. Exit code 1: `--fail-on` names \
a class, and something of it was found.")]
pub(crate) struct AuditArguments {
    /// Judge this snapshot instead of this host
    #[arg(value_name = "SNAPSHOT", conflicts_with = "snapshot")]
    file: Option<PathBuf>,
    /// Audit the host whose root is mounted at DIR, as in a container that was started with `--pid host -v /:/host:ro`
    #[arg(long, value_name = "DIR", default_value = "/", conflicts_with = "file")]
    root: PathBuf,
    /// Write a snapshot of this host to FILE, and judge nothing
    #[arg(long, value_name = "FILE")]
    snapshot: Option<PathBuf>,
    /// Watch this host for so long, e.g. `60s`, and compare what its groups got while they contended with what they were
    /// told (by SNAPSHOT, if one is given); with --watch, how long to watch for changes
    #[arg(long = "for", value_name = "DURATION", value_parser = length,
          conflicts_with_all = ["snapshot", "groups", "baseline", "is_self", "manifests"])]
    length: Option<Duration>,
    /// End with 1 if anything of this class or of one that matters more was found; `broken`: by what --for saw;
    /// with --baseline, --watch and --manifest `drift`: if anything differs, or what --manifest asks for has no group
    #[arg(long, value_name = "CLASS", value_parser = fail_on, conflicts_with = "snapshot")]
    fail_on: Option<FailOn>,
    /// Show every finding and every group, not the first of each kind
    #[arg(long, conflicts_with = "snapshot")]
    all: bool,
    /// Show the limits that hold for each group, by itself, the groups above and the machine; with `=PATH` of one and those below
    #[arg(long, value_name = "PATH", num_args = 0..=1, require_equals = true, default_missing_value = "/",
          conflicts_with_all = ["snapshot", "json", "all"])]
    groups: Option<String>,
    /// Show what changed since this snapshot was taken
    #[arg(long, value_name = "SNAPSHOT", conflicts_with_all = ["snapshot", "groups", "all"])]
    baseline: Option<PathBuf>,
    /// Show what this process sees of its own groups: from inside a container, job or pod
    #[arg(long = "self", conflicts_with_all = ["file", "snapshot", "groups", "all", "baseline"])]
    is_self: bool,
    /// Write the audit, with --for, --manifest and --self what they show, as an HTML page to FILE too
    #[arg(long, value_name = "FILE", conflicts_with_all = ["snapshot", "baseline"])]
    report: Option<PathBuf>,
    #[command(flatten)]
    watch: watch::WatchArguments,
    #[command(flatten)]
    manifest: manifest::ManifestArguments,
    /// Write metrics to FILE as well, for the textfile collector of node_exporter; with --watch again and again
    #[arg(long, value_name = "FILE", conflicts_with_all = ["file", "snapshot", "baseline", "is_self", "manifests"])]
    textfile: Option<PathBuf>,
    /// Print JSON
    #[arg(long, conflicts_with = "snapshot")]
    json: bool,
}

/// What ends a command with 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FailOn {
    /// A finding of this class or above.
    Found(Class),
    /// A setting that differs.
    Drift,
    /// A division that was broken.
    Broken,
}

impl FailOn {
    const fn class(self) -> Option<Class> {
        match self {
            Self::Found(class) => Some(class),
            Self::Drift | Self::Broken => None,
        }
    }
}

fn fail_on(text: &str) -> Result<FailOn, String> {
    match text {
        "drift" => return Ok(FailOn::Drift),
        "broken" => return Ok(FailOn::Broken),
        _ => (),
    }
    let known = Class::ALL.iter().find(|(word, ..)| *word == text);
    known.map(|(_, class, _)| FailOn::Found(*class)).ok_or_else(|| {
        let words: Vec<&str> = Class::ALL.iter().map(|(word, ..)| *word).collect();
        format!("expected one of {}, broken, drift", words.join(", "))
    })
}

fn length(text: &str) -> Result<Duration, String> {
    duration_in(text, Duration::from_secs(1).., "watching needs at least 1 s")
}

impl AuditArguments {
    fn compares(&self) -> bool {
        self.baseline.is_some() || self.watch.is_asked() || self.manifest.is_asked()
    }

    /// Findings are for audits, drift is for comparisons.
    fn check_fail_on(&self) -> Result<(), Error> {
        let compares = self.compares();
        let wrong = match self.fail_on {
            Some(FailOn::Drift) if !compares => "`drift` needs --baseline, --watch or --manifest",
            Some(FailOn::Broken) if self.length.is_none() || compares => "`broken` needs --for 60s",
            Some(FailOn::Found(_)) if compares || self.is_self => {
                "a class needs an audit; with --baseline, --watch and --manifest it is `drift`"
            }
            _ => return Ok(()),
        };
        Err(Error::usage(format!("--fail-on: {wrong}")))
    }

    fn host(&self) -> Result<Snapshot, Error> {
        match &self.file {
            Some(file) => read_snapshot(file),
            None => take_snapshot(&root_at(&self.root)?),
        }
    }

    fn code(&self, differs: bool) -> Code {
        let fails = differs && self.fail_on == Some(FailOn::Drift);
        if fails { Code::Broken } else { Code::Kept }
    }
}

/// Judges a host or a snapshot, or compares it with something.
pub(crate) fn run(arguments: &AuditArguments) -> Result<Code, Error> {
    arguments.check_fail_on()?;
    if let Some(options) = arguments.watch.options(arguments.length) {
        let root = root_at(&arguments.root)?;
        let textfile = arguments.textfile.as_deref();
        let differs = watch::run(&root, options, textfile, arguments.json)?;
        return Ok(arguments.code(differs));
    }
    if let Some(file) = &arguments.baseline {
        return since(arguments, file);
    }
    if arguments.manifest.is_asked() {
        let report = arguments.report.as_deref();
        let differs = arguments.manifest.run(&arguments.host()?, report, arguments.json)?;
        return Ok(arguments.code(differs));
    }
    if arguments.is_self {
        let own = assay_audit::own(&arguments.host()?);
        if let Some(file) = &arguments.report {
            output::page(file, &assay_report::page_html(&assay_audit::own_page(&own)))?;
        }
        show(&own, arguments.json, assay_audit::own_page)?;
        return Ok(Code::Kept);
    }
    judge(arguments)
}

fn judge(arguments: &AuditArguments) -> Result<Code, Error> {
    let begun = Instant::now();
    let snapshot = arguments.host()?;
    if let Some(file) = &arguments.snapshot {
        write_snapshot(file, &snapshot)?;
        return Ok(Code::Kept);
    }
    let audit = audit(&snapshot);
    if let Some(file) = &arguments.textfile {
        write_textfile(file, &audit, begun.elapsed().as_secs_f64())?;
    }
    if let Some(length) = arguments.length {
        return contended::run(arguments, &snapshot, &audit, length);
    }
    if let Some(file) = &arguments.report {
        output::page(file, &assay_report::page_html(&assay_audit::audit_page(&audit, true)))?;
    }
    let class = arguments.fail_on.and_then(FailOn::class);
    if arguments.json {
        output::json(&audit)?;
    } else if let Some(below) = &arguments.groups {
        let limits = assay_audit::limits(&audit, below).ok_or_else(|| {
            let hint = "`assay groups` lists all; paths begin below the mount";
            let what = "no hierarchy of cpu, cpuset or memory has a group";
            Error::usage(format!("{what} `{below}`\n  hint: {hint}"))
        })?;
        let lines = limits.lines(usize::MAX, Paint { color: false });
        output::data(&lines.join("\n"));
    } else {
        output::data(&assay_audit::audit_page(&audit, arguments.all).unwrapped());
    }
    Ok(audit_code(&audit, class))
}

/// The tree of kernel files in a folder.
fn root_at(folder: &Path) -> Result<Root, Error> {
    let root = Root::at(folder);
    if root.exists("/proc/self/mountinfo") {
        return Ok(root);
    }
    Err(Error::usage(format!(
        "{} is no root directory of a host: it has no proc/self/mountinfo\n  hint: start the container with \
         `--pid host -v /:/host:ro`, and name `--root /host`",
        folder.display()
    )))
}

fn since(arguments: &AuditArguments, baseline: &Path) -> Result<Code, Error> {
    let before = read_snapshot(baseline)?;
    let drift = assay_audit::drift(&before, &arguments.host()?);
    show(&drift, arguments.json, assay_audit::drift_page)?;
    Ok(arguments.code(!drift.changes.is_empty()))
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
