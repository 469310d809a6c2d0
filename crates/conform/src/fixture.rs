//! The environment of one case: its groups, its probes, its disks, and a clock.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use assay_host::Ledger;
use assay_host::cgroup::Tree;
use assay_host::facts::{HostFacts, UsedHierarchy};
use assay_host::ledger::LoopDevice;
use assay_host::scratch::{Format, ScratchDisk, ScratchSpec, Source, set_up};
use assay_sys::kernel::counters::{self, fields};
use assay_sys::kernel::process::Membership;
use assay_sys::kernel::{Error, Root, signal};
use assay_sys::units::Bytes;
use rustix::io::Errno;

use crate::errno_name::errno_of;
use crate::outcome::{Outcome, Stop};
use crate::running::Running;
use crate::windows::{Window, read_windows, settle};

/// The groups of one case, one top group per hierarchy, and the operations on them. The empty name
/// stands for the top group; group names are paths below it, `a/b`.
///
/// Methods without a controller use the first hierarchy, that of the case's first need. All
/// changes are reverted when the case ends.
#[derive(Debug)]
pub struct Fixture<'g> {
    /// Root directory of the kernel's files.
    pub(crate) root: &'g Root,
    /// Facts about the host.
    pub(crate) facts: &'g HostFacts,
    /// For changes of the host beyond groups (mounts, loop devices, settings). They are restored in reverse order when
    /// the case ends.
    pub(crate) ledger: &'g mut Ledger,
    /// The group tree, for operations not offered here.
    pub(crate) tree: Tree,
    pub(crate) hierarchies: Vec<UsedHierarchy>,
    pub(crate) top: String,
    pub(crate) program: PathBuf,
    pub(crate) patience: f64,
    /// From then on no more windows are read for a result that is undecided.
    pub(crate) until: Instant,
}

impl Fixture<'_> {
    /// Whether the first hierarchy is cgroup v2.
    #[must_use]
    pub fn is_v2(&self) -> bool {
        self.hierarchies.first().is_some_and(|hierarchy| hierarchy.is_v2)
    }

    /// `v2` or `v1`, for evidence.
    #[must_use]
    pub fn version(&self) -> &'static str {
        if self.is_v2() { "v2" } else { "v1" }
    }

    /// Selects by the version of the first hierarchy.
    #[must_use]
    pub fn by_version<T>(&self, v1: T, v2: T) -> T {
        if self.is_v2() { v2 } else { v1 }
    }

    /// Creates a group without children, in every hierarchy.
    pub fn make(&self, group: &str) -> Result<(), Error> {
        self.tree.make(group, false)
    }

    /// Creates a group that will have children, in every hierarchy: on v2 it enables its controllers for
    /// them, so it cannot hold processes.
    pub fn make_parent(&self, group: &str) -> Result<(), Error> {
        self.tree.make(group, true)
    }

    /// Creates several groups without children, in this order.
    pub fn make_each(&self, groups: &[&str]) -> Result<(), Error> {
        groups.iter().try_for_each(|group| self.make(group))
    }

    /// Creates the directory of a group in the first hierarchy and nothing else; returns the error, if any.
    pub fn mkdir(&self, group: &str) -> Option<Errno> {
        errno_of(self.root.make_dir(self.directory(group)))
    }

    /// Removes that directory; returns the error, if any.
    pub fn rmdir(&self, group: &str) -> Option<Errno> {
        errno_of(self.root.remove_dir(self.directory(group)))
    }

    /// The directory of a group in the first hierarchy.
    #[must_use]
    pub fn directory(&self, group: &str) -> PathBuf {
        self.hierarchies
            .first()
            .map_or_else(PathBuf::new, |hierarchy| self.group_directory(hierarchy, group))
    }

    /// The directory of a group in the hierarchy of `controller`.
    pub fn directory_of(&self, controller: &str, group: &str) -> Result<PathBuf, Error> {
        self.tree.directory(group, controller).ok_or_else(|| {
            let hint =
                format!("the case does not declare its need of the controller `{controller}`");
            Error::unexpected("find", Path::new(group), hint)
        })
    }

    /// The directory of the top group in every hierarchy.
    #[must_use]
    pub fn tops(&self) -> Vec<PathBuf> {
        self.hierarchies.iter().map(|hierarchy| self.group_directory(hierarchy, "")).collect()
    }

    fn group_directory(&self, hierarchy: &UsedHierarchy, group: &str) -> PathBuf {
        let top = hierarchy.base.join(&self.top);
        if group.is_empty() { top } else { top.join(group) }
    }

    /// Writes an interface file of a group in the first hierarchy.
    pub fn write(&self, group: &str, file: &str, value: &str) -> Result<(), Error> {
        self.root.write(self.directory(group).join(file), value)
    }

    /// Writes a value that the kernel should refuse; returns the error, or `None` if the value was
    /// accepted.
    pub fn refusal(&self, group: &str, file: &str, value: &str) -> Option<Errno> {
        errno_of(self.write(group, file, value))
    }

    /// Moves a probe into a group of the first hierarchy; returns the error, if any.
    pub fn attach(&self, group: &str, probe: &Running) -> Option<Errno> {
        errno_of(self.move_to(group, probe))
    }

    /// The same where the kernel must not refuse.
    pub fn move_to(&self, group: &str, probe: &Running) -> Result<(), Error> {
        self.write(group, "cgroup.procs", &probe.pid().to_string())
    }

    /// Reads an interface file of a group in the first hierarchy, trimmed.
    pub fn read(&self, group: &str, file: &str) -> Result<String, Error> {
        self.root.read_trimmed(self.directory(group).join(file))
    }

    /// Reads a file that holds one number.
    pub fn number(&self, group: &str, file: &str) -> Result<u64, Error> {
        let text = self.read(group, file)?;
        text.parse().map_err(|_| self.unreadable(group, file, &text))
    }

    /// Reads the number of `key` in a file of lines `key number`, such as `cpu.stat`.
    pub fn keyed(&self, group: &str, file: &str, key: &str) -> Result<u64, Error> {
        let text = self.read(group, file)?;
        keyed(&text, key).ok_or_else(|| self.unreadable(group, file, &text))
    }

    fn unreadable(&self, group: &str, file: &str, text: &str) -> Error {
        let hint = format!("unexpected content `{}`", text.replace('\n', "; "));
        Error::unexpected("understand", &self.directory(group).join(file), hint)
    }

    /// Whether a group has this interface file in the first hierarchy.
    #[must_use]
    pub fn has(&self, group: &str, file: &str) -> bool {
        self.root.exists(self.directory(group).join(file))
    }

    /// Starts a probe inside a group, in every hierarchy at once, and waits until it is ready. `words`
    /// are the probe's name and its arguments, `spin threads=2 cpu=1` (module `probe`).
    pub fn start(&self, group: &str, words: &str) -> Result<Running, Error> {
        self.start_with(&self.tree.membership(group)?, words)
    }

    /// The same in a group that is created for it.
    pub fn start_in(&self, group: &str, words: &str) -> Result<Running, Error> {
        self.make(group)?;
        self.start(group, words)
    }

    /// Starts a probe in a group, bound to [`Self::cpu`].
    pub fn start_bound(&self, group: &str, words: &str) -> Result<Running, Error> {
        self.start(group, &format!("{words} cpu={}", self.cpu()))
    }

    /// Starts a probe in Assay's own group.
    pub fn start_outside(&self, words: &str) -> Result<Running, Error> {
        self.start_with(&Membership::open(self.root, &[])?, words)
    }

    fn start_with(&self, membership: &Membership, words: &str) -> Result<Running, Error> {
        let mut words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        words.push(format!("patience={}", self.patience));
        Running::start(&self.program, &words, membership)
    }

    /// `seconds`, scaled for this host: longer in a guest with a slow clock.
    #[must_use]
    pub fn time(&self, seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds * self.patience)
    }

    /// Sleeps. An interruption by the user is an error, so that the case ends at once.
    pub fn pause(&self, seconds: f64) -> Result<(), Error> {
        std::thread::sleep(self.time(seconds));
        refuse_interrupted()
    }

    /// Polls `done` for at most `seconds`; returns whether it became true.
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

    /// Reads counters at the edges of `count` consecutive windows.
    pub fn windows(
        &self,
        count: usize,
        seconds: f64,
        counters: impl FnMut() -> Result<Vec<u64>, Error>,
    ) -> Result<Vec<Window>, Error> {
        read_windows(count, || self.pause(seconds), counters)
    }

    /// Reads and judges windows of the first of these lengths in seconds, and continues with the
    /// next length while the result is undecided: the longer the window, the smaller the effect of
    /// single time slices. At the last length several times as many are read, as far as the case has
    /// time for more.
    pub fn settle(
        &self,
        count: usize,
        lengths: &[f64],
        mut counters: impl FnMut() -> Result<Vec<u64>, Error>,
        judge: impl Fn(&[Window]) -> Outcome,
    ) -> Result<Outcome, Stop> {
        let read = |seconds| self.windows(count, seconds, &mut counters);
        settle(lengths, read, |seconds| self.has_time_for(count, seconds), judge)
    }

    /// Whether so many windows of so many seconds end in time.
    fn has_time_for(&self, count: usize, seconds: f64) -> bool {
        Instant::now() + self.time(seconds).mul_f64(count as f64) <= self.until
    }

    /// Waits until a probe has used `seconds` of CPU time, for at most fifty times as long, and
    /// returns the CPU time used in nanoseconds: on a busy machine it may have to wait.
    pub fn let_run(&self, probe: &Running, seconds: f64) -> Result<u64, Error> {
        let before = probe.cpu_ns()?;
        let target = (seconds * 1e9) as u64;
        let mut used = 0;
        self.wait_for(50.0 * seconds, || {
            used = probe.cpu_ns()?.saturating_sub(before);
            Ok(used >= target)
        })?;
        Ok(used)
    }

    /// Raises the priority of the case's groups over all other CPU work beside Assay's own group, which is the whole
    /// machine unless Assay runs in a container: the top group gets the largest weight. Its division among child
    /// groups is unaffected.
    pub fn go_first(&self) -> Result<(), Error> {
        let (file, most) = self.by_version(("cpu.shares", "262144"), ("cpu.weight", "10000"));
        self.root.write(self.directory_of("cpu", "")?.join(file), most)
    }

    /// What the kernel says of this CPU since the machine started, in seconds.
    pub fn time_of_cpu(&self, cpu: u16) -> Result<CpuTime, Error> {
        let path = Path::new("/proc/stat");
        let text = self.root.read(path)?;
        // In USER_HZ, which is 100 on every architecture (proc_stat(5)).
        let ticks = fields::<8>(text.as_bytes(), &format!("cpu{cpu} ")).ok_or_else(|| {
            Error::unexpected("read", path, format!("it has no line of CPU {cpu}"))
        })?;
        let seconds = |ticks: u64| ticks as f64 / 100.0;
        Ok(CpuTime { idle_s: seconds(ticks[3] + ticks[4]), stolen_s: seconds(ticks[7]) })
    }

    /// The CPUs that Assay may use.
    #[must_use]
    pub fn cpus(&self) -> Vec<u16> {
        self.facts.cpus.allowed.iter().collect()
    }

    /// A CPU to bind probes to: the last one that Assay may use, since much of a machine's own work
    /// runs on the first.
    #[must_use]
    pub fn cpu(&self) -> u16 {
        self.facts.cpus.allowed.iter().last().unwrap_or(0)
    }
}

/// How a CPU spent its time, in seconds.
#[derive(Debug, Clone, Copy)]
pub struct CpuTime {
    /// Without work, or waiting for disks.
    pub idle_s: f64,
    /// While the hypervisor ran something else.
    pub stolen_s: f64,
}

fn refuse_interrupted() -> Result<(), Error> {
    match signal::interrupted_by() {
        Some(name) => Err(Error::unexpected("go on", Path::new("the case"), name)),
        None => Ok(()),
    }
}

/// The number of `key` in lines of `key number`.
#[must_use]
pub(crate) fn keyed(text: &str, key: &str) -> Option<u64> {
    counters::keyed(text.as_bytes(), key)
}

/// Directory for images: one that is rarely in memory (hier(7)), so that reading the disk is not
/// reading memory twice.
const IMAGES: &str = "/var/tmp";

/// Four requests at a time, of which a timer ends each after 5 ms: 800 a second, which an emulated CPU can
/// ask for (Documentation/block/null_blk.rst).
const NULL_DISK: [(&str, &str); 4] = [
    ("submit_queues", "1"),
    ("hw_queue_depth", "4"),
    ("irqmode", "2"),
    ("completion_nsec", "5000000"),
];

impl Fixture<'_> {
    /// A loop disk of `size` that reads as zeros, for cases in which speed and content do not
    /// matter: it costs nothing to create. It is removed when the case ends.
    pub fn blank_disk(&mut self, size: u64) -> Result<LoopDevice, Error> {
        let path = Path::new(IMAGES).join(format!("{}.img", self.top));
        let image = self.ledger.make_file(self.root, &path)?;
        image.set_len(size).map_err(|cause| Error::new("truncate", &path, &cause))?;
        self.ledger.attach_loop(self.root, &image, &path)
    }

    /// A loop disk of `size` without a file system, full of data, with this scheduler and these
    /// queue attributes. It is removed when the case ends.
    pub fn loop_disk(
        &mut self,
        size: Bytes,
        scheduler: &str,
        queue: &[(&str, &str)],
    ) -> Result<ScratchDisk, Error> {
        self.scratch(Source::Loop { image_dir: IMAGES.into(), size }, scheduler, queue)
    }

    /// The same on a null_blk: reads take a fixed time and no CPU time to speak of, and return nothing.
    pub fn null_disk(
        &mut self,
        size: Bytes,
        scheduler: &str,
        queue: &[(&str, &str)],
    ) -> Result<ScratchDisk, Error> {
        let options = NULL_DISK.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        self.scratch(Source::NullBlk { size, options }, scheduler, queue)
    }

    fn scratch(
        &mut self,
        source: Source,
        scheduler: &str,
        queue: &[(&str, &str)],
    ) -> Result<ScratchDisk, Error> {
        let spec = ScratchSpec {
            name: "conform".to_owned(),
            source,
            format: Format::None,
            partitions: 0,
            scheduler: Some(scheduler.to_owned()),
            queue: queue.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect(),
            mount_dir: Path::new(IMAGES).to_owned(),
        };
        let stop = || signal::interrupted_by().is_some();
        set_up(self.root, self.ledger, &spec, &stop, &mut |_| {})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_matched_completely() {
        let text = "nr_periods 7\nnr_throttled 3\nthrottled_usec 12\n";
        assert_eq!(keyed(text, "nr_throttled"), Some(3));
        assert_eq!(keyed(text, "throttled"), None);
    }
}
