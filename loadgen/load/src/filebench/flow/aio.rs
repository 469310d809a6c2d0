//! `aiowrite` and `aiowait`: writes done by a helper thread while the workload thread continues,
//! like the C library's asynchronous I/O (aio(7)). The data written are the helper's own zeroes;
//! they are never read.

use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use assay_sys::kernel::anonymous_memory::{HugePages, Pages};
use rustix::io::Errno;

/// A write request.
struct Request {
    file: OwnedFd,
    offset: u64,
    bytes: usize,
}

#[derive(Debug, Default)]
struct State {
    open: usize,
    error: Option<Errno>,
}

#[derive(Debug, Default)]
struct Progress {
    state: Mutex<State>,
    done: Condvar,
}

/// The workload thread's handle to its helper. Dropping it ends the helper once all writes are
/// done.
pub(super) struct Aio {
    requests: Sender<Request>,
    progress: Arc<Progress>,
}

impl Aio {
    /// Creates a handle and the helper's work, to be run in a thread of its own.
    pub(super) fn start() -> (Self, impl FnOnce() + Send) {
        let (requests, receiver) = channel();
        let progress = Arc::new(Progress::default());
        let own = Arc::clone(&progress);
        (Self { requests, progress }, move || help(&receiver, &own))
    }

    /// Starts a write to a duplicate of the descriptor, so that the file may be closed meanwhile.
    pub(super) fn write(&self, file: OwnedFd, offset: u64, bytes: usize) {
        self.progress.state.lock().unwrap_or_else(PoisonError::into_inner).open += 1;
        // The helper lives as long as this handle.
        let _ = self.requests.send(Request { file, offset, bytes });
    }

    /// Waits until all writes are done; returns the error if one failed.
    pub(super) fn wait(&self) -> Result<(), Errno> {
        let mut state = self.progress.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.open > 0 {
            state = self.progress.done.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.error.take().map_or(Ok(()), Err)
    }
}

fn help(requests: &Receiver<Request>, progress: &Progress) {
    let mut zeroes: Option<Pages<u8>> = None;
    for Request { file, offset, bytes } in requests {
        if zeroes.as_ref().is_none_or(|zeroes| zeroes.len() < bytes) {
            zeroes = Pages::zeroed(bytes, HugePages::System).ok();
        }
        let written = match zeroes.as_deref().and_then(|zeroes| zeroes.get(..bytes)) {
            Some(zeroes) => rustix::io::pwrite(&file, zeroes, offset).map(|_| ()),
            None => Err(Errno::NOMEM),
        };
        let mut state = progress.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.open -= 1;
        if let Err(errno) = written {
            state.error.get_or_insert(errno);
        }
        progress.done.notify_all();
    }
}
