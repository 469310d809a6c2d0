//! A file with metrics for the textfile collector of node_exporter: of one audit, or of a watch and its latest audit.

use std::path::Path;
use std::time::{Duration, Instant};

use assay_sys::exit::Error;
use assay_sys::files::replace;
use assay_sys::kernel::{Root, clock};
use jiff::Timestamp;

use super::take_snapshot;
use crate::textfile::{LatestAudit, WatchCounts, textfile};
use crate::{Audit, audit};

/// A watch writes its file at most so often: each time waits for the disk.
const PERIOD: Duration = Duration::from_secs(5);

/// An audit is made again when it is older than this,
const OLD: Duration = Duration::from_secs(60);

/// and than so many times what it took: audits take at most two percent of a CPU,
const TIMES_ITS_COST: u32 = 50;

/// or more where one takes longer than twelve seconds: after this it is made again in any case.
const OLDEST: Duration = Duration::from_secs(600);

/// Writes the metrics of an audit that has just been made and took so many seconds. A reader of the file sees all of them
/// or those before.
///
/// # Errors
/// The file cannot be written.
pub fn write_textfile(path: &Path, audit: &Audit, took_s: f64) -> Result<(), Error> {
    let latest = LatestAudit { audit: audit.clone(), made_s: now_s(), took_s };
    replace(path, textfile(None, Some(&latest)).as_bytes()).map_err(Error::host)
}

/// The file of a watch.
pub(super) struct Textfile<'p> {
    path: &'p Path,
    /// What the watch has seen.
    pub(super) counts: WatchCounts,
    latest: Option<(LatestAudit, Instant)>,
    written: Option<Instant>,
}

impl<'p> Textfile<'p> {
    pub(super) fn new(path: &'p Path) -> Self {
        Self { path, counts: WatchCounts::new(now_s()), latest: None, written: None }
    }

    /// Writes the file if it is due, after an audit if the latest is old.
    pub(super) fn write_if_due(&mut self, root: &Root) -> Result<(), Error> {
        if self.written.is_some_and(|written| written.elapsed() < PERIOD) {
            return Ok(());
        }
        if self.latest.as_ref().is_none_or(is_old) {
            self.latest = made(root);
        }
        let latest = self.latest.as_ref().map(|(latest, _)| latest);
        let (user, kernel) = clock::own_cpu_ns();
        let text = textfile(Some((&self.counts, (user + kernel) as f64 / 1e9)), latest);
        self.written = Some(Instant::now());
        replace(self.path, text.as_bytes()).map_err(Error::host)
    }
}

/// Unix time in seconds.
pub(super) fn now_s() -> f64 {
    Timestamp::now().as_millisecond() as f64 / 1e3
}

fn is_old((latest, begun): &(LatestAudit, Instant)) -> bool {
    begun.elapsed() > lasts(latest.took_s)
}

/// For how long an audit that took so many seconds is shown.
fn lasts(took_s: f64) -> Duration {
    let cost = Duration::from_secs_f64(took_s.clamp(0.0, 3600.0));
    (cost * TIMES_ITS_COST).clamp(OLD, OLDEST)
}

/// An audit of the host, if it has control groups, and when it was begun.
fn made(root: &Root) -> Option<(LatestAudit, Instant)> {
    let (begun, made_s) = (Instant::now(), now_s());
    let audit = audit(&take_snapshot(root).ok()?);
    Some((LatestAudit { audit, made_s, took_s: begun.elapsed().as_secs_f64() }, begun))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_audit_is_shown_for_a_minute_or_fifty_times_its_cost_but_ten_minutes_at_most() {
        for (took_s, expected_s) in [(0.0, 60), (1.0, 60), (4.0, 200), (12.0, 600), (300.0, 600)] {
            assert_eq!(lasts(took_s), Duration::from_secs(expected_s), "{took_s}");
        }
    }
}
