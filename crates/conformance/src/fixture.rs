//! Where one case takes place: groups of its own, the probes inside, and a clock.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use assay_cgroup::Tree;
use assay_facts::{Home, HostFacts};
use assay_host::Ledger;
use assay_kernel::process::Membership;
use assay_kernel::{Error, Root, clock, signal};
use rustix::io::Errno;

use crate::errno_name::errno_name;
use crate::outcome::{Outcome, Verdict};
use crate::running::Running;
use crate::windows::Window;

/// A case's own groups, one top group a hierarchy, and what it may do there. The empty name
/// stands for the top group; names of groups are paths below it, `a/b`.
///
/// Methods without a controller speak of the first home: the hierarchy that the first need of
/// the case names. Whatever a case leaves behind is taken back when it is over.
#[derive(Debug)]
pub struct Fixture<'g> {
    pub(crate) root: &'g Root,
    pub(crate) facts: &'g HostFacts,
    pub(crate) ledger: &'g mut Ledger,
    pub(crate) tree: Tree,
    pub(crate) homes: Vec<Home>,
    pub(crate) top: String,
    pub(crate) program: PathBuf,
    pub(crate) patience: f64,
}

impl Fixture<'_> {
    /// What the host is.
    #[must_use]
    pub fn facts(&self) -> &HostFacts {
        self.facts
    }

    /// Where the kernel's files are.
    #[must_use]
    pub fn root(&self) -> &Root {
        self.root
    }

    /// For changes of the host beyond groups (mounts, loop devices, settings): taken back, the
    /// last first, when the case is over.
    pub fn ledger(&mut self) -> &mut Ledger {
        self.ledger
    }

    /// The groups, for what this type does not offer.
    #[must_use]
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Whether the first home is cgroup v2.
    #[must_use]
    pub fn is_v2(&self) -> bool {
        self.homes.first().is_some_and(|home| home.is_v2)
    }

    /// `v2` or `v1`, for evidence.
    #[must_use]
    pub fn version(&self) -> &'static str {
        if self.is_v2() { "v2" } else { "v1" }
    }

    /// One of two names or values, by the version of the first home.
    #[must_use]
    pub fn by_version<T>(&self, v1: T, v2: T) -> T {
        if self.is_v2() { v2 } else { v1 }
    }

    /// Makes a group without children, in every home.
    pub fn make(&self, group: &str) -> Result<(), Error> {
        self.tree.make(group, false)
    }

    /// Makes a group that will have groups inside, in every home: on v2 it passes its
    /// controllers on, so that no process may sit in it.
    pub fn make_parent(&self, group: &str) -> Result<(), Error> {
        self.tree.make(group, true)
    }

    /// The directory of a group in the first home.
    #[must_use]
    pub fn directory(&self, group: &str) -> PathBuf {
        self.homes.first().map_or_else(PathBuf::new, |home| self.place(home, group))
    }

    /// The directory of a group in the home that serves `controller`.
    pub fn directory_of(&self, controller: &str, group: &str) -> Result<PathBuf, Error> {
        self.tree.directory(group, controller).ok_or_else(|| {
            let hint = format!("the case does not say that it needs the controller `{controller}`");
            Error::unexpected("find", Path::new(group), hint)
        })
    }

    /// The top group in every home.
    #[must_use]
    pub fn tops(&self) -> Vec<PathBuf> {
        self.homes.iter().map(|home| self.place(home, "")).collect()
    }

    fn place(&self, home: &Home, group: &str) -> PathBuf {
        let top = home.base.join(&self.top);
        if group.is_empty() { top } else { top.join(group) }
    }

    /// Writes an interface file of a group in the first home.
    pub fn write(&self, group: &str, file: &str, value: &str) -> Result<(), Error> {
        self.root.write(self.directory(group).join(file), value)
    }

    /// Writes what the kernel should refuse, and returns what it answered; `None` when it took
    /// the value.
    pub fn refusal(&self, group: &str, file: &str, value: &str) -> Option<Errno> {
        errno_name(self.write(group, file, value))
    }

    /// Reads an interface file of a group in the first home, without white space at its ends.
    pub fn read(&self, group: &str, file: &str) -> Result<String, Error> {
        self.root.read_trimmed(self.directory(group).join(file))
    }

    /// Reads a file that holds one number.
    pub fn number(&self, group: &str, file: &str) -> Result<u64, Error> {
        let text = self.read(group, file)?;
        text.parse().map_err(|_| self.unreadable(group, file, &text))
    }

    /// Reads the number behind `key` in a file of lines `key number`, such as `cpu.stat`.
    pub fn keyed(&self, group: &str, file: &str, key: &str) -> Result<u64, Error> {
        let text = self.read(group, file)?;
        keyed(&text, key).ok_or_else(|| self.unreadable(group, file, &text))
    }

    fn unreadable(&self, group: &str, file: &str, text: &str) -> Error {
        let hint = format!("it says `{}`", text.replace('\n', "; "));
        Error::unexpected("understand", &self.directory(group).join(file), hint)
    }

    /// Whether a group has this interface file in the first home.
    #[must_use]
    pub fn has(&self, group: &str, file: &str) -> bool {
        self.root.exists(self.directory(group).join(file))
    }

    /// Starts a probe inside a group, in every home at once, and waits until it is ready. The
    /// words are the probe's name and its arguments, `spin threads=2 cpu=1` (crate `probe`).
    pub fn start(&self, group: &str, words: &str) -> Result<Running, Error> {
        self.start_with(&self.tree.membership(group)?, words)
    }

    /// Starts a probe in the group that Assay itself is in.
    pub fn start_outside(&self, words: &str) -> Result<Running, Error> {
        self.start_with(&Membership::open(self.root, &[])?, words)
    }

    fn start_with(&self, membership: &Membership, words: &str) -> Result<Running, Error> {
        let mut words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        words.push(format!("patience={}", self.patience));
        Running::start(&self.program, &words, membership)
    }

    /// `seconds` as this host needs them: longer where the clock of a guest is slow.
    #[must_use]
    pub fn time(&self, seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds * self.patience)
    }

    /// Waits. An interruption by the user is an error, so that the case ends at once.
    pub fn pause(&self, seconds: f64) -> Result<(), Error> {
        std::thread::sleep(self.time(seconds));
        refuse_interrupted()
    }

    /// Asks again and again, for at most `seconds`, and says whether `done` ever said yes.
    pub fn wait_for(
        &self,
        seconds: f64,
        mut done: impl FnMut() -> Result<bool, Error>,
    ) -> Result<bool, Error> {
        let until = Instant::now() + self.time(seconds);
        loop {
            if done()? {
                return Ok(true);
            }
            if Instant::now() >= until {
                return Ok(false);
            }
            std::thread::sleep(Duration::from_millis(2));
            refuse_interrupted()?;
        }
    }

    /// Reads counters at the edges of `count` windows that follow each other without a gap.
    pub fn windows(
        &self,
        count: usize,
        seconds: f64,
        mut counters: impl FnMut() -> Result<Vec<u64>, Error>,
    ) -> Result<Vec<Window>, Error> {
        let mut windows = Vec::with_capacity(count);
        let mut before = (clock::monotonic_ns(), counters()?);
        for _ in 0..count {
            self.pause(seconds)?;
            let after = (clock::monotonic_ns(), counters()?);
            let length = after.0.saturating_sub(before.0) as f64 / 1e9;
            windows.push(Window::between(length, &before.1, &after.1));
            before = after;
        }
        Ok(windows)
    }

    /// Reads windows of the first of these lengths in seconds and judges them, and goes on to the
    /// next length while they leave it undecided: what single slices of time do to a figure is
    /// the smaller, the longer the window is. Of the last length more windows are added, up to
    /// three times as many.
    pub fn settle(
        &self,
        count: usize,
        lengths: &[f64],
        mut counters: impl FnMut() -> Result<Vec<u64>, Error>,
        judge: impl Fn(&[Window]) -> Outcome,
    ) -> Result<Outcome, Error> {
        let mut outcome = Outcome::void("no window was read");
        let mut windows = Vec::new();
        for seconds in lengths {
            windows = self.windows(count, *seconds, &mut counters)?;
            outcome = judge(&windows);
            if outcome.verdict != Verdict::Undecided {
                return Ok(outcome);
            }
        }
        let last = lengths.last().copied().unwrap_or_default();
        while outcome.verdict == Verdict::Undecided && windows.len() < 3 * count {
            windows.extend(self.windows(count, last, &mut counters)?);
            outcome = judge(&windows);
        }
        Ok(outcome)
    }

    /// Waits until a probe has used so many seconds of CPU time, for at most fifty times as long,
    /// and returns how many nanoseconds it did use: on a busy machine it may have to wait for its
    /// turn.
    pub fn let_run(&self, probe: &Running, seconds: f64) -> Result<u64, Error> {
        let before = probe.cpu_ns()?;
        let wanted = (seconds * 1e9) as u64;
        let mut used = 0;
        self.wait_for(50.0 * seconds, || {
            used = probe.cpu_ns()?.saturating_sub(before);
            Ok(used >= wanted)
        })?;
        Ok(used)
    }

    /// Lets the case's groups go before everything else on this machine that wants a CPU: the top
    /// group gets the greatest weight there is. How groups inside divide what it gets is theirs.
    pub fn go_first(&self) -> Result<(), Error> {
        let (file, most) = self.by_version(("cpu.shares", "262144"), ("cpu.weight", "10000"));
        self.root.write(self.directory_of("cpu", "")?.join(file), most)
    }

    /// A CPU to bind probes to: the last one that Assay may use, since much of what a machine
    /// does by itself runs on the first.
    #[must_use]
    pub fn cpu(&self) -> u16 {
        self.facts.cpus.allowed.iter().last().unwrap_or(0)
    }
}

fn refuse_interrupted() -> Result<(), Error> {
    match signal::interrupted_by() {
        Some(name) => Err(Error::unexpected("go on", Path::new("the case"), name)),
        None => Ok(()),
    }
}

/// The number behind `key` in lines of `key number`.
#[must_use]
pub(crate) fn keyed(text: &str, key: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(' ')?;
        (name == key).then(|| value.trim().parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_matched_whole() {
        let text = "nr_periods 7\nnr_throttled 3\nthrottled_usec 12\n";
        assert_eq!(keyed(text, "nr_throttled"), Some(3));
        assert_eq!(keyed(text, "throttled"), None);
    }
}
