//! `assay probe`

use std::path::PathBuf;

use assay_audit::Place;
use assay_audit::collect::read_manifest;
use assay_blame::collect::{BlameTarget, group_of};
use assay_host::gather;
use assay_live::probe::{Allowed, Document, Finished, Limit, Request, Target, Verdict, Wishes};
use assay_sys::escape::page::Page;
use assay_sys::exit::{Code, Error};
use assay_sys::kernel::{Root, signal};
use clap::Args;

use crate::destination::Destination;
use crate::observer::this_host;
use crate::output;
use crate::parsers::one_of;
use crate::shared_arguments::{FormatArguments, TargetArguments};

/// Arguments of `assay probe`.
#[derive(Debug, Args)]
#[command(after_help = "\
Each limit is tried on a group of ours beside the one that has it, with the same setting scaled down, and on a twin \
without. Without --inside nothing enters the group. None of its processes is touched; it shares the CPUs, disks and \
limits above it with probes of some seconds each. Needs root. Exit code 1: a limit is not enforced.")]
pub(crate) struct ProbeArguments {
    #[command(flatten)]
    target: TargetArguments,
    /// Compare with a Pod, unit or compose file, too
    ///
    /// What it asks for and no file says is not enforced. May be repeated, for a KubeletConfiguration and drop-ins.
    #[arg(long = "manifest", value_name = "FILE")]
    manifests: Vec<PathBuf>,
    /// Try each limit N times
    ///
    /// If the tries disagree, the limit is not provable.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    repeat: u32,
    /// Only limits of these controllers: memory, hugetlb, pids, cpu, cpuset, io, devices
    #[arg(long, value_name = "CONTROLLER", value_delimiter = ',')]
    only: Vec<String>,
    /// Let a proof of an I/O weight read as fast as the disk can, for 8 s
    #[arg(long)]
    saturate_disks: bool,
    /// Let a proof of a cap write 64 MiB into a file without a name in this directory, which lies on the capped disk
    #[arg(long, value_name = "DIRECTORY")]
    write_in: Option<PathBuf>,
    /// Try a quota of CPU time, CPUs and devices in the group itself, with a process of ours
    ///
    /// For 2 s that takes what the group leaves of its quota, up to 4 CPUs, so that its own processes are throttled. Needs --yes.
    #[arg(long)]
    inside: bool,
    /// Agree to what --inside costs the group
    #[arg(long, requires = "inside")]
    yes: bool,
    /// Say what the probes may use, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Write the answers as JUnit XML to this file; `-` for stdout instead of the table
    #[arg(long, value_name = "FILE", conflicts_with = "dry_run")]
    junit: Option<PathBuf>,
    /// The mildest verdict that fails the command
    #[arg(long, value_name = "VERDICT", default_value = "not-enforced", value_parser = one_of(&FailOn::ALL))]
    fail_on: FailOn,
    #[command(flatten)]
    format: FormatArguments,
}

/// Which verdicts fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailOn {
    Never,
    NotEnforced,
    NotProvable,
}

impl FailOn {
    const ALL: [(&'static str, Self, &'static str); 3] = [
        ("never", Self::Never, "None"),
        ("not-enforced", Self::NotEnforced, "A limit that is not enforced"),
        ("not-provable", Self::NotProvable, "A limit that is not enforced, or cannot be proven"),
    ];
}

/// Probes the limits of a running group.
pub(crate) fn run(arguments: &ProbeArguments) -> Result<Code, Error> {
    let target = arguments.target.target().ok_or_else(|| {
        Error::usage(
            "no target given\n  hint: give one of --group, --pid, --unit, --container, --pod",
        )
    })?;
    let limits = limits(&arguments.only)?;
    if arguments.inside && !arguments.yes && !arguments.dry_run {
        let cost = assay_live::probe::INSIDE;
        return Err(Error::usage(format!("--inside without --yes: {cost}\n  hint: --yes")));
    }
    let context = this_host();
    let facts = gather(&context.root).map_err(Error::host)?;
    let group = group_of(&context.root, &target)?;
    let wishes = wishes(&context.root, arguments, &target, &group)?;
    let target = Target::of_group(&context.root, &facts.cgroup, &name_of(&target), &group)
        .map_err(|why| Error::usage(format!("{why}\n  hint: assay top")))?;
    if arguments.dry_run {
        let is_v2 = facts.cgroup.is_on_v2("cpu");
        show(&assay_live::probe::plan(&target, &limits, is_v2, arguments.inside));
        return Ok(Code::Kept);
    }
    if let Some(why) = facts.root.reason() {
        return Err(Error::host(format!("only root can make groups beside others: {why}")));
    }
    let has_stdout = arguments.junit.as_deref().is_some_and(|path| path == "-");
    let junit = arguments.junit.as_deref().map(Destination::open).transpose()?;
    let program = std::env::current_exe()
        .map_err(|cause| Error::host(format!("cannot find this program's file: {cause}")))?;
    let request = Request {
        wishes,
        repeat: arguments.repeat,
        allowed: Allowed {
            saturate_disks: arguments.saturate_disks,
            write_in: arguments.write_in.clone(),
            inside: arguments.inside,
        },
        ..Request::new(&context.root, facts, target, limits, (context.state_dir, program))
    };
    signal::note_interruptions();
    let finished = assay_live::probe::run(&request, &context.root, &mut |file| {
        output::message(&format!("assay: trying {file}"));
    })
    .map_err(Error::host)?;
    if let Some(file) = junit {
        file.write_text(&assay_live::probe::junit(&finished.document))?;
    }
    if arguments.format.is_json() {
        output::json(&finished.document)?;
    } else if !has_stdout {
        show(&assay_live::probe::page(&finished.document));
    }
    Ok(conclude(&finished, arguments.fail_on))
}

fn wishes(
    root: &Root,
    arguments: &ProbeArguments,
    target: &BlameTarget,
    group: &str,
) -> Result<Wishes, Error> {
    let place = match target {
        BlameTarget::Group(_) | BlameTarget::Process(_) => Place::Group(group.to_owned()),
        BlameTarget::Unit(name) => Place::Unit(name.clone()),
        BlameTarget::Container(name) => Place::Container(name.clone()),
        BlameTarget::Pod(name) => Place::Pod(name.clone()),
    };
    let manifest = match arguments.manifests.as_slice() {
        [] => None,
        files => Some(read_manifest(files)?),
    };
    let names: Vec<String> =
        arguments.manifests.iter().map(|path| path.display().to_string()).collect();
    let names = names.join(", ");
    Wishes::read(root, group, manifest.as_ref().map(|one| (one, names.as_str())), &place)
}

fn show(page: &Page) {
    output::data_painted(|color| page.text(output::width(), color));
}

/// A target as it was named.
fn name_of(target: &BlameTarget) -> String {
    match target {
        BlameTarget::Group(path) => format!("group {path}"),
        BlameTarget::Process(pid) => format!("process {pid}"),
        BlameTarget::Unit(name) => format!("unit {name}"),
        BlameTarget::Container(name) => format!("container {name}"),
        BlameTarget::Pod(name) => format!("pod {name}"),
    }
}

fn limits(only: &[String]) -> Result<Vec<Limit>, Error> {
    let known: Vec<&str> = Limit::ALL.map(Limit::controller).to_vec();
    if let Some(unknown) = only.iter().find(|name| !known.contains(&name.as_str())) {
        let hint =
            "memory, hugetlb, pids, cpu, cpuset, io and devices have limits that can be probed";
        return Err(Error::usage(format!("--only {unknown}: no such controller\n  hint: {hint}")));
    }
    let is_wanted =
        |limit: &Limit| only.is_empty() || only.iter().any(|name| name == limit.controller());
    Ok(Limit::ALL.into_iter().filter(is_wanted).collect())
}

fn conclude(finished: &Finished, fail_on: FailOn) -> Code {
    for error in &finished.not_restored {
        output::error(&format!("not restored: {error}"));
    }
    if !finished.document.restored {
        return Code::RestoreIncomplete;
    }
    if let Some(name) = finished.interrupted {
        output::message(&format!("interrupted by {name}, and restored"));
        return Code::Interrupted;
    }
    let has = |document: &Document, verdict| document.count(verdict) > 0;
    match fail_on {
        FailOn::Never => Code::Kept,
        _ if has(&finished.document, Verdict::NotEnforced) => Code::Broken,
        FailOn::NotProvable if has(&finished.document, Verdict::NotProvable) => Code::Undecided,
        _ => Code::Kept,
    }
}
