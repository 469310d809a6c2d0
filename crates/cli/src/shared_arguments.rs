//! Arguments that several commands have: overrides of a study, and where to write.

use std::path::Path;
use std::time::Duration;

use assay_blame::collect::BlameTarget;
use assay_run::overrides::StudyChoice;
use assay_run::prepare::Destination;
use assay_study::{DiskOverride, Stop};
use assay_sys::exit::Error;
use assay_sys::files::Trust;
use clap::Args;

use crate::output;
use crate::parsers::{one_of, repeat_length};

/// Overrides of a study on the command line.
#[derive(Debug, Clone, Args)]
pub(crate) struct StudyArguments {
    /// Study file, shipped study, or fio job file
    #[arg(index = 1)]
    pub(crate) study: String,
    /// Use the sizes of the document it repeats
    ///
    /// Sizes and times of the document that the study repeats; `--set` and others override them.
    #[arg(long)]
    pub(crate) published: bool,
    /// Values of a factor, as `groups=4,8`
    ///
    /// May be repeated.
    #[arg(short, long = "set", value_name = "FACTOR=VALUES")]
    pub(crate) set: Vec<String>,
    /// Repeats of each trial
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) repeats: Option<u32>,
    /// Longest time of a repeat, as `20s`
    #[arg(short, long, value_name = "DURATION", value_parser = repeat_length)]
    pub(crate) duration: Option<Duration>,
    /// End a trial when `decided`, or `at_most`
    ///
    /// `decided`: at the first look that decides it, after 8, 10, 14, 18 or 24 repeats; `at_most`: after
    /// all its repeats.
    #[arg(long, value_name = "WHEN", value_parser = stop)]
    pub(crate) stop: Option<Stop>,
    /// Weights of a job file's groups, as `1:3:5`
    ///
    /// One for each section or `cgroup=` in its order; by default those of its `cgroup_weight=`.
    #[arg(long, value_name = "W:W", value_parser = weights)]
    pub(crate) weights: Option<Weights>,
    /// Use this disk: `loop:4GiB`, `/dev/x`, ...
    ///
    /// `loop`, `loop:4GiB`, `/dev/x` (a blank disk or partition) or `null_blk:iops=500,depth=32,size=1GiB`;
    /// in the lab also `nvme:2GiB` or `virtio:2GiB`.
    #[arg(long, value_name = "DISK")]
    pub(crate) disk: Option<DiskOverride>,
    /// Erase the disk, if WHAT is on it
    ///
    /// A safeguard: WHAT is its serial number, its size, or what is on it (`ext4`).
    #[arg(long, value_name = "WHAT")]
    pub(crate) erase: Option<String>,
    /// Use this I/O scheduler
    #[arg(long, value_name = "NAME")]
    pub(crate) scheduler: Option<String>,
    /// Record with eBPF where each group waited
    ///
    /// As `evidence = true` in `[sampling]` does.
    #[arg(long)]
    pub(crate) evidence: bool,
    /// Seed for the order and random data
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
}

impl StudyArguments {
    pub(crate) fn choice(&self) -> StudyChoice {
        // Name every field, so that a new one is not forgotten here.
        let Self {
            study,
            published,
            set,
            repeats,
            duration,
            stop,
            weights,
            disk,
            erase,
            scheduler,
            evidence,
            seed,
        } = self.clone();
        StudyChoice {
            study,
            more_job_files: Vec::new(),
            published,
            set,
            repeats,
            at_most: duration,
            stop,
            weights: weights.map(|weights| weights.0),
            disk,
            erase,
            scheduler,
            evidence,
            seed,
        }
    }
}

/// More job files than one.
#[derive(Debug, Clone, Args)]
pub(crate) struct JobFileArguments {
    /// More job files, each a group
    #[arg(index = 2, value_name = "JOB_FILE")]
    more: Vec<String>,
}

impl JobFileArguments {
    /// The choice of a study with these files.
    pub(crate) fn with(&self, study: &StudyArguments) -> StudyChoice {
        StudyChoice { more_job_files: self.more.clone(), ..study.choice() }
    }
}

/// The weights of `--weights`: one value for clap, which takes a list for several.
#[derive(Debug, Clone)]
pub(crate) struct Weights(Vec<u32>);

fn weights(text: &str) -> Result<Weights, String> {
    let weights: Option<Vec<u32>> =
        text.split([':', ',']).map(|word| word.trim().parse().ok()).collect();
    let positive = weights.filter(|weights| weights.iter().all(|weight| *weight > 0));
    positive.map(Weights).ok_or_else(|| "write whole numbers from 1, such as `1:3:5`".to_owned())
}

fn stop(text: &str) -> Result<Stop, String> {
    match text {
        "at_most" => Ok(Stop::AtMost),
        "decided" => Ok(Stop::Decided),
        _ => Err("write `decided` or `at_most`".to_owned()),
    }
}

/// Format of what is printed.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct FormatArguments {
    /// Format: text or json
    #[arg(short = 'o', long, value_name = "FORMAT", default_value = "text", hide_default_value = true, hide_possible_values = true, value_parser = one_of(&FORMATS))]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Text,
    Json,
}

const FORMATS: [(&str, Format, &str); 2] =
    [("text", Format::Text, "For people"), ("json", Format::Json, "For programs")];

impl FormatArguments {
    pub(crate) fn is_json(self) -> bool {
        self.format == Format::Json
    }
}

/// What help and the question say of commands that start load.
pub(crate) const LOADS: &str = "\
This puts load on this host and may change its settings until it ends: whatever else runs here is slowed down. It asks \
first on a terminal, and needs --yes elsewhere.";

/// Whether something that may disturb others is started without a question.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct YesArguments {
    /// Do not ask first
    #[arg(short, long)]
    yes: bool,
}

impl YesArguments {
    /// Whether the user agrees: by `--yes`, or asked on a terminal. `false` where nobody can be asked.
    pub(crate) fn answer(self, what: &str) -> Result<bool, Error> {
        match self.yes || output::can_ask() {
            true if self.yes || output::ask(what) => Ok(true),
            true => Err(Error::usage("nothing was started")),
            false => Ok(false),
        }
    }

    /// Goes on only if the user agrees.
    pub(crate) fn confirm(self, what: &str) -> Result<(), Error> {
        match self.answer(what)? {
            true => Ok(()),
            false => {
                Err(Error::usage(format!("{what}\n  hint: --yes starts it without a question")))
            }
        }
    }

    /// What load does to others.
    pub(crate) fn confirm_load(self) -> Result<(), Error> {
        self.confirm(LOADS)
    }
}

/// What a command is about. A group is taken with all groups below it.
#[derive(Debug, Clone, Args)]
#[group(id = "target", multiple = false)]
pub(crate) struct TargetArguments {
    /// Group; its path below the mounts
    #[arg(long, value_name = "PATH")]
    group: Option<String>,
    /// Process
    #[arg(short, long, value_name = "PID")]
    pid: Option<u32>,
    /// Group of a systemd unit
    #[arg(long, value_name = "NAME")]
    unit: Option<String>,
    /// Group of a container, by name or id
    #[arg(long, value_name = "NAME")]
    container: Option<String>,
    /// Groups of a pod: uid, NAME or NAMESPACE/NAME
    #[arg(long, value_name = "NAME")]
    pod: Option<String>,
}

impl TargetArguments {
    pub(crate) fn target(&self) -> Option<BlameTarget> {
        let Self { group, pid, unit, container, pod } = self.clone();
        group
            .map(BlameTarget::Group)
            .or_else(|| pid.map(BlameTarget::Process))
            .or_else(|| unit.map(BlameTarget::Unit))
            .or_else(|| container.map(BlameTarget::Container))
            .or_else(|| pod.map(BlameTarget::Pod))
    }
}

/// Whether folders that other users can write to are accepted.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct TrustArguments {
    /// Allow folders that others can write to
    ///
    /// Dangerous: those users can make this program run any command as you.
    #[arg(long)]
    allow_shared_dir: bool,
}

impl TrustArguments {
    pub(crate) fn trust(self) -> Trust {
        if self.allow_shared_dir { Trust::UserConfirmed } else { Trust::Checked }
    }

    /// Where to write: the run folder of `--out`, or a default one.
    pub(crate) fn destination(self, out: Option<&Path>) -> Destination {
        Destination { out: out.map(Path::to_owned), trust: self.trust() }
    }
}
