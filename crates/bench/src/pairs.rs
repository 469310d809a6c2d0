//! Pairs of CPUs, on which parts of a campaign are made beside each other.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::scope;
use std::time::{Duration, Instant};

use assay_facts::HostFacts;
use assay_kernel::signal;

use crate::failure::Failure;

/// Two CPUs.
pub(crate) type Pair = [u16; 2];

/// The pairs of this host; where there are several, one is left to this program and the rest of the host.
pub(crate) fn pairs(facts: &HostFacts) -> Result<Vec<Pair>, Failure> {
    let allowed: Vec<u16> = facts.cpus.allowed.iter().collect();
    let mut pairs = allowed.as_chunks::<2>().0.to_vec();
    match pairs.len() {
        0 => return Err(Failure::Failed("it needs two CPUs".to_owned())),
        1 => {}
        count => pairs.truncate(count - 1),
    }
    Ok(pairs)
}

/// What is to be done, in this order.
pub(crate) struct Jobs<J> {
    jobs: Vec<J>,
    next: AtomicUsize,
    began: Instant,
    at_most: Option<Duration>,
}

impl<J: Sync> Jobs<J> {
    /// None is begun that would end later than `at_most` from now.
    pub(crate) fn new(jobs: Vec<J>, at_most: Option<Duration>) -> Self {
        Self { jobs, next: AtomicUsize::new(0), began: Instant::now(), at_most }
    }

    /// Does them on all pairs at once, each of which takes the next as soon as it is free. `length` is how long one
    /// takes.
    pub(crate) fn on_all(
        &self,
        pairs: &[Pair],
        length: impl Fn(&J) -> Duration + Sync,
        each: impl Fn(Pair, &J) -> Result<(), Failure> + Sync,
    ) -> Result<(), Failure> {
        let through = |pair: Pair| {
            while let Some(job) = self.next(&length) {
                each(pair, job)?;
            }
            Ok(())
        };
        scope(|scope| {
            let started: Vec<_> = pairs.iter().map(|pair| scope.spawn(|| through(*pair))).collect();
            let ended = || Failure::Failed("a thread of the campaign has ended".to_owned());
            // All are waited for.
            let results: Vec<_> =
                started.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
            results.into_iter().try_for_each(|result| result.map_err(|_| ended())?)
        })
    }

    fn next(&self, length: impl Fn(&J) -> Duration) -> Option<&J> {
        let job = self.jobs.get(self.next.fetch_add(1, Ordering::Relaxed))?;
        let is_late = |at_most| self.began.elapsed() + length(job) > at_most;
        let ends = signal::interrupted_by().is_some() || self.at_most.is_some_and(is_late);
        (!ends).then_some(job)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn each_job_is_done_once_and_an_error_is_passed_on() {
        let done = Mutex::new(Vec::new());
        let jobs = Jobs::new((0..10).collect(), None);
        let record = |_: Pair, job: &u32| {
            done.lock().unwrap().push(*job);
            if *job == 9 { Err(Failure::Failed("nine".to_owned())) } else { Ok(()) }
        };
        let ended = jobs.on_all(&[[0, 1], [2, 3]], |_| Duration::ZERO, record);
        assert!(ended.unwrap_err().to_string().contains("nine"));
        let mut done = done.into_inner().unwrap();
        done.sort_unstable();
        assert_eq!(done, (0..10).collect::<Vec<_>>());
    }

    #[test]
    fn nothing_is_begun_that_would_end_too_late() {
        let count = AtomicUsize::new(0);
        let jobs = Jobs::new(vec![1, 1000], Some(Duration::from_secs(500)));
        let each = |_: Pair, _: &u64| {
            count.fetch_add(1, Ordering::Relaxed);
            Ok(())
        };
        jobs.on_all(&[[0, 1]], |job| Duration::from_secs(*job), each).unwrap();
        assert_eq!(count.into_inner(), 1);
    }
}
