//! The parts of a valid study.
//!
//! A value that may refer to a factor (`"{groups}"`) is kept as a [`Templated`](crate::Templated) and becomes a plain
//! value when a trial's [`Bindings`] are known. The checker has resolved every template under every
//! combination of factors, so that planning never meets a template that does not resolve.

mod promise;

use std::collections::BTreeMap;
use std::time::Duration;

use crate::workload::{Key, Metric, has_placeholder, kind};
use assay_sys::units::Bytes;
use serde::{Deserialize, Serialize};

use crate::template::{FromScalar, Templated};

pub(crate) use promise::Every;
pub use promise::{Bound, Pairs, Promise, Reference, Relation};

pub use crate::scalar::{Bindings, Scalar};

/// A study: who shares what, what runs, what is promised.
#[derive(Debug, Clone, PartialEq)]
pub struct Study {
    /// The name by which it was found: a shipped name, or the file's stem.
    pub name: String,
    /// One line for lists and report titles.
    pub title: String,
    /// The question that the study answers.
    pub question: Option<String>,
    /// What varies, in the order of the file.
    pub factors: Vec<Factor>,
    /// Number, order and length of trials.
    pub design: Design,
    /// Settings of the whole machine during a trial.
    pub settings: HostSettings,
    /// Optional sources, and the sampling interval.
    pub sampling: Sampling,
    /// Disks by name.
    pub disks: BTreeMap<String, Disk>,
    /// Control groups, in the order of the file.
    pub groups: Vec<Group>,
    /// Workloads by name.
    pub workloads: BTreeMap<String, Workload>,
    /// What should hold.
    pub promises: Vec<Promise>,
    /// Published numbers, shown beside the results and never judged.
    pub references: Vec<Reference>,
    /// The folder of its file, for `{study}`; `None` for a shipped study. Set by the caller that
    /// read the file.
    pub folder: Option<String>,
}

/// A factor: something that varies between trials.
#[derive(Debug, Clone, PartialEq)]
pub struct Factor {
    /// Its name in templates.
    pub name: String,
    /// Its levels, in the order of the file.
    pub values: Vec<Scalar>,
}

/// In which order trials run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Shuffled by the seed, so that drift of the host does not line up with a factor.
    #[default]
    Random,
    /// As written.
    #[serde(rename = "given")]
    AsWritten,
    /// As written in one round of repeats and backwards in the next (A B B A), so that a steady
    /// drift of the host affects all trials alike.
    Interleaved,
}

/// The time cut from the start of a repeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WarmUp {
    /// The first half second, and at most a fifth.
    #[default]
    Auto,
    /// This long.
    Fixed(Duration),
}

/// When a trial ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// After all its repeats.
    AtMost,
    /// At the first look that decides its promises.
    #[default]
    Decided,
}

/// Number, order and length of trials.
#[derive(Debug, Clone, PartialEq)]
pub struct Design {
    /// How often each combination runs at most, at least once.
    pub repeats: u32,
    /// In which order.
    pub order: Order,
    /// The time cut from the start of a repeat.
    pub warm_up: WarmUp,
    /// The longest time of a repeat, from the common start.
    pub at_most: Duration,
    /// Which workload's end ends a repeat early.
    pub ends: Ends,
    /// Whether a trial ends once it is decided.
    pub stop: Stop,
    /// Combinations that are left out.
    pub leave_out: Vec<LeftOut>,
}

/// Combinations to leave out: those with one of these levels of every factor named.
pub type LeftOut = Vec<(String, Vec<Scalar>)>;

/// Which workload's end ends a repeat early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ends {
    /// The end of the first workload that has done all its work.
    #[default]
    First,
    /// The end of the last workload that has an end.
    All,
    /// None: the repeat takes its whole time.
    Time,
}

/// Optional sources, the sampling interval, and evidence from inside the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sampling {
    /// Sources in addition to those of every run, each once.
    pub sources: Vec<String>,
    /// Time between two rounds.
    pub interval: Duration,
    /// Whether eBPF programs record where the waiting of each group went.
    pub evidence: bool,
}

impl Default for Sampling {
    /// Ten samples per second: finer than a service round of BFQ with a handful of groups, and less
    /// than a hundredth of a core with 128 of them (docs/results/performance.md).
    fn default() -> Self {
        Self { sources: Vec::new(), interval: Duration::from_millis(100), evidence: false }
    }
}

/// The source of a scratch disk.
#[derive(Debug, Clone, PartialEq)]
pub enum DiskSource {
    /// An image file behind a loop device, fully written before use.
    Loop,
    /// A named block device. If it holds data, `erase` must repeat its serial number or its size.
    Block {
        /// `/dev/sdb`.
        device: String,
        /// The serial or size that the user expects to lose.
        erase: Option<String>,
    },
    /// An existing directory; no block device is set up.
    Directory {
        /// Its path.
        path: String,
    },
    /// A null_blk device made through configfs.
    NullBlk(NullBlk),
}

/// Speed of a null_blk device; without `iops` it completes requests immediately.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NullBlk {
    /// Requests per second that it completes with `depth` of them in flight.
    pub iops: Option<Templated<u32>>,
    /// Queue depth.
    pub depth: Option<Templated<u32>>,
}

impl NullBlk {
    /// Checks `iops` and `depth` against their limits: the shortest timer is a nanosecond, and
    /// blk-mq has at most 10240 tags (BLK_MQ_MAX_DEPTH, include/linux/blk-mq.h).
    pub(crate) fn check(name: &str, value: Option<u32>) -> Result<u32, String> {
        let limit = if name == "depth" { 10_240 } else { 100_000_000 };
        value
            .filter(|value| (1..=limit).contains(value))
            .ok_or_else(|| format!("`{name}` of null_blk must be a whole number from 1 to {limit}"))
    }
}

/// The file system made on a disk or partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Nothing: workloads use the device itself.
    #[default]
    None,
    /// mkfs.ext4.
    Ext4,
    /// mkfs.xfs.
    Xfs,
}

/// The size of a disk that Assay makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskSize {
    /// As large as the files of the workloads need, in the trial that needs most.
    Auto,
    /// This large.
    Fixed(Bytes),
}

impl FromScalar for DiskSize {
    const EXPECTED: &'static str = "an amount of data such as `2 GiB`, or `auto`";

    fn from_scalar(scalar: &Scalar) -> Option<Self> {
        match scalar {
            Scalar::Text(text) if text.trim() == "auto" => Some(Self::Auto),
            _ => Bytes::from_scalar(scalar).map(Self::Fixed),
        }
    }
}

/// A scratch disk.
#[derive(Debug, Clone, PartialEq)]
pub struct Disk {
    /// Where it comes from.
    pub source: DiskSource,
    /// Its size; `None` only for sources with a fixed size.
    pub size: Option<Templated<DiskSize>>,
    /// Its file system.
    pub format: Templated<Format>,
    /// How many partitions; 0 means the whole disk, unpartitioned.
    pub partitions: Templated<u32>,
    /// `queue/scheduler`; `None` leaves it unchanged.
    pub scheduler: Option<Templated<String>>,
    /// Further queue attributes below `/sys/block/X/queue/`, in the order of the file.
    pub queue: Vec<(String, Templated<Scalar>)>,
}

impl FromScalar for Format {
    const EXPECTED: &'static str = "one of `none`, `ext4`, `xfs`";

    fn from_scalar(scalar: &Scalar) -> Option<Self> {
        match scalar {
            Scalar::Text(text) => match text.as_str() {
                "none" => Some(Self::None),
                "ext4" => Some(Self::Ext4),
                "xfs" => Some(Self::Xfs),
                _ => None,
            },
            _ => None,
        }
    }
}

/// Settings of the whole machine during a trial.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HostSettings {
    /// Values by the names in `assay_host::knob::host_settings`, in the order of the file.
    pub values: Vec<(String, Templated<Scalar>)>,
    /// Which caches are dropped before each repeat, parsed by [`DropCaches::from_scalar`].
    pub drop_caches: Option<Templated<Scalar>>,
}

/// The value written to /proc/sys/vm/drop_caches before a repeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DropCaches {
    /// Nothing.
    No,
    /// 1 for the page cache, 2 for reclaimable slab objects, 3 for both.
    Write(u8),
}

impl DropCaches {
    /// Parses `drop_caches`: `true` is 3, `false` and 0 drop nothing. `None` for any other value.
    #[must_use]
    pub fn from_scalar(scalar: &Scalar) -> Option<Self> {
        match scalar.to_string().trim() {
            "false" | "0" => Some(Self::No),
            "true" | "3" => Some(Self::Write(3)),
            "1" => Some(Self::Write(1)),
            "2" => Some(Self::Write(2)),
            _ => None,
        }
    }
}

/// Placement of a workload, set before its first instruction.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Placement {
    /// A [`assay_sys::units::CpuChoice`].
    pub cpus: Option<Templated<String>>,
    /// A [`assay_sys::units::MemoryPolicy`].
    pub memory: Option<Templated<String>>,
    /// One of [`HUGE_PAGE_MODES`].
    pub huge_pages: Option<Templated<String>>,
}

/// Transparent huge pages of a process: as the host gives them, only where it requests them with
/// madvise(2), or none.
pub const HUGE_PAGE_MODES: &[&str] = &["default", "advised", "never"];

/// A control group, or `count` of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// Its name; with a count above 1 the members are `name1`, `name2`, and so on.
    pub name: String,
    /// The group that it is, if it exists already: it is only read.
    pub existing: Option<Existing>,
    /// The number of members.
    pub count: Templated<u32>,
    /// Knobs by v2 name (or v1-only name) with their values, one per member in turn.
    pub knobs: Vec<(String, Vec<Templated<Scalar>>)>,
    /// Names of the workloads that run in it; each member runs its own instance. A name may be a
    /// template, which [`Study::for_trial`] resolves.
    pub run: Vec<String>,
    /// The disk that its workloads use; `None` if the study has exactly one, or none.
    pub disk: Option<String>,
    /// Whether promises include it. A background load is not measured.
    pub measured: bool,
    /// Whether its workloads run outside of all groups of the run.
    pub outside: Templated<bool>,
    /// Placement of its workloads, unless they or inner groups have their own.
    pub place: Option<Placement>,
    /// Groups inside it; each member gets all of them.
    pub groups: Vec<Group>,
}

/// How a group that exists is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Existing {
    /// `/system.slice/nginx.service`: its path below the mount of its hierarchy.
    Group(String),
    /// `nginx.service`: a systemd unit.
    Unit(String),
    /// `container:web`: by its name or the beginning of its id.
    Container(String),
    /// `pod:shop/web-0`: by its name or uid.
    Pod(String),
}

impl Existing {
    /// The forms, for messages.
    pub const FORMS: &str = "a unit such as \"nginx.service\", \"container:NAME\", \"pod:NAMESPACE/NAME\", or a path that begins with `/`";

    /// Reads a name; `None` if it has none of the forms.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let named = |name: &str| (!name.is_empty()).then(|| name.to_owned());
        let is_unit = [".service", ".slice", ".scope"].iter().any(|suffix| text.ends_with(suffix));
        match (text.split_once(':'), is_unit) {
            _ if text.starts_with('/') => Some(Self::Group(text.to_owned())),
            (_, true) => Some(Self::Unit(text.to_owned())),
            (Some(("container", name)), _) => named(name).map(Self::Container),
            (Some(("pod", name)), _) => named(name).map(Self::Pod),
            _ => None,
        }
    }
}

/// Something that runs in groups.
#[derive(Debug, Clone, PartialEq)]
pub struct Workload {
    /// What it is.
    pub tool: Tool,
    /// What it writes to its disk, where the tool cannot say it.
    pub creates: Option<Templated<Bytes>>,
    /// Workloads that run to completion in the same group before the common start, in this order.
    pub prepare: Vec<String>,
    /// When it starts, if not at the common start.
    pub after: Option<After>,
    /// The user it runs as; that of Assay if `None`.
    pub user: Option<String>,
    /// Where it runs, if not where its group says.
    pub place: Option<Placement>,
}

/// A start after the common start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum After {
    /// When this workload of the same group has ended.
    Workload(String),
    /// This long after the common start.
    Time(Duration),
}

/// The program of a workload.
#[derive(Debug, Clone, PartialEq)]
pub enum Tool {
    /// fio with options.
    Fio {
        /// Option name and value, in the order of the file.
        args: Vec<(String, Templated<Scalar>)>,
    },
    /// fio with an existing job file, one section per group.
    FioJobFile {
        /// Its path, relative to the study file.
        path: String,
        /// Its text, as read when the study was loaded.
        text: String,
        /// The only section to run; all of them, one per group, if `None`.
        section: Option<String>,
    },
    /// A kind of the registry (`crate::workload::KINDS`).
    Kind {
        /// Its name.
        name: String,
        /// Keys and values, in the order of the file; an option may be repeated.
        args: Vec<(String, Vec<Templated<Scalar>>)>,
    },
    /// Any program.
    Command {
        /// The program and its arguments, with factors and placeholders such as `{directory}` in
        /// braces.
        words: Vec<String>,
        /// Where its metrics are in its output.
        metrics: Vec<Metric>,
    },
}

impl Workload {
    /// Whether its command line contains a placeholder of the run, such as `directory`.
    #[must_use]
    pub fn uses_placeholder(&self, placeholder: &str) -> bool {
        match &self.tool {
            Tool::Fio { .. } | Tool::FioJobFile { .. } => false,
            Tool::Command { words, .. } => {
                words.iter().any(|word| has_placeholder(word, placeholder))
            }
            Tool::Kind { name, args } => {
                let text = |value: &Templated<Scalar>| match value {
                    Templated::Template(text) => has_placeholder(text, placeholder),
                    Templated::Value(_) => false,
                };
                // A key that is absent may default to a placeholder.
                let absent = |key: &&Key| !args.iter().any(|(name, _)| name == key.name);
                let unless = |key: &&Key| {
                    key.unless.is_some_and(|(other, word)| {
                        let word = Templated::Value(Scalar::Text(word.to_owned()));
                        args.iter().any(|(name, values)| name == other && values.contains(&word))
                    })
                };
                let keys = kind(name).map_or(&[][..], |kind| kind.keys).iter();
                args.iter().any(|(_, values)| values.iter().any(text))
                    || keys
                        .filter(absent)
                        .filter(|key| !unless(key))
                        .filter_map(|key| key.default)
                        .any(|otherwise| has_placeholder(otherwise, placeholder))
            }
        }
    }

    /// The options of fio, unless it has a job file or is another tool.
    #[must_use]
    pub fn fio(&self) -> Option<&[(String, Templated<Scalar>)]> {
        match &self.tool {
            Tool::Fio { args } => Some(args),
            _ => None,
        }
    }
}
