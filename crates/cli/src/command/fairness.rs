//! `assay fairness`: what this host's groups got while they contended, against their settings.

use std::path::PathBuf;
use std::time::Duration;

use assay_audit::collect::{read_snapshot, take_snapshot};
use assay_audit::{Audit, audit, fairness_page};
use assay_blame::collect::{BlameTarget, group_of};
use assay_host::cgroup::inventory::{Filter, take};
use assay_host::gather;
use assay_live::collect::watch_audit;
use assay_live::fairness::{Contention, sections};
use assay_live::groups::check_groups;
use assay_sys::exit::{Code, Error};
use assay_sys::kernel::{Root, signal};
use clap::Args;
use serde::Serialize;

use crate::countdown::Countdown;
use crate::output;
use crate::parsers::watching;
use crate::shared_arguments::{FormatArguments, TargetArguments};

/// Arguments of `assay fairness`.
#[derive(Debug, Args)]
#[command(after_help = "\
Loads eBPF programs that count, which needs root; without them it shows what groups used, without verdicts. \
Starts nothing and changes nothing. Exit code 1: a division was broken.")]
pub(crate) struct FairnessArguments {
    /// Compare with the settings in this snapshot instead of those of now
    #[arg(value_name = "SNAPSHOT")]
    settings: Option<PathBuf>,
    #[command(flatten)]
    target: TargetArguments,
    /// How long to watch
    #[arg(long = "for", value_name = "DURATION", default_value = "60s", value_parser = watching)]
    length: Duration,
    /// Show every group, not the first of each level
    #[arg(short, long)]
    verbose: bool,
    /// Write an HTML page to FILE too
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    #[command(flatten)]
    format: FormatArguments,
}

/// An audit with what was seen while it watched.
#[derive(Serialize)]
struct Watched<'a> {
    #[serde(flatten)]
    audit: &'a Audit,
    contended: &'a Contention,
}

/// The path of the group that is meant, which must be there before an hour of watching.
fn existing(root: &Root, target: &BlameTarget) -> Result<String, Error> {
    let group = group_of(root, target)?;
    let filter = Filter { below: Some(group.clone()), ..Filter::default() };
    let layout = gather(root).map_err(Error::host)?.cgroup;
    check_groups(&take(root, &filter), &filter, &layout)?;
    Ok(group)
}

/// Watches this host. A signal ends it with what was seen so far.
pub(crate) fn run(arguments: &FairnessArguments) -> Result<Code, Error> {
    let root = Root::real();
    let target = arguments.target.target();
    let target = target.map(|target| existing(&root, &target)).transpose()?;
    let settings = match &arguments.settings {
        Some(file) => read_snapshot(file)?,
        None => take_snapshot(&root)?,
    };
    let audit = audit(&settings);
    let countdown = Countdown::start(Some(arguments.length));
    let mut contended = watch_audit(&root, &settings, arguments.length)?;
    if let Some(group) = &target {
        contended.keep_only(group);
    }
    drop(countdown);
    if arguments.format.is_json() {
        output::json(&Watched { audit: &audit, contended: &contended })?;
    } else {
        output::data(&fairness_page(&audit, sections(&contended, arguments.verbose)).unwrapped());
    }
    // What was seen is shown first: watching it again gives something else.
    if let Some(file) = &arguments.report {
        let page = fairness_page(&audit, sections(&contended, true));
        output::page(file, &assay_report::page_html(&page))?;
    }
    Ok(match signal::interrupted_by() {
        Some(_) => Code::Interrupted,
        None if contended.has_broken() => Code::Broken,
        None => Code::Kept,
    })
}
