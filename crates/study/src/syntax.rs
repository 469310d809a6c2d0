//! What a study file says, once it is known to be free of mistakes.
//!
//! A value that may name a factor (`"{groups}"`) is kept as a [`Templated`] and becomes a plain
//! value when a trial's [`Bindings`] are known. The checker has resolved every template under
//! every combination of factors before it hands out a [`Study`], so a plan never meets a
//! template that does not resolve.

use std::collections::BTreeMap;
use std::time::Duration;

use assay_units::{Bytes, Percent};
use assay_workload::{Key, Metric, kind, names_given};
use serde::{Deserialize, Serialize};

use crate::template::Templated;

/// One value of a factor or of a workload argument.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Scalar {
    /// `true`, `false`.
    Boolean(bool),
    /// A whole number.
    Integer(i64),
    /// A number with a fraction.
    Float(f64),
    /// Anything else.
    Text(String),
}

/// The value of each factor in one trial, by name.
pub type Bindings = BTreeMap<String, Scalar>;

/// A study: who shares what, what runs, what is promised.
#[derive(Debug, Clone, PartialEq)]
pub struct Study {
    /// The name it was found by: a shipped name, or the file's stem.
    pub name: String,
    /// One line for lists and report titles.
    pub title: String,
    /// What the study is meant to find out.
    pub question: Option<String>,
    /// What varies, in the order of the file.
    pub factors: Vec<Factor>,
    /// How trials are arranged.
    pub design: Design,
    /// What is set on the whole machine while a trial runs.
    pub settings: HostSettings,
    /// What is sampled besides what every run samples.
    pub sampling: Sampling,
    /// Disks by name.
    pub disks: BTreeMap<String, Disk>,
    /// Control groups, in the order of the file.
    pub groups: Vec<Group>,
    /// Workloads by name.
    pub workloads: BTreeMap<String, Workload>,
    /// Where workloads run, by their names; what a group says holds for the rest.
    pub workload_places: BTreeMap<String, Place>,
    /// What should hold.
    pub promises: Vec<Promise>,
    /// Numbers of others, shown beside ours and never judged.
    pub references: Vec<Reference>,
    /// The folder of its file, which `{study}` stands for; `None` for a study that comes with the
    /// program. Whoever has read the file fills it in.
    pub folder: Option<String>,
}

/// Where a workload runs and where its memory comes from, set before its first instruction.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Place {
    /// A [`assay_units::CpuChoice`].
    pub cpus: Option<Templated<String>>,
    /// A [`assay_units::MemoryPolicy`].
    pub memory: Option<Templated<String>>,
    /// One of [`HUGE_PAGE_MODES`].
    pub huge_pages: Option<Templated<String>>,
}

/// What a process may have of transparent huge pages: what the host gives, only what it asks for
/// with madvise(2), or none.
pub const HUGE_PAGE_MODES: &[&str] = &["default", "advised", "never"];

/// One thing that varies.
#[derive(Debug, Clone, PartialEq)]
pub struct Factor {
    /// Its name, as templates use it.
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
    Placeholders,
    /// As written in one round of repeats and backwards in the next (A B B A), so that a host that
    /// drifts evenly moves all trials alike.
    Interleaved,
}

/// How the beginning of a trial is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WarmUp {
    /// Found in the data.
    #[default]
    Auto,
    /// This long.
    Fixed(Duration),
}

/// When a repeat ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// When its time is up.
    #[default]
    AtMost,
    /// As soon as every promise is known well enough, at the latest when its time is up.
    #[serde(alias = "decided")]
    Precise,
}

/// How trials are arranged.
#[derive(Debug, Clone, PartialEq)]
pub struct Design {
    /// How often each combination runs. At least 1.
    pub repeats: u32,
    /// In which order.
    pub order: Order,
    /// What is cut at the beginning.
    pub warm_up: WarmUp,
    /// How long one repeat may take, from the common start.
    pub at_most: Duration,
    /// What ends a repeat before that.
    pub ends: Ends,
    /// Whether it may end before.
    pub stop: Stop,
    /// Combinations that are no trials.
    pub leave_out: Vec<LeftOut>,
}

/// Combinations that are left out: those that have one of these levels of every factor named.
pub type LeftOut = Vec<(String, Vec<Scalar>)>;

/// What ends a repeat before its time is up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ends {
    /// The first workload that has done all its work.
    #[default]
    First,
    /// The last one of those that have an end.
    All,
    /// Nothing: it takes its whole time.
    Time,
}

/// What is set on the whole machine while a trial runs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HostSettings {
    /// Settings by their names in `assay_knob::host_settings`, in the order of the file.
    pub values: Vec<(String, Templated<Scalar>)>,
    /// Which caches are dropped before each repeat, as [`DropCaches::of`] reads it.
    pub drop_caches: Option<Templated<Scalar>>,
}

/// What is written to /proc/sys/vm/drop_caches before a repeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DropCaches {
    /// Nothing.
    No,
    /// This: 1 is the page cache, 2 what the kernel can free of its own objects, 3 both.
    Write(u8),
}

impl DropCaches {
    /// `true` is 3, and `false` and 0 are nothing. `None` for what is none of these.
    #[must_use]
    pub fn of(scalar: &Scalar) -> Option<Self> {
        match scalar.to_string().trim() {
            "false" | "0" => Some(Self::No),
            "true" | "3" => Some(Self::Write(3)),
            "1" => Some(Self::Write(1)),
            "2" => Some(Self::Write(2)),
            _ => None,
        }
    }
}

/// What is sampled, and how often.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sampling {
    /// Sources besides those of every run, each once.
    pub sources: Vec<String>,
    /// Time between two rounds.
    pub interval: Duration,
}

impl Default for Sampling {
    /// Ten samples a second: finer than a service round of BFQ with a handful of groups, and under
    /// a hundredth of a core with 128 of them (docs/results/performance.md).
    fn default() -> Self {
        Self { sources: Vec::new(), interval: Duration::from_millis(100) }
    }
}

/// Where a scratch disk comes from.
#[derive(Debug, Clone, PartialEq)]
pub enum DiskSource {
    /// An image file behind a loop device, fully written before use.
    Loop,
    /// A named block device. `erase` must repeat its serial number or its size when it bears data.
    Block {
        /// `/dev/sdb`.
        device: String,
        /// The serial or size that the user expects to lose.
        erase: Option<String>,
    },
    /// A directory that exists; no block device is set up.
    Directory {
        /// Its path.
        path: String,
    },
    /// A null_blk device made through configfs.
    NullBlk(NullBlk),
}

/// How fast a null_blk device is; without `iops` it answers at once.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NullBlk {
    /// Requests per second that it completes with `depth` of them in flight.
    pub iops: Option<Templated<u32>>,
    /// Requests that it takes at once.
    pub depth: Option<Templated<u32>>,
}

impl NullBlk {
    /// The limits of `iops` and `depth`. A timer of a nanosecond is the shortest, and blk-mq has
    /// at most 10240 tags (BLK_MQ_MAX_DEPTH, include/linux/blk-mq.h).
    pub(crate) fn check(name: &str, value: Option<u32>) -> Result<u32, String> {
        let most = if name == "depth" { 10_240 } else { 100_000_000 };
        value
            .filter(|value| (1..=most).contains(value))
            .ok_or_else(|| format!("`{name}` of null_blk is a whole number from 1 to {most}"))
    }
}

/// What is made on a disk or partition.
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

/// A scratch disk.
#[derive(Debug, Clone, PartialEq)]
pub struct Disk {
    /// Where it comes from.
    pub source: DiskSource,
    /// Its size; `None` only for sources that have one of their own.
    pub size: Option<Templated<Bytes>>,
    /// What is made on it.
    pub format: Templated<Format>,
    /// How many partitions; 0 means the whole disk, unpartitioned.
    pub partitions: Templated<u32>,
    /// `queue/scheduler`; `None` leaves it alone.
    pub scheduler: Option<Templated<String>>,
    /// Further queue attributes below `/sys/block/X/queue/`, in the order of the file.
    pub queue: Vec<(String, Templated<Scalar>)>,
}

/// A control group, or `count` of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// Its name; with a count above 1 the members are `name1`, `name2`, ...
    pub name: String,
    /// How many.
    pub count: Templated<u32>,
    /// Knobs by v2 name (or a v1-only name) with the values handed out in turn.
    pub knobs: Vec<(String, Vec<Templated<Scalar>>)>,
    /// Workloads that run in it, by name; each member runs its own instance. A name may be a
    /// template, which [`Study::under`] resolves.
    pub run: Vec<String>,
    /// The disk its workloads use; `None` when the study has exactly one, or none.
    pub disk: Option<String>,
    /// Whether promises are judged over it. A background load is not measured.
    pub measured: bool,
    /// Whether its workloads run outside of the run's groups, beside all of them.
    pub outside: Templated<bool>,
    /// Where its workloads run, as far as they and inner groups say nothing else.
    pub place: Option<Place>,
    /// Groups inside it; each member gets all of them.
    pub groups: Vec<Group>,
}

/// Something that runs in groups.
#[derive(Debug, Clone, PartialEq)]
pub struct Workload {
    /// What it is.
    pub tool: Tool,
    /// Workloads that run to their end in the same group before the common start, in turn.
    pub prepare: Vec<String>,
    /// When it starts, if not with all others.
    pub after: Option<After>,
    /// Whose rights it has; those of Assay itself without.
    pub user: Option<String>,
}

/// When a workload starts that does not start with all others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum After {
    /// When this workload of the same group has ended.
    Workload(String),
    /// So long after the common start.
    Time(Duration),
}

/// What a workload is.
#[derive(Debug, Clone, PartialEq)]
pub enum Tool {
    /// fio with options.
    Fio {
        /// Option name and value, in the order of the file.
        args: Vec<(String, Templated<Scalar>)>,
    },
    /// fio with an existing job file, one section a group.
    FioJobFile {
        /// Its path, relative to the study file.
        path: String,
        /// Its text, as read when the study was loaded.
        text: String,
    },
    /// A kind of the registry (`assay_workload::KINDS`).
    Kind {
        /// Its name.
        name: String,
        /// Keys and values, in the order of the file; an option may be repeated.
        args: Vec<(String, Vec<Templated<Scalar>>)>,
    },
    /// Any program.
    Command {
        /// The program and its words, with factors and `{directory}` and its like in braces.
        words: Vec<String>,
        /// Where its numbers stand.
        metrics: Vec<Metric>,
    },
}

impl Workload {
    /// Whether its command line names something that the run gives, such as `directory`.
    #[must_use]
    pub fn names(&self, given: &str) -> bool {
        match &self.tool {
            Tool::Fio { .. } | Tool::FioJobFile { .. } => false,
            Tool::Command { words, .. } => words.iter().any(|word| names_given(word, given)),
            Tool::Kind { name, args } => {
                let text = |value: &Templated<Scalar>| match value {
                    Templated::Template(text) => names_given(text, given),
                    Templated::Value(_) => false,
                };
                // A key that is absent may have what the run gives as its value.
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
                        .filter_map(|key| key.otherwise)
                        .any(|otherwise| names_given(otherwise, given))
            }
        }
    }

    /// The options of fio, if it is fio and has no job file.
    #[must_use]
    pub fn fio(&self) -> Option<&[(String, Templated<Scalar>)]> {
        match &self.tool {
            Tool::Fio { args } => Some(args),
            _ => None,
        }
    }
}

/// What should hold.
#[derive(Debug, Clone, PartialEq)]
pub struct Promise {
    /// What is measured: `io.bytes`, `io.ios`, `cpu.time`, `memory.current`, `memory.refaults`, or
    /// `WORKLOAD.METRIC` of what a workload says of itself.
    pub measure: String,
    /// The one group that counts across trials; `None` for all of them.
    pub group: Option<String>,
    /// The levels of factors whose trials it is about; empty for all, and for one across trials.
    pub under: Bindings,
    /// The relation.
    pub is: Relation,
    /// The margin, as a fraction of the expected value; 0 for [`Relation::Ratio`], whose bounds are
    /// exact.
    pub within: Percent,
    /// Confidence of the intervals, 0.95 by default.
    pub confidence: f64,
    /// The spans in which it is to hold, where it is not to hold on average alone.
    pub every: Option<Every>,
}

/// Spans of time, one by one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Every {
    /// How long each is.
    pub span: Duration,
    /// In how many of them a promise is to hold.
    pub part: Percent,
}

impl Promise {
    /// Whether it is about the trial with these levels.
    #[must_use]
    pub fn is_about(&self, factors: &Bindings) -> bool {
        self.under.iter().all(|(name, wanted)| {
            factors.get(name).is_some_and(|level| crate::level::is_same(level, wanted))
        })
    }
}

/// The relation that a promise claims.
#[derive(Debug, Clone, PartialEq)]
pub enum Relation {
    /// Shares of the measure follow this knob's values as read back.
    Proportional {
        /// The knob's v2 name.
        to: String,
    },
    /// All groups get the same.
    Equal,
    /// Threads run on the CPUs, or pages lie on the nodes, that places give them.
    Placed,
    /// Each group gets no more than this.
    AtMost {
        /// The limit.
        bound: Bound,
    },
    /// Each group gets no less than this.
    AtLeast {
        /// The protection.
        bound: Bound,
    },
    /// Across trials: the measure under some levels of factors, divided by that under others.
    Ratio {
        /// Levels of the numerator.
        of: Bindings,
        /// Levels of the denominator, of the same factors.
        to: Bindings,
        /// The ratio is no less than this.
        at_least: Option<f64>,
        /// The ratio is no more than this.
        at_most: Option<f64>,
    },
    /// Across trials: the same under every level of a factor.
    EqualOver {
        /// The factor.
        factor: String,
        /// Which of its levels are compared.
        pairs: Pairs,
    },
}

impl Relation {
    /// Whether it is about trials against each other, and not about each trial by itself.
    #[must_use]
    pub const fn is_across(&self) -> bool {
        matches!(self, Self::Ratio { .. } | Self::EqualOver { .. })
    }
}

/// Which levels of a factor are compared with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pairs {
    /// Each with each.
    #[default]
    All,
    /// Each with the first.
    First,
}

/// A number of somebody else, shown beside ours and never judged.
#[derive(Debug, Clone, PartialEq)]
pub struct Reference {
    /// What it is, in one line.
    pub what: String,
    /// The number.
    pub value: f64,
    /// Its unit.
    pub unit: String,
    /// Where it stands.
    pub source: String,
    /// The measure of ours to show beside it.
    pub measure: Option<String>,
    /// The one group of ours that counts; `None` for all of them.
    pub group: Option<String>,
    /// The levels of our factors that it belongs to.
    pub under: Bindings,
    /// The levels that ours is divided by: then it is a ratio, and empty otherwise.
    pub to: Bindings,
}

/// What a limit or a protection is measured against.
#[derive(Debug, Clone, PartialEq)]
pub enum Bound {
    /// The same for every group: a rate in the measure's unit per second, or an amount for a
    /// measure that is one, such as `memory.current`.
    Value(Templated<Scalar>),
    /// What this knob of the group says, as read back. By its v2 name.
    Knob(String),
}
