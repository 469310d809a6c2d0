//! A copy of a group and its twin, beside it and below the same parent.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use assay_conform::{Running, Watchdog, Window, read_windows};
use assay_host::Ledger;
use assay_sys::kernel::process::Membership;
use assay_sys::kernel::{Error, Root, counters, signal};

/// What all proofs of a target share.
#[derive(Debug)]
pub(crate) struct Workshop<'w> {
    pub(crate) root: &'w Root,
    pub(crate) ledger: &'w mut Ledger,
    /// Of the run, which names its groups.
    pub(crate) id: &'w str,
    /// The program whose command starts probes: this one.
    pub(crate) program: &'w Path,
    /// Factor by which windows and limits of time are longer than usual.
    pub(crate) patience: f64,
    pub(crate) may: &'w Allowed,
}

/// What proofs may do only if somebody says so.
#[derive(Debug, Clone, Default)]
pub struct Allowed {
    /// Read as fast as a disk can.
    pub saturate_disks: bool,
    /// Write a file here, which has no name.
    pub write_in: Option<PathBuf>,
    /// Put a process into the group itself.
    pub inside: bool,
}

/// A group with the setting that is tried: a copy, or the group itself.
pub(crate) const COPY: usize = 0;
/// A group without it.
pub(crate) const TWIN: usize = 1;

/// A proof that lasts longer than this has its processes killed. Four caps of a disk take 13 s.
const LIMIT: Duration = Duration::from_secs(20);

/// The two groups of a proof, which are removed when it is over; or the group itself, whose twin is a process elsewhere.
#[derive(Debug)]
pub(crate) struct Beside<'w> {
    pub(crate) root: &'w Root,
    pub(crate) groups: Vec<PathBuf>,
    pub(crate) program: &'w Path,
    pub(crate) patience: f64,
    pub(crate) may: &'w Allowed,
}

impl Workshop<'_> {
    /// Makes a copy and a twin of `group`, lets `body` try them, and removes them. The result is an error if they cannot be
    /// made, and `Ok(None)` if the proof hung, so that its processes were killed.
    pub(crate) fn beside<T>(
        &mut self,
        group: &Path,
        body: impl FnOnce(&Beside<'_>) -> Result<T, Error>,
    ) -> (Result<Option<T>, Error>, Vec<Error>) {
        let parent = group.parent().unwrap_or(group);
        let groups =
            ["copy", "twin"].map(|name| parent.join(format!("assay-probe-{}-{name}", self.id)));
        let mark = self.ledger.mark();
        let result = self.ledger.make_groups(self.root, &groups).and_then(|()| {
            let beside = self.of(groups.to_vec());
            beside.accept_processes(parent)?;
            beside.bounded(&beside.groups, body)
        });
        (result, self.ledger.restore_to(self.root, mark))
    }

    /// Lets `body` try `group` itself. Nothing but probes enters it, and they end with this process.
    pub(crate) fn inside<T>(
        &self,
        group: &Path,
        body: impl FnOnce(&Beside<'_>) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        self.of(vec![group.to_owned()]).bounded(&[], body)
    }

    fn of(&self, groups: Vec<PathBuf>) -> Beside<'_> {
        let Self { root, program, patience, may, .. } = *self;
        Beside { root, groups, program, patience, may }
    }
}

impl Beside<'_> {
    /// Kills what is in groups of ours, and all probes, if `body` takes too long.
    fn bounded<T>(
        &self,
        ours: &[PathBuf],
        body: impl FnOnce(&Self) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        let watchdog = Watchdog::start(self.root, ours, LIMIT.mul_f64(self.patience))?;
        let result = body(self);
        if watchdog.stop() { Ok(None) } else { result.map(Some) }
    }

    /// Whether the group itself is tried.
    pub(crate) fn is_inside(&self) -> bool {
        self.groups.len() == 1
    }

    /// Who is tried, in words, and a twin without something.
    pub(crate) fn names(&self, without: &str) -> [String; 2] {
        match self.is_inside() {
            true => ["a probe in the group".to_owned(), "one outside of it".to_owned()],
            false => ["copy".to_owned(), format!("twin without {without}")],
        }
    }

    /// A new v1 cpuset accepts no process until both files are set (Documentation/admin-guide/cgroup-v1/cpusets.rst), and a new group
    /// beside a threaded one none until it is threaded.
    fn accept_processes(&self, parent: &Path) -> Result<(), Error> {
        if self.read(COPY, "cgroup.type").is_ok_and(|kind| kind == "domain invalid") {
            return [COPY, TWIN]
                .iter()
                .try_for_each(|at| self.write(*at, "cgroup.type", "threaded"));
        }
        if self.is_v2() || !self.root.exists(parent.join("cpuset.mems")) {
            return Ok(());
        }
        for file in ["cpuset.cpus", "cpuset.mems"] {
            let inherited = self.root.read_trimmed(parent.join(file))?;
            self.groups
                .iter()
                .try_for_each(|group| self.root.write(group.join(file), &inherited))?;
        }
        Ok(())
    }

    /// Only v2 has this file in every group.
    pub(crate) fn is_v2(&self) -> bool {
        self.root.exists(self.groups[COPY].join("cgroup.controllers"))
    }

    pub(crate) fn write(&self, group: usize, file: &str, value: &str) -> Result<(), Error> {
        self.root.write(self.groups[group].join(file), value)
    }

    /// Writes a file that some kernels lack.
    pub(crate) fn write_if_there(
        &self,
        group: usize,
        file: &str,
        value: &str,
    ) -> Result<(), Error> {
        match self.root.exists(self.groups[group].join(file)) {
            true => self.write(group, file, value),
            false => Ok(()),
        }
    }

    pub(crate) fn read(&self, group: usize, file: &str) -> Result<String, Error> {
        self.root.read_trimmed(self.groups[group].join(file))
    }

    /// The number of `key` in a file of lines `key number`; 0 if it has none.
    pub(crate) fn keyed(&self, group: usize, file: &str, key: &str) -> u64 {
        keyed(self.root, &self.groups[group], file, key).unwrap_or(0)
    }

    /// Starts a probe in the copy or the twin: the first that the kernel kills if memory runs out anywhere.
    pub(crate) fn start(&self, group: usize, words: &str) -> Result<Running, Error> {
        let of = self.groups.get(group).map(std::slice::from_ref).unwrap_or_default();
        self.start_in(of, words)
    }

    /// The same of a probe that opens its disk before it enters: rules for devices above the group may forbid that inside.
    pub(crate) fn start_opened(&self, group: usize, words: &str) -> Result<Running, Error> {
        let probe = self.start_in(&[], words)?;
        self.write(group, "cgroup.procs", &probe.pid().to_string())?;
        Ok(probe)
    }

    fn start_in(&self, groups: &[PathBuf], words: &str) -> Result<Running, Error> {
        let membership = Membership::open(self.root, groups)?;
        let mut words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        words.push(format!("patience={}", self.patience));
        // In the group itself its death may have the others end, too (memory.oom.group, OOMPolicy= of systemd).
        if !self.is_inside() {
            words.push("oom_score_adj=1000".to_owned());
        }
        Running::start(self.program, &words, &membership)
    }

    /// Reads counters at the edges of `count` windows of so many seconds, one after the other.
    pub(crate) fn windows(
        &self,
        count: usize,
        seconds: f64,
        counters: impl FnMut() -> Result<Vec<u64>, Error>,
    ) -> Result<Vec<Window>, Error> {
        read_windows(count, || self.pause(seconds), counters)
    }

    /// Sleeps, longer in a guest with a slow clock. A signal is an error.
    pub(crate) fn pause(&self, seconds: f64) -> Result<(), Error> {
        let until = Instant::now() + Duration::from_secs_f64(seconds * self.patience);
        while Instant::now() < until {
            std::thread::sleep(
                until.saturating_duration_since(Instant::now()).min(Duration::from_millis(50)),
            );
            if let Some(name) = signal::interrupted_by() {
                return Err(Error::unexpected("go on", Path::new("the proof"), name));
            }
        }
        Ok(())
    }
}

/// The number of `key` in a file of lines `key number`.
pub(crate) fn keyed(root: &Root, group: &Path, file: &str, key: &str) -> Option<u64> {
    counters::keyed(root.read(group.join(file)).ok()?.as_bytes(), key)
}
