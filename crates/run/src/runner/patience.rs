//! How long a process may take that the run waits for.

use std::time::Duration;

use assay_sys::kernel::clock::{monotonic_ns, process_cpu_ns};

/// Limits for a process that the run waits for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// Limit for a process that uses no CPU time at all.
    pub(crate) idle: Duration,
    /// Limit for any process.
    pub(crate) whole: Duration,
}

/// For workloads on their way to the start barrier. Laying out files may take long, but never without CPU time.
/// Documented in docs/safety.md.
pub(crate) const TO_ARRIVE: Patience =
    Patience { idle: Duration::from_secs(60), whole: Duration::from_secs(3600) };

/// For preparations, of which filling a large disk twice takes hours. Documented in docs/safety.md.
pub(crate) const TO_PREPARE: Patience =
    Patience { idle: Duration::from_secs(60), whole: Duration::from_secs(24 * 3600) };

/// A process that has not done yet what the run waits for.
pub(crate) struct Expected {
    id: u32,
    began_ns: u64,
    cpu_ns: Option<u64>,
    /// When it last used CPU time.
    worked_ns: u64,
}

impl Expected {
    /// The wait begins now.
    pub(crate) fn new(id: u32) -> Self {
        let now = monotonic_ns();
        Self { id, began_ns: now, cpu_ns: None, worked_ns: now }
    }

    /// It counts as working: it waits for something else, such as a child or a disk.
    pub(crate) fn has_worked(&mut self) {
        self.worked_ns = monotonic_ns();
    }

    /// The limit that it has exceeded, for a message.
    pub(crate) fn timed_out(&mut self, patience: Patience) -> Option<String> {
        let now = monotonic_ns();
        let cpu_ns = process_cpu_ns(self.id);
        if cpu_ns != self.cpu_ns {
            self.cpu_ns = cpu_ns;
            self.worked_ns = now;
        }
        let since = |then: u64| Duration::from_nanos(now.saturating_sub(then));
        if since(self.worked_ns) > patience.idle {
            Some(format!("without any CPU time used for {:?}", patience.idle))
        } else if since(self.began_ns) > patience.whole {
            Some(format!("within {:?}", patience.whole))
        } else {
            None
        }
    }
}
