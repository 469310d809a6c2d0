//! Runs a step of a restore on a thread of its own. A step that hangs in the kernel (an unmount or a removal, where
//! the disk or the server below does not answer) is named and left behind, and the rest is restored.

use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use assay_sys::kernel::blocked::{HangWatch, describe_thread};
use assay_sys::kernel::{Error, Root};
use rustix::thread::gettid;

use super::step_threads::StepThreads;
use crate::poll_until::{is_stuck, shorten_waits};

/// A step, which owns everything that it needs.
pub(super) type Step = Box<dyn FnOnce() -> Result<(), Error> + Send>;

/// A step that was not scheduled for this long hangs. Writing back gigabytes wakes its thread again and again.
const HANGING: Duration = Duration::from_secs(15);
/// The same once something has hung.
const AGAIN: Duration = Duration::from_secs(5);

thread_local! {
    /// Whether the step of this thread was left behind.
    static LEFT: RefCell<Arc<AtomicBool>> = RefCell::default();
}

/// An error if the step of this thread was left behind: what hangs in one system call must not go on changing the
/// host when that ends, beside whatever is done to the host by then.
pub(super) fn check_not_left_behind() -> Result<(), Error> {
    match LEFT.with_borrow(|left| left.load(Ordering::Acquire)) {
        true => Err(Error::unexpected("go on", Path::new("ledger"), "this step was left behind")),
        false => Ok(()),
    }
}

/// A step on its thread.
#[derive(Debug)]
pub(super) struct RunningStep {
    tid: u32,
    ended: Receiver<Result<(), Error>>,
    is_left: Arc<AtomicBool>,
}

/// The result of the step, or an error that says where it hangs. `what` describes the change. `left` is the step that
/// restored the same change before and was left behind: while it has not ended no other one begins.
pub(super) fn run(
    threads: &StepThreads,
    what: &str,
    step: Step,
    left: &mut Option<RunningStep>,
) -> Result<(), Error> {
    run_within(threads, what, step, left, if is_stuck() { AGAIN } else { HANGING })
}

fn run_within(
    threads: &StepThreads,
    what: &str,
    step: Step,
    left: &mut Option<RunningStep>,
    limit: Duration,
) -> Result<(), Error> {
    if let Some(first) = left {
        // Its result does not count: it may have stopped half-way.
        let _ = first.wait(what, limit)?;
    }
    let running = RunningStep::start(threads, what, step)?;
    let ended = running.wait(what, limit);
    *left = ended.is_err().then_some(running);
    ended?
}

impl RunningStep {
    fn start(threads: &StepThreads, what: &str, step: Step) -> Result<Self, Error> {
        let (to, ended) = channel();
        let (to_tid, tid) = channel();
        let is_left = Arc::new(AtomicBool::new(false));
        let of_thread = Arc::clone(&is_left);
        threads.start(Box::new(move || {
            LEFT.set(of_thread);
            let _ = to_tid.send(gettid().as_raw_nonzero().get().cast_unsigned());
            // After it was left behind nobody receives it.
            let _ = to.send(check_not_left_behind().and_then(|()| step()));
        }));
        let tid = tid.recv_timeout(HANGING).map_err(|_| {
            is_left.store(true, Ordering::Release);
            Error::unexpected("start a thread for", Path::new(what), "it does not start")
        })?;
        Ok(Self { tid, ended, is_left })
    }

    /// The result of the step; an error if it hangs for `limit`.
    fn wait(&self, what: &str, limit: Duration) -> Result<Result<(), Error>, Error> {
        const LOOK: Duration = Duration::from_millis(100);
        let (root, mut watch) = (Root::real(), HangWatch::default());
        loop {
            match self.ended.recv_timeout(LOOK) {
                Ok(result) => return Ok(result),
                Err(RecvTimeoutError::Disconnected) => {
                    let why = "its thread has failed";
                    return Ok(Err(Error::unexpected("finish", Path::new(what), why)));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            if watch.thread_hangs_for(&root, self.tid) >= limit {
                return Err(self.leave(&root, what));
            }
        }
    }

    fn leave(&self, root: &Root, what: &str) -> Error {
        self.is_left.store(true, Ordering::Release);
        shorten_waits();
        let hint = format!(
            "it hangs in the kernel ({}): see /proc/{}/task/{}/stack; this process ends when it does",
            describe_thread(root, self.tid),
            std::process::id(),
            self.tid
        );
        Error::unexpected("finish", Path::new(what), hint)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use assay_test_support::{SilentFs, host_lock, skip};

    use super::*;
    use crate::ledger::Ledger;
    use crate::ledger::crash_point::crash_point;

    /// A directory of the run lies below a server that does not answer any more.
    #[test]
    fn a_step_that_hangs_in_the_kernel_is_named_and_the_rest_is_restored() {
        let test = "a step that hangs in the kernel";
        let Some(_lock) = host_lock(test, &[]) else { return };
        let root = Root::real();
        let temp = tempfile::Builder::new().prefix("assay-test-").tempdir().unwrap();
        let [first, served] = ["first", "served"].map(|name| temp.path().join(name));
        fs::create_dir(&served).unwrap();
        let inner = served.join("inner");
        let mut ledger = Ledger::begin(&temp.path().join("state"), "run").unwrap();
        for path in [&first, &inner] {
            ledger.make_dir(&root, path).unwrap();
        }
        let Some(silent) = SilentFs::mount(&served) else {
            skip(test, "no FUSE");
            return;
        };
        let errors = ledger.restore(&root);
        let is_back = !first.exists();
        drop(silent);
        assert_eq!(errors.len(), 1, "{errors:?}");
        let error = errors[0].to_string();
        for part in ["served/inner", "hangs in the kernel", "waits in "] {
            assert!(error.contains(part), "no {part} in {error}");
        }
        assert!(is_back, "the other change is not restored");
        assert_eq!(ledger.restore(&root), [], "it answers again");
        assert!(ledger.finish().unwrap() && !inner.exists());
    }

    /// A file whose server does not answer when it is closed (FUSE_FLUSH).
    fn with_a_file_that_cannot_be_closed(
        test: &str,
        restore: impl FnOnce(&Path, &dyn Fn() -> fs::File) -> Box<dyn FnOnce() -> bool + Send>,
    ) {
        let Some(_lock) = host_lock(test, &[]) else { return };
        let temp = tempfile::Builder::new().prefix("assay-test-").tempdir().unwrap();
        let Some(silent) = SilentFs::mount_file(&temp.path().join("output")) else {
            skip(test, "no FUSE");
            return;
        };
        let restore = restore(temp.path(), &|| fs::File::open(&silent.at).unwrap());
        let (to, restored) = channel();
        let thread = std::thread::spawn(move || to.send(restore()));
        let restored = restored.recv_timeout(Duration::from_secs(60));
        drop(silent);
        let _ = thread.join();
        assert_eq!(restored, Ok(true));
    }

    #[test]
    fn an_open_file_that_cannot_be_closed_does_not_block_the_restore() {
        let test = "an open file that cannot be closed";
        with_a_file_that_cannot_be_closed(test, |folder, open| {
            let mut ledger = Ledger::begin(&folder.join("state"), "run").unwrap();
            let (file, made) = (open(), folder.join("made"));
            ledger.make_dir(&Root::real(), &made).unwrap();
            Box::new(move || {
                let restored = ledger.restore(&Root::real()).is_empty() && !made.exists();
                // Closed when the server is gone.
                std::mem::forget(file);
                restored
            })
        });
    }

    #[test]
    fn steps_run_although_no_table_of_descriptors_can_be_emptied() {
        let test = "descriptors that cannot be emptied";
        with_a_file_that_cannot_be_closed(test, |_, open| {
            let file = open();
            Box::new(move || {
                let threads = StepThreads::prepare();
                std::mem::forget(file);
                run(&threads, "x", Box::new(|| Ok(())), &mut None) == Ok(())
            })
        });
    }

    #[test]
    fn the_result_of_a_step_is_passed_on() {
        let threads = StepThreads::prepare();
        let run = |step: Step| run(&threads, "x", step, &mut None);
        assert_eq!(run(Box::new(|| Ok(()))), Ok(()));
        let error = Error::unexpected("read", Path::new("/x"), "no");
        let same = error.clone();
        assert_eq!(run(Box::new(move || Err(same))), Err(error));
        let failed = run(Box::new(|| panic!("as this test wants it"))).unwrap_err();
        assert!(failed.to_string().contains("its thread has failed"), "{failed}");
    }

    #[test]
    fn a_step_left_behind_changes_nothing_more_and_no_other_begins_before_it_ends() {
        const SHORT: Duration = Duration::from_millis(300);
        let (threads, mut left) = (StepThreads::prepare(), None);
        let mut run = |step: Step| run_within(&threads, "x", step, &mut left, SHORT);
        let (server, answer) = channel::<()>();
        let [late, second] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
        let change = |done: &Arc<AtomicBool>| {
            let done = Arc::clone(done);
            move || {
                crash_point()?;
                done.store(true, Ordering::Release);
                Ok(())
            }
        };
        let change_late = change(&late);
        let hanging = run(Box::new(move || {
            let _ = answer.recv();
            change_late()
        }));
        assert!(hanging.unwrap_err().to_string().contains("hangs in the kernel"));
        assert!(run(Box::new(change(&second))).is_err());
        assert!(!second.load(Ordering::Acquire), "two threads restore the same change");
        drop(server);
        assert_eq!(run(Box::new(change(&second))), Ok(()));
        assert!(second.load(Ordering::Acquire) && !late.load(Ordering::Acquire));
    }
}
