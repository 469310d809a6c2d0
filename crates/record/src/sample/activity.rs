//! The current step of the sampling thread. A waiting thread waits as long as the sampler makes progress, and
//! can name the step at which it hangs.

use std::fmt;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A step of the sampling thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// It sets its CPU affinity and group.
    SettingAffinity,
    /// It reads this source.
    Reading(&'static str),
    /// It writes rows, or ends a file.
    Writing,
    /// It waits for the next round or for its end.
    Idle,
}

impl Step {
    /// Time limit of the step. A kernel file is read in milliseconds; a disk that workloads keep busy takes
    /// longer.
    pub(crate) const fn limit(self) -> Duration {
        match self {
            Self::Writing => Duration::from_secs(300),
            _ => Duration::from_secs(10),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SettingAffinity => f.write_str("setting the sampler's CPU and group"),
            Self::Reading(source) => write!(f, "source `{source}`"),
            Self::Writing => f.write_str("the file of samples"),
            Self::Idle => f.write_str("the sampling thread"),
        }
    }
}

/// The current step and its start time.
#[derive(Debug)]
pub(crate) struct Activity(Mutex<(Step, Instant)>);

/// Why a wait failed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum WaitError {
    /// The thread has ended.
    Ended,
    /// It makes no progress in this step.
    Hangs(Step),
}

impl Activity {
    pub(crate) fn new() -> Self {
        Self(Mutex::new((Step::SettingAffinity, Instant::now())))
    }

    pub(crate) fn set(&self, step: Step) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = (step, Instant::now());
    }

    fn get(&self) -> (Step, Instant) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a message from the thread.
    pub(crate) fn wait<T>(&self, messages: &Receiver<T>) -> Result<T, WaitError> {
        let began = Instant::now();
        loop {
            let (step, since) = self.get();
            let left = step.limit().saturating_sub(since.max(began).elapsed());
            match messages.recv_timeout(left) {
                Ok(message) => return Ok(message),
                Err(RecvTimeoutError::Disconnected) => return Err(WaitError::Ended),
                Err(RecvTimeoutError::Timeout) if self.get() == (step, since) => {
                    return Err(WaitError::Hangs(step));
                }
                // It has moved on to another step meanwhile.
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn a_wait_lasts_while_the_thread_makes_progress_and_names_the_step_that_hangs() {
        let doing = Activity::new();
        let (to, messages) = channel();
        to.send(7).unwrap();
        assert_eq!(doing.wait(&messages), Ok(7));
        drop(to);
        assert_eq!(doing.wait(&messages), Err(WaitError::Ended));
        let (_kept, never) = channel::<()>();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_secs(1));
                doing.set(Step::Reading("pages"));
            });
            let begun = Instant::now();
            assert_eq!(doing.wait(&never), Err(WaitError::Hangs(Step::Reading("pages"))));
            let whole = begun.elapsed();
            assert!(whole >= Duration::from_secs(11), "it made progress: {whole:?}");
        });
    }
}
