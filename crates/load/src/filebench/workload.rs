//! A workload with all variables put in: what a run carries out.

use std::path::PathBuf;
use std::sync::Arc;

use super::distribution::Distribution;
use super::flow::kind::Kind;
use super::language::Quit;
use super::uniform::Drand48;

/// A number, or a variable that gives another one each time.
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

    /// The value to expect, for footprints.
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
    /// Where its tree is made; the tree is `path/name`.
    pub(super) path: PathBuf,
    /// `define file`.
    pub(super) single: bool,
    pub(super) entries: u64,
    pub(super) leafdirs: u64,
    /// Bytes of a file.
    pub(super) size: Amount,
    /// Entries of a directory.
    pub(super) width: Amount,
    /// Shape of the gamma distribution of widths and depths, times 1000; 0 for none.
    pub(super) gamma: u64,
    /// `dirdepthrv`: its mean is replaced by the mean depth.
    pub(super) depth: Option<Arc<Distribution>>,
    /// Percent of the files that exist before the run.
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

    /// Bytes of all files that exist before the run, as expected.
    pub(super) fn bytes(&self) -> f64 {
        self.size.mean() * self.entries as f64 * self.prealloc as f64 / 100.0
    }
}

/// `flowop`.
#[derive(Debug, Clone)]
pub(super) struct Operation {
    pub(super) kind: Kind,
    /// As reported; inner operations as `outer.inner`.
    pub(super) name: String,
    /// Its number among the operations of its thread, in the order of definition.
    pub(super) number: usize,
    /// Index of its file set.
    pub(super) set: Option<usize>,
    /// Slot of the thread's table.
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
    /// Take another slot each time.
    pub(super) opennext: bool,
    pub(super) indexed: Option<Amount>,
    pub(super) value: Amount,
    /// `print`'s text.
    pub(super) text: String,
    pub(super) blocking: bool,
    pub(super) highwater: u64,
    /// What `target` names: numbers of operations of the whole workload (`Line`s) for `wakeup`
    /// and `sempost`, one number of the own thread for limits.
    pub(super) targets: Vec<usize>,
    /// Operations of a composite one.
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
    /// Its first line among [`Workload::lines`].
    pub(super) first_line: usize,
    /// Lines, inner operations counted.
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

/// A command that does something when its turn comes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Say(String),
    Sleep(u64),
    System(String),
    ListFileSets,
    ListFlowOps,
    Create,
    /// Seconds (0: until it is done), and how often figures are shown.
    Run {
        seconds: u64,
        period: Option<Period>,
    },
}

/// `psrun`'s period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Period {
    pub(super) seconds: u64,
    /// Begin anew after each.
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
    /// `enable lathist`.
    pub(super) histogram: bool,
    /// `eventgen rate`, in events per second.
    pub(super) rate: Option<u64>,
    /// What was read and has no effect here, said before the run.
    pub(super) notes: Vec<String>,
    /// What gamma custom variables draw from; file sets draw from it in turn with them.
    pub(super) source: Option<Arc<Drand48>>,
}

impl Workload {
    /// Threads of all instances.
    pub(super) fn thread_count(&self) -> u64 {
        self.total(|_| 1)
    }

    /// Bytes of the buffers of all threads.
    pub(super) fn buffers(&self) -> u64 {
        self.total(|thread| thread.memory)
    }

    /// Lines that all threads keep.
    pub(super) fn counters(&self) -> u64 {
        self.total(|thread| thread.lines as u64)
    }

    /// What all threads of all instances have of something; a script may ask for more than can be counted.
    fn total(&self, of: impl Fn(&Thread) -> u64) -> u64 {
        self.processes.iter().fold(0_u64, |total, process| {
            let threads = process.threads.iter().fold(0_u64, |sum, thread| {
                sum.saturating_add(thread.instances.saturating_mul(of(thread)))
            });
            total.saturating_add(process.instances.saturating_mul(threads))
        })
    }
}
