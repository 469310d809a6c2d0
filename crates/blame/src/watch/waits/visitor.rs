//! A thread that visits CPUs one after another.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use assay_sys::kernel::affinity;

/// Makes each CPU on which this process may run switch once, so that the programs know which of them are idle. Others, and
/// those behind a CPU that is busy for ever, are known from their next switch on.
pub(super) struct Visitor {
    thread: JoinHandle<()>,
    visit: Arc<Visit>,
}

/// What the thread and its owner know of each other.
struct Visit {
    /// The thread; 0 until it runs.
    id: AtomicU32,
    is_over: AtomicBool,
    cpus: Vec<u16>,
}

impl Visitor {
    /// `None` if there is no thread to be had.
    pub(super) fn start() -> Option<Self> {
        let cpus = affinity::allowed_cpus(std::process::id()).ok()?;
        let visit = Visit { id: AtomicU32::new(0), is_over: AtomicBool::new(false), cpus };
        let visit = Arc::new(visit);
        let own = Arc::clone(&visit);
        let thread = std::thread::Builder::new().spawn(move || own.go()).ok()?;
        Some(Self { thread, visit })
    }
}

impl Visit {
    fn go(&self) {
        self.id.store(rustix::thread::gettid().as_raw_nonzero().get() as u32, Ordering::SeqCst);
        for cpu in self.cpus.iter().take_while(|_| !self.is_over.load(Ordering::SeqCst)) {
            let _ = affinity::bind_self(&[*cpu]);
        }
    }
}

/// How often the thread is called back, since it may just go to the next CPU, and how long each time is waited.
const CALLS: u32 = 100;
const PAUSE: Duration = Duration::from_millis(1);

impl Drop for Visitor {
    /// Calls the thread back from a CPU on which it is not served: until it ends, the process cannot.
    fn drop(&mut self) {
        self.visit.is_over.store(true, Ordering::SeqCst);
        for _ in 0..CALLS {
            if self.thread.is_finished() {
                return;
            }
            let id = self.visit.id.load(Ordering::SeqCst);
            if id != 0 {
                let _ = affinity::bind(id, &self.visit.cpus);
            }
            std::thread::sleep(PAUSE);
        }
    }
}
