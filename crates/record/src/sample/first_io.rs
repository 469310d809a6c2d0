//! Time of each group's first I/O after the release.
//!
//! Ten samples a second cannot show whether all groups started within milliseconds of each other, so the
//! request counters are polled for the short time until every group has done I/O.

use std::time::Duration;

use assay_sys::kernel::clock::monotonic_ns;
use assay_sys::kernel::counters::{blkio, io_stat};
use assay_sys::kernel::{RereadFile, Root};

use crate::sample::target::{GroupTarget, IoFiles, Targets};

/// The request counter of one group.
pub struct IoCounter {
    name: String,
    file: RereadFile,
    device: String,
    is_v2: bool,
}

/// Polls the request counters of all groups.
pub struct FirstIo {
    waiting: Vec<(IoCounter, u64)>,
    seen_ns: Vec<u64>,
    buffer: Vec<u8>,
}

/// The shortest pause between two reads of all counters: fine enough for a bound of 20 ms.
const PAUSE: Duration = Duration::from_micros(500);

/// Each pause lasts at least this many times as long as the preceding read. The polling thread runs at
/// real-time priority and takes CPU time from the starts it measures: reading 128 groups every 500 us took
/// half of a core and slowed the starts by a quarter.
const REST: u32 = 4;

impl FirstIo {
    /// Opens the counters and reads their initial values. Groups without I/O are left out.
    #[must_use]
    pub fn prepare(root: &Root, targets: &Targets) -> Self {
        let mut watch = Self { waiting: Vec::new(), seen_ns: Vec::new(), buffer: Vec::new() };
        for counter in targets.groups.iter().filter_map(|group| open(root, group)) {
            let start = counter.requests(&mut watch.buffer);
            watch.waiting.push((counter, start));
        }
        watch
    }

    /// Polls until every counter has changed, or for `limit`. Returns the seconds between the first group's
    /// first I/O and the last group's, or why that is unknown.
    pub fn skew(mut self, limit: Duration) -> Result<f64, String> {
        if self.waiting.is_empty() {
            return Err("no group has I/O counters".to_owned());
        }
        let until = monotonic_ns() + u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX / 2);
        while !self.waiting.is_empty() && monotonic_ns() < until {
            let began_ns = monotonic_ns();
            self.look();
            let look = Duration::from_nanos(monotonic_ns() - began_ns);
            std::thread::sleep(PAUSE.max(look * REST));
        }
        if let Some((silent, _)) = self.waiting.first() {
            return Err(format!(
                "{} of the groups, `{}` among them, did no I/O in the first {limit:?}",
                self.waiting.len(),
                silent.name
            ));
        }
        let first = self.seen_ns.iter().min().copied().unwrap_or(0);
        let last = self.seen_ns.iter().max().copied().unwrap_or(0);
        Ok((last - first) as f64 / 1e9)
    }

    fn look(&mut self) {
        let buffer = &mut self.buffer;
        let seen = &mut self.seen_ns;
        self.waiting.retain(|(counter, start)| {
            let moved = counter.requests(buffer) != *start;
            if moved {
                seen.push(monotonic_ns());
            }
            !moved
        });
    }
}

impl IoCounter {
    fn requests(&self, buffer: &mut Vec<u8>) -> u64 {
        let Ok(text) = self.file.read_record(buffer) else { return 0 };
        let requests =
            if self.is_v2 { io_stat(text, &self.device).1 } else { blkio(text, &self.device) };
        requests.read + requests.write
    }
}

fn open(root: &Root, group: &GroupTarget) -> Option<IoCounter> {
    let (files, device) = group.io.as_ref().ok()?;
    let (path, is_v2) = match files {
        IoFiles::Blkio { requests, .. } => (requests, false),
        IoFiles::IoStat(path) => (path, true),
    };
    let file = root.open_reread(path).ok()?;
    Some(IoCounter { name: group.name.clone(), file, device: device.clone(), is_v2 })
}
