//! What a watch knows, for Prometheus and the like: `GET /metrics` at an address of this host.
//!
//! One thread of its own answers, and audits the host when a request comes and the last audit is old. The watch shares only
//! a few numbers with it, so that no client holds it up.

mod answers;
mod page_server;
mod request;

use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use assay_audit::audit;
use assay_export::{LatestAudit, WatchCounts, watch_metrics};
use assay_kernel::{Root, clock};
use jiff::Timestamp;

use super::take_snapshot;
use crate::error::Error;

/// An audit is made again when a request finds it older than this,
const OLD: Duration = Duration::from_secs(60);

/// and than so many times what it took: audits take at most two percent of a CPU,
const TIMES_ITS_COST: u32 = 50;

/// or more where one takes longer than twelve seconds: after this it is made again in any case.
const OLDEST: Duration = Duration::from_secs(600);

/// An address at which a watch answers.
#[derive(Debug)]
pub struct Metrics {
    listener: TcpListener,
    address: SocketAddr,
}

impl Metrics {
    /// Begins to listen. All who reach the address may read: there is no authentication.
    ///
    /// ```
    /// use assay_session::Metrics;
    /// let metrics = Metrics::listen("127.0.0.1:0".parse()?)?;
    /// assert!(metrics.address().port() > 0);
    /// assert!(Metrics::listen(metrics.address()).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The address is in use, or not one of this host.
    pub fn listen(address: SocketAddr) -> Result<Self, Error> {
        let listener = TcpListener::bind(address).and_then(|listener| {
            listener.set_nonblocking(true)?;
            Ok(Self { address: listener.local_addr()?, listener })
        });
        listener.map_err(|cause| {
            let hint =
                "name another one with --metrics ADDR:PORT; with port 0 the kernel chooses one";
            Error::host(format!("cannot listen at {address}: {cause}\n  hint: {hint}"))
        })
    }

    /// The address, with the port that the kernel chose.
    ///
    /// ```
    /// let metrics = assay_session::Metrics::listen("127.0.0.1:0".parse()?)?;
    /// assert!(metrics.address().ip().is_loopback());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until the watch is over.
    pub(super) fn serve(&self, root: &Root, shared: &Shared) {
        let mut latest: Option<(LatestAudit, Instant)> = None;
        let mut page = || {
            if latest.as_ref().is_none_or(is_old) {
                latest = made(root);
            }
            let (user, kernel) = clock::own_cpu_ns();
            let counts = shared.counts().clone();
            watch_metrics(
                &counts,
                latest.as_ref().map(|(one, _)| one),
                (user + kernel) as f64 / 1e9,
            )
        };
        page_server::serve(&self.listener, &mut page, &|| shared.is_over.load(Ordering::Relaxed));
    }
}

/// What the watch and the thread that answers share.
pub(super) struct Shared {
    counts: Mutex<WatchCounts>,
    is_over: AtomicBool,
}

impl Shared {
    pub(super) fn new() -> Self {
        let counts = Mutex::new(WatchCounts::new(now_s()));
        Self { counts, is_over: AtomicBool::new(false) }
    }

    /// The numbers of the watch. They are held for as long as copying them takes.
    pub(super) fn counts(&self) -> MutexGuard<'_, WatchCounts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The watch is over when this goes out of scope, whichever way.
    pub(super) const fn until_dropped(&self) -> UntilDropped<'_> {
        UntilDropped(self)
    }
}

pub(super) struct UntilDropped<'s>(&'s Shared);

impl Drop for UntilDropped<'_> {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Relaxed);
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
