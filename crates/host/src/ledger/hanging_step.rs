//! Runs a step of a restore on a thread of its own. A step that hangs in the kernel (an unmount or a removal, where
//! the disk or the server below does not answer) is named and left behind, and the rest is restored.

use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use assay_kernel::blocked::{HangWatch, describe_thread};
use assay_kernel::bounded_query::close_all_descriptors;
use assay_kernel::{Error, Root};
use rustix::thread::gettid;

use crate::poll_until::{is_stuck, shorten_waits};

/// A step, which owns everything that it needs.
pub(super) type Step = Box<dyn FnOnce() -> Result<(), Error> + Send>;

/// A step that was not scheduled for this long hangs. Writing back gigabytes wakes its thread again and again.
const HANGING: Duration = Duration::from_secs(15);
/// The same once something has hung.
const AGAIN: Duration = Duration::from_secs(5);

/// The result of the step, or an error that says where it hangs. `what` describes the change.
pub(super) fn run(what: &str, step: Step) -> Result<(), Error> {
    run_within(what, step, if is_stuck() { AGAIN } else { HANGING })
}

fn run_within(what: &str, step: Step, limit: Duration) -> Result<(), Error> {
    const LOOK: Duration = Duration::from_millis(100);
    let (to, ended) = channel();
    let (to_tid, tid) = channel();
    let begun = std::thread::Builder::new().spawn(move || {
        // A thread that hangs outlives this process: it must not keep the lock of the ledger.
        close_all_descriptors();
        let _ = to_tid.send(gettid().as_raw_nonzero().get().cast_unsigned());
        // After it was left behind nobody receives it.
        let _ = to.send(step());
    });
    begun.map_err(|cause| Error::new("start a thread for", Path::new(what), &cause))?;
    let failed = || Error::unexpected("finish", Path::new(what), "its thread has failed");
    let tid = tid.recv().map_err(|_| failed())?;
    let (root, mut watch) = (Root::real(), HangWatch::default());
    loop {
        match ended.recv_timeout(LOOK) {
            Ok(result) => return result,
            Err(RecvTimeoutError::Disconnected) => return Err(failed()),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if watch.thread_hangs_for(&root, tid) >= limit {
            shorten_waits();
            let hint = format!(
                "it hangs in the kernel ({}): see /proc/{}/task/{tid}/stack; this process ends when \
                 it does",
                describe_thread(&root, tid),
                std::process::id()
            );
            return Err(Error::unexpected("finish", Path::new(what), hint));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use assay_test_support::{SilentFs, busy_host_lock, skip};

    use super::*;
    use crate::ledger::Ledger;

    /// A directory of the run lies below a server that does not answer any more.
    #[test]
    fn a_step_that_hangs_in_the_kernel_is_named_and_the_rest_is_restored() {
        let test = "a step that hangs in the kernel";
        let Some(_lock) = busy_host_lock(test, &[]) else { return };
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

    #[test]
    fn the_result_of_a_step_is_passed_on() {
        assert_eq!(run("x", Box::new(|| Ok(()))), Ok(()));
        let error = Error::unexpected("read", Path::new("/x"), "no");
        let same = error.clone();
        assert_eq!(run("x", Box::new(move || Err(same))), Err(error));
        let failed = run("x", Box::new(|| panic!("as this test wants it"))).unwrap_err();
        assert!(failed.to_string().contains("its thread has failed"), "{failed}");
    }
}
