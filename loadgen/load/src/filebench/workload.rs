//! A resolved workload: what a run executes.

use std::path::PathBuf;
use std::sync::Arc;

use super::distribution::Distribution;
use super::flow::kind::Kind;
use super::language::Quit;
use super::uniform::Drand48;

/// A number, or a random variable.
#[derive(Debug, Clone)]
pub(super) enum Amount {
    Fixed(u64),
    Random(Arc<Distribution>),
}

impl Amount {
    pub(super) fn get(&self) -> u64 {
        match self {
            Self::Fixed(number) => *number,
            Self::Random(distribution) => distribution.draw_whole(),
        }
    }

    /// The expected value, for footprints.
    pub(super) fn mean(&self) -> f64 {
        match self {
            Self::Fixed(number) => *number as f64,
            Self::Random(distribution) => distribution.mean().max(0.0),
        }
    }
}

/// `define fileset`, or `define file` as a set of one.
#[derive(Debug, Clone)]
pub(super) struct FileSet {
    pub(super) name: String,
    /// Parent directory of its tree; the tree is `path/name`.
    pub(super) path: PathBuf,
    /// Whether it was defined by `define file`.
    pub(super) single: bool,
    pub(super) entries: u64,
    pub(super) leafdirs: u64,
    /// File size in bytes.
    pub(super) size: Amount,
    /// Entries per directory.
    pub(super) width: Amount,
    /// Shape of the gamma distribution of widths and depths, times 1000; 0 for none.
    pub(super) gamma: u64,
    /// `dirdepthrv`: its mean is replaced by the mean depth.
    pub(super) depth: Option<Arc<Distribution>>,
    /// Percentage of the files that exist before the run.
    pub(super) prealloc: u64,
    pub(super) paralloc: bool,
    pub(super) reuse: bool,
    pub(super) trusttree: bool,
    pub(super) readonly: bool,
    pub(super) writeonly: bool,
}

impl FileSet {
    /// The top of its tree.
    pub(super) fn root(&self) -> PathBuf {
        self.path.join(&self.name)
    }

    /// Expected total bytes of the files that exist before the run.
    pub(super) fn bytes(&self) -> f64 {
        self.size.mean() * self.entries as f64 * self.prealloc as f64 / 100.0
    }
}

/// `flowop`.
#[derive(Debug, Clone)]
pub(super) struct Operation {
    pub(super) kind: Kind,
    /// The name in reports; inner operations are `outer.inner`.
    pub(super) name: String,
    /// Its number among the operations of its thread, in the order of definition.
    pub(super) number: usize,
    /// Index of its file set.
    pub(super) set: Option<usize>,
    /// Slot in the thread's table of files.
    pub(super) fd: usize,
    pub(super) srcfd: usize,
    pub(super) iosize: Amount,
    pub(super) iters: Amount,
    pub(super) random: bool,
    pub(super) dsync: bool,
    pub(super) directio: bool,
    pub(super) noreadahead: bool,
    /// 0 for the size of the file.
    pub(super) workingset: u64,
    /// Use another slot each time.
    pub(super) opennext: bool,
    pub(super) indexed: Option<Amount>,
    pub(super) value: Amount,
    /// The text of `print`.
    pub(super) text: String,
    pub(super) blocking: bool,
    pub(super) highwater: u64,
    /// Resolved `target`: numbers of operations in the whole workload (`Line`s) for `wakeup` and
    /// `sempost`, one number in the own thread for limits.
    pub(super) targets: Vec<usize>,
    /// The operations of a composite one.
    pub(super) inner: Vec<Operation>,
}

/// `thread`.
#[derive(Debug, Clone)]
pub(super) struct Thread {
    pub(super) name: String,
    pub(super) instances: u64,
    /// Bytes of its buffer.
    pub(super) memory: u64,
    pub(super) operations: Vec<Operation>,
    /// Its first line in [`Workload::lines`].
    pub(super) first_line: usize,
    /// Number of lines, inner operations included.
    pub(super) lines: usize,
}

/// `define process`.
#[derive(Debug, Clone)]
pub(super) struct Process {
    pub(super) name: String,
    pub(super) instances: u64,
    pub(super) nice: u64,
    pub(super) threads: Vec<Thread>,
}

/// A line of the breakdown: one operation as defined, its instances merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) name: String,
    pub(super) kind: Kind,
}

/// A step of the script that is executed in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Echo(String),
    Sleep(u64),
    System(String),
    ListFileSets,
    ListFlowOps,
    Create,
    /// Seconds (0: until the threads end), and the reporting period.
    Run {
        seconds: u64,
        period: Option<Period>,
    },
}

/// `psrun`'s period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Period {
    pub(super) seconds: u64,
    /// Reset the statistics after each period.
    pub(super) clears: bool,
}

/// A whole workload.
#[derive(Debug, Clone, Default)]
pub(super) struct Workload {
    pub(super) sets: Vec<FileSet>,
    pub(super) processes: Vec<Process>,
    pub(super) lines: Vec<Line>,
    pub(super) steps: Vec<Step>,
    pub(super) quit: Quit,
    /// Whether `enable lathist` is set.
    pub(super) histogram: bool,
    /// `eventgen rate`, in events per second.
    pub(super) rate: Option<u64>,
    /// Notes on settings without effect here, reported before the run.
    pub(super) notes: Vec<String>,
    /// Random source of gamma custom variables, shared with the file sets.
    pub(super) source: Option<Arc<Drand48>>,
}

impl Workload {
    /// Number of threads of all instances.
    pub(super) fn thread_count(&self) -> u64 {
        self.total(|_| 1)
    }

    /// Bytes of the buffers of all threads.
    pub(super) fn buffers(&self) -> u64 {
        self.total(|thread| thread.memory)
    }

    /// Number of lines of all threads.
    pub(super) fn counters(&self) -> u64 {
        self.total(|thread| thread.lines as u64)
    }

    /// Sums a value over all threads of all instances; saturating, since a script may define more
    /// than fits.
    fn total(&self, value: impl Fn(&Thread) -> u64) -> u64 {
        self.processes.iter().fold(0_u64, |total, process| {
            let threads = process.threads.iter().fold(0_u64, |sum, thread| {
                sum.saturating_add(thread.instances.saturating_mul(value(thread)))
            });
            total.saturating_add(process.instances.saturating_mul(threads))
        })
    }
}
