//! Arguments that several commands have: overrides of a study, and where to write.

use std::path::Path;
use std::time::Duration;

use assay_run::overrides::StudyChoice;
use assay_run::prepare::Destination;
use assay_study::{DiskOverride, Stop};
use assay_sys::files::Trust;
use clap::Args;

use crate::parsers::repeat_length;

/// Overrides of a study on the command line.
#[derive(Debug, Clone, Args)]
pub(crate) struct StudyArguments {
    /// Study file, name of a shipped study, or fio job file (`mine.fio`)
    pub(crate) study: String,
    /// Use the sizes and times of the document that the study repeats; `--set` and others override them
    #[arg(long)]
    pub(crate) published: bool,
    /// Override the values of a factor, e.g. `groups=4,8`; may be repeated
    #[arg(long = "set", value_name = "FACTOR=VALUE[,VALUE]")]
    pub(crate) set: Vec<String>,
    /// Number of repeats of each trial
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) repeats: Option<u32>,
    /// Maximum length of a repeat, e.g. `20s`
    #[arg(long, value_name = "DURATION", value_parser = repeat_length)]
    pub(crate) at_most: Option<Duration>,
    /// When a trial ends: `decided` (at the first look that decides it, after 8, 10, 14, 18 or 24 repeats)
    /// or `at_most` (after all its repeats)
    #[arg(long, value_name = "WHEN", value_parser = stop)]
    pub(crate) stop: Option<Stop>,
    /// Weights of the groups of a fio job file, one for each section or `cgroup=` in its order, e.g.
    /// `1:3:5`; by default those of its `cgroup_weight=`
    #[arg(long, value_name = "W:W", value_parser = weights)]
    pub(crate) weights: Option<Weights>,
    /// Use this disk instead of the study's: `loop`, `loop:4GiB`, `/dev/x` (a blank disk or partition) or
    /// `null_blk:iops=500,depth=32,size=1GiB`; in the lab also `nvme:2GiB` or `virtio:2GiB`
    #[arg(long, value_name = "DISK")]
    pub(crate) disk: Option<DiskOverride>,
    /// Erase the disk if this is its serial number, its size, or what is on it (`ext4`)
    #[arg(long, value_name = "WHAT")]
    pub(crate) erase: Option<String>,
    /// Use this I/O scheduler instead of the study's
    #[arg(long, value_name = "NAME")]
    pub(crate) scheduler: Option<String>,
    /// Record with eBPF programs where each group waited, as `evidence = true` in `[sampling]` does
    #[arg(long)]
    pub(crate) evidence: bool,
    /// Seed for the order of trials and for random data
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
            at_most,
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
            published,
            set,
            repeats,
            at_most,
            stop,
            weights: weights.map(|weights| weights.0),
            disk,
            erase,
            scheduler,
            evidence,
            order: None,
            seed,
        }
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

/// Whether folders that other users can write to are accepted.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct TrustArguments {
    /// Accept folders that other users can write to; they can then make this program run any command
    /// as you
    #[arg(long)]
    trust_folder: bool,
}

impl TrustArguments {
    pub(crate) fn trust(self) -> Trust {
        if self.trust_folder { Trust::UserConfirmed } else { Trust::Checked }
    }

    /// Where to write: the run folder of `--out`, or a default one.
    pub(crate) fn destination(self, out: Option<&Path>) -> Destination {
        Destination { out: out.map(Path::to_owned), trust: self.trust() }
    }
}
