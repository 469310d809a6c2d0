//! What the sampling thread is at. Whoever waits for it waits as long as it gets on, and no longer, and can
//! say for what.

use std::fmt;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A step of the thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// It takes its seat.
    Sitting,
    /// It reads this source.
    Reading(&'static str),
    /// It writes rows, or ends a file.
    Writing,
    /// It waits for the next round, or for its end.
    Resting,
}

impl Step {
    /// How long it may take. A kernel file is read in milliseconds; a disk that workloads keep busy takes
    /// its time.
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
            Self::Sitting => f.write_str("the way to the sampler's CPU and group"),
            Self::Reading(source) => write!(f, "source `{source}`"),
            Self::Writing => f.write_str("the file of samples"),
            Self::Resting => f.write_str("the sampling thread"),
        }
    }
}

/// The step, and since when.
#[derive(Debug)]
pub(crate) struct Activity(Mutex<(Step, Instant)>);

/// Why nothing came of a wait.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Waited {
    /// The thread has ended.
    Ended,
    /// It does not get on with this step.
    Hangs(Step),
}

impl Activity {
    pub(crate) fn beginning() -> Self {
        Self(Mutex::new((Step::Sitting, Instant::now())))
    }

    pub(crate) fn set(&self, step: Step) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = (step, Instant::now());
    }

    fn get(&self) -> (Step, Instant) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for what the thread will say.
    pub(crate) fn wait<T>(&self, said: &Receiver<T>) -> Result<T, Waited> {
        let asked = Instant::now();
        loop {
            let (step, since) = self.get();
            let left = step.limit().saturating_sub(since.max(asked).elapsed());
            match said.recv_timeout(left) {
                Ok(said) => return Ok(said),
                Err(RecvTimeoutError::Disconnected) => return Err(Waited::Ended),
                Err(RecvTimeoutError::Timeout) if self.get() == (step, since) => {
                    return Err(Waited::Hangs(step));
                }
                // It has got on meanwhile.
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
    fn a_thread_that_gets_on_is_waited_for_and_one_that_does_not_is_named() {
        let doing = Activity::beginning();
        let (to, said) = channel();
        to.send(7).unwrap();
        assert_eq!(doing.wait(&said), Ok(7));
        drop(to);
        assert_eq!(doing.wait(&said), Err(Waited::Ended));
        let (_kept, never) = channel::<()>();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_secs(1));
                doing.set(Step::Reading("pages"));
            });
            let begun = Instant::now();
            assert_eq!(doing.wait(&never), Err(Waited::Hangs(Step::Reading("pages"))));
            let whole = begun.elapsed();
            assert!(whole >= Duration::from_secs(11), "it had got on: {whole:?}");
        });
    }
}
