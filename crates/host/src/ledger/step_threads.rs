//! Threads with none of our files open.
//!
//! A thread that hangs in the kernel outlives this process, and would keep its files open: the lock of a ledger, and
//! the pipe whose reader waits for its end. So steps share a table of descriptors of their own, which is empty. To
//! make it, copies of our descriptors are closed, and each close waits for the server of that file (FUSE_FLUSH; NFS
//! writes back), if need be for ever. So it is made once, with a time limit, before anything is changed, and by the
//! thread that starts all others: a thread shares the table of the one that started it.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::Builder;
use std::time::Duration;

use assay_sys::kernel::bounded_query::close_all_descriptors;

type Body = Box<dyn FnOnce() + Send>;

/// Starts threads. Without a table of their own, where it could not be made within the time limit, they share ours:
/// one that hangs then keeps our files open, but the host is restored.
#[derive(Debug)]
pub(super) struct StepThreads {
    keeper: Option<Sender<Body>>,
}

impl StepThreads {
    /// Those of this process. To be called before a ledger is locked: until the copies are closed they hold the lock.
    pub(super) fn shared() -> &'static Self {
        static SHARED: OnceLock<StepThreads> = OnceLock::new();
        SHARED.get_or_init(Self::prepare)
    }

    pub(super) fn prepare() -> Self {
        const LIMIT: Duration = Duration::from_secs(1);
        let (keeper, bodies) = channel::<Body>();
        let (to_caller, emptied) = channel();
        let begun = Builder::new().spawn(move || {
            close_all_descriptors();
            let _ = to_caller.send(());
            for body in bodies {
                begin(body);
            }
        });
        let is_ready = begun.is_ok() && emptied.recv_timeout(LIMIT).is_ok();
        Self { keeper: is_ready.then_some(keeper) }
    }

    /// Runs `body` on a thread of its own. Where there is no room for one, since others have taken it all (pid_max, pids.max),
    /// on that of the keeper, or on this one: what hangs then holds up the rest.
    pub(super) fn start(&self, body: Body) {
        match &self.keeper {
            Some(keeper) => drop(keeper.send(body)),
            None => begin(body),
        }
    }
}

fn begin(body: Body) {
    let body = Arc::new(Mutex::new(Some(body)));
    let run = move || {
        let body = body.lock().unwrap_or_else(PoisonError::into_inner).take();
        body.into_iter().for_each(|body| body());
    };
    if Builder::new().spawn(run.clone()).is_err() {
        run();
    }
}
