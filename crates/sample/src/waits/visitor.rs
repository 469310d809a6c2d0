//! A thread that visits CPUs one after another.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use assay_kernel::affinity;

/// Makes each CPU on which this process may run switch once, so that the programs know which of them are idle. Others, and
/// those behind a CPU that is busy for ever, are known from their next switch on.
pub(super) struct Visitor {
    thread: JoinHandle<()>,
    id: Arc<AtomicU32>,
    is_over: Arc<AtomicBool>,
    cpus: Arc<[u16]>,
}

impl Visitor {
    /// `None` if there is no thread to be had.
    pub(super) fn start() -> Option<Self> {
        let cpus: Arc<[u16]> = affinity::allowed_cpus(std::process::id()).ok()?.into();
        let (id, is_over) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicBool::new(false)));
        let shared = (Arc::clone(&id), Arc::clone(&is_over), Arc::clone(&cpus));
        let visit = move || {
            let (id, is_over, cpus) = shared;
            id.store(rustix::thread::gettid().as_raw_nonzero().get() as u32, Ordering::SeqCst);
            for cpu in cpus.iter().take_while(|_| !is_over.load(Ordering::SeqCst)) {
                let _ = affinity::bind_self(&[*cpu]);
            }
        };
        let thread = std::thread::Builder::new().spawn(visit).ok()?;
        Some(Self { thread, id, is_over, cpus })
    }
}

/// How often the thread is called back, since it may just go to the next CPU, and how long each time is waited.
const CALLS: u32 = 100;
const PAUSE: Duration = Duration::from_millis(1);

impl Drop for Visitor {
    /// Calls the thread back from a CPU on which it is not served: until it ends, the process cannot.
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        for _ in 0..CALLS {
            if self.thread.is_finished() {
                return;
            }
            let id = self.id.load(Ordering::SeqCst);
            if id != 0 {
                let _ = affinity::bind(id, &self.cpus);
            }
            std::thread::sleep(PAUSE);
        }
    }
}
