//! Where requests to disks spend their time: attaches the eBPF programs that follow them, and reads what they counted.

mod disk;
mod groups;
mod turns;

use std::path::Path;
use std::time::Duration;

use assay_bpf::{DISK, DISK_MANY, Programs};
use assay_host::facts::Available;
use assay_sys::kernel::bpf_info::Ran;
use assay_sys::kernel::clock::monotonic_ns;
use assay_sys::kernel::{Error, Root};

use crate::watch::watch_error::WatchError;
use crate::{
    DISKS, DiskAnswer, DiskCost, DiskCounted, DiskNames, DiskWindow, Layout, TAGS, Verdict,
};
use groups::Groups;
use turns::Turns;

pub(crate) use disk::{WatchedDisk, disks_in_use};
pub use groups::IoHierarchy;

/// Programs that run when they are switched off end within this time.
const LAST_EVENTS: Duration = Duration::from_millis(5);

/// Programs at their tracepoints that follow the requests of all groups to some disks. They go with this value or with
/// the process.
pub struct RequestWatch {
    root: Root,
    programs: Programs,
    /// Under BFQ; why not, if it is not possible.
    turns: Available<Turns>,
    names: DiskNames,
    disks: Vec<WatchedDisk>,
    started_ns: u64,
    /// When it was stopped.
    ended: Option<Ended>,
}

/// The end of the counting.
struct Ended {
    at_ns: u64,
    /// What the kernel had counted of each disk; the reason of one that is gone, which voids the answer about itself only.
    counted_ns: Vec<Result<u64, String>>,
}

impl RequestWatch {
    /// Attaches the programs for groups, each with all groups below it, and disks by their names in /sys/block. A path
    /// is one below the mount of the controller `io` (`blkio`), or that of a directory.
    ///
    /// # Errors
    /// There is no such group or disk, or the kernel or its policy refuses the programs.
    pub fn on_groups(
        root: &Root,
        hierarchy: &IoHierarchy,
        groups: &[String],
        disks: &[String],
    ) -> Result<Self, WatchError> {
        Self::on_disks(root, hierarchy, groups, read_disks(root, disks)?)
    }

    /// The same with disks that were read, and for which there is room.
    pub(crate) fn on_disks(
        root: &Root,
        hierarchy: &IoHierarchy,
        groups: &[String],
        disks: Vec<WatchedDisk>,
    ) -> Result<Self, WatchError> {
        let groups = Groups::read(root, hierarchy, groups)?;
        let refused = |error: Error| WatchError::Host(error.to_string());
        let layout = Layout::for_watched(groups.names.watched, disks.len());
        let programs = load_for(root, layout, [DISK, DISK_MANY]).map_err(refused)?;
        groups.write(&programs).map_err(refused)?;
        let turns = Turns::load(root, &disks, &groups, layout);
        let (root, names) = (root.clone(), groups.names);
        Ok(Self { root, programs, turns, names, disks, started_ns: 0, ended: None })
    }

    /// From now on requests count.
    ///
    /// # Errors
    /// The kernel refuses to switch the programs on, or does not tell what it has counted so far.
    pub fn start(&mut self) -> Result<(), Error> {
        for disk in &mut self.disks {
            // One that is gone by now is said to be when it ends.
            disk.counted_ns = disk.read_counted_ns(&self.root).unwrap_or_default();
        }
        self.started_ns = monotonic_ns();
        self.enable(1)?;
        self.turns.value().map_or(Ok(()), |turns| turns.enable(1))
    }

    /// How long it has counted since the start.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        let until = self.ended.as_ref().map_or_else(monotonic_ns, |ended| ended.at_ns);
        Duration::from_nanos(until.saturating_sub(self.started_ns))
    }

    /// What the programs have done since they were attached; `None` if the kernel does not tell. Without those that read
    /// whose turn it is, a thousand times a second.
    #[must_use]
    pub fn ran(&self) -> Option<Ran> {
        self.programs.ran()
    }

    /// Ends the counting.
    ///
    /// # Errors
    /// The kernel refuses to switch the programs off, or does not tell what it has counted.
    pub fn stop(&mut self) -> Result<(), Error> {
        self.ended = Some(self.end()?);
        Ok(())
    }

    fn end(&self) -> Result<Ended, Error> {
        self.enable(0)?;
        self.turns.value().map_or(Ok(()), |turns| turns.enable(0))?;
        let at_ns = monotonic_ns();
        let counted = |disk: &WatchedDisk| {
            disk.read_counted_ns(&self.root).map_err(|error| error.to_string())
        };
        Ok(Ended { at_ns, counted_ns: self.disks.iter().map(counted).collect() })
    }

    /// Ends the counting, if it has not been stopped, and reads it: one answer for each disk, in their order.
    ///
    /// # Errors
    /// The kernel refuses to switch the programs off, or their memory cannot be read.
    pub fn finish(mut self) -> Result<Vec<DiskAnswer>, Error> {
        let Ended { at_ns: ended_ns, counted_ns } = match self.ended.take() {
            Some(ended) => ended,
            None => self.end()?,
        };
        std::thread::sleep(LAST_EVENTS);
        let memory = self.programs.map(".bss")?.get(&[0; 4])?;
        let turns = match &self.turns {
            Available::Value(turns) => match turns.read() {
                Ok(read) => Available::Value(read),
                Err(error) => Available::NotAvailable(error.to_string()),
            },
            Available::NotAvailable(reason) => Available::NotAvailable(reason.clone()),
        };
        let cost = DiskCost::parse(&memory);
        let missed = self.ran().map(|ran| ran.missed);
        let answer = |(number, disk): (usize, &WatchedDisk)| {
            let times = (self.started_ns, ended_ns);
            let counted = DiskCounted::parse(&memory, number, times, disk.pool())
                .ok_or_else(|| unreadable(memory.len()))?;
            let now = counted_ns.get(number).and_then(|counted| counted.as_ref().ok());
            let window = self.window(disk, ended_ns, now.copied().unwrap_or(disk.counted_ns));
            let bfq = turns::at_disk(&turns, disk, number, &self.names);
            let mut answer = DiskAnswer::new(&window, &counted, cost, &self.names, bfq);
            match counted_ns.get(number) {
                Some(Err(why)) => answer.note_gone(why),
                _ => self.check_scheduler(&mut answer),
            }
            answer.set_missed(missed);
            Ok(answer)
        };
        self.disks.iter().enumerate().map(answer).collect()
    }

    fn window(&self, disk: &WatchedDisk, ended_ns: u64, now: u64) -> DiskWindow {
        DiskWindow {
            disk: disk.name.clone(),
            scheduler: disk.scheduler.clone(),
            nr_requests: disk.pool(),
            length_ns: ended_ns.saturating_sub(self.started_ns),
            diskstats_ns: now.saturating_sub(disk.counted_ns),
            cpus: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        }
    }

    /// Requests of two schedulers have different places, so that they cannot be followed from one to the other.
    fn check_scheduler(&self, answer: &mut DiskAnswer) {
        let now = disk::scheduler(&self.root, &answer.disk);
        if now.as_deref() != Ok(answer.scheduler.as_str()) {
            let now = now.unwrap_or_else(|error| error.to_string());
            answer.verdict = Verdict::Void;
            answer.reason =
                Some(format!("the scheduler was changed: {} -> {now}", answer.scheduler));
        }
    }

    /// Writes `struct settings` of `programs/disk.bpf.c`.
    fn enable(&self, enabled: u32) -> Result<(), Error> {
        let mut settings = self.started_ns.to_ne_bytes().to_vec();
        let mut base = 0;
        let mut numbers = vec![enabled, self.disks.len() as u32, self.names.watched as u32, 0];
        for disk in &self.disks {
            let pool = u32::try_from(disk.pool()).unwrap_or(u32::MAX);
            numbers.extend([disk.major, disk.minor, base, disk.depth(), disk.queues, pool]);
            base += disk.entries();
        }
        numbers.resize(4 + DISKS * 6, 0);
        settings.extend(numbers.into_iter().flat_map(u32::to_ne_bytes));
        self.programs.map("settings")?.set(&[0; 4], &settings)
    }
}

/// The programs for few groups or for many. A kernel whose verifier finds those for many too large gets the others, which
/// count the groups beyond their numbers as one.
fn load_for(
    root: &Root,
    layout: Layout,
    [few, many]: [&'static [u8]; 2],
) -> Result<Programs, Error> {
    let of_many = (layout == Layout::MANY).then(|| Programs::load(root, many));
    of_many.and_then(Result::ok).map_or_else(|| Programs::load(root, few), Ok)
}

fn read_disks(root: &Root, names: &[String]) -> Result<Vec<WatchedDisk>, WatchError> {
    let disks: Vec<WatchedDisk> =
        names.iter().map(|name| WatchedDisk::read(root, name)).collect::<Result<_, _>>()?;
    let entries: u32 = disks.iter().map(WatchedDisk::entries).fold(0, u32::saturating_add);
    if disks.is_empty() || disks.len() > DISKS {
        let count = disks.len();
        return Err(WatchError::Target(format!("{count} disks: 1 to {DISKS} can be watched")));
    }
    if entries > TAGS {
        return Err(WatchError::Host(format!(
            "the disks have {entries} places for requests, and the programs have room for {TAGS}\n  hint: name fewer disks"
        )));
    }
    Ok(disks)
}

fn unreadable(bytes: usize) -> Error {
    let path = Path::new("the memory of the eBPF programs");
    Error::unexpected("read", path, format!("it has {bytes} bytes"))
}
