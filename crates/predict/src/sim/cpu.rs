//! CPUs shared evenly by tasks: each task has a whole CPU while there are enough.
//!
//! Processor sharing in virtual time: a task ends when the virtual clock, which runs at the rate of every
//! task, has advanced by its work. A change of the rate therefore costs nothing.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// The work of one task.
#[derive(Debug, Clone, Copy)]
struct Work {
    /// Virtual time at which it ends.
    end: f64,
    /// Tasks that end at the same time end in the order of their numbers.
    task: u32,
}

impl PartialEq for Work {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Work {}

impl PartialOrd for Work {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Work {
    fn cmp(&self, other: &Self) -> Ordering {
        other.end.total_cmp(&self.end).then(other.task.cmp(&self.task))
    }
}

/// The CPUs.
#[derive(Debug)]
pub(super) struct Cpu {
    count: f64,
    clock: f64,
    heap: BinaryHeap<Work>,
}

impl Cpu {
    pub(super) fn new(count: f64) -> Self {
        Self { count: count.max(0.01), clock: 0.0, heap: BinaryHeap::new() }
    }

    /// The fraction of a CPU that each task gets.
    fn rate(&self) -> f64 {
        (self.count / self.heap.len().max(1) as f64).min(1.0)
    }

    /// Begins a task of this many CPU seconds.
    pub(super) fn begin(&mut self, task: u32, seconds: f64) {
        self.heap.push(Work { end: self.clock + seconds.max(0.0), task });
    }

    /// Time at which the next task ends if nothing else happens; infinity if none runs.
    pub(super) fn next(&self, now: f64) -> f64 {
        let remaining = |work: &Work| (work.end - self.clock).max(0.0) / self.rate();
        self.heap.peek().map_or(f64::INFINITY, |work| now + remaining(work))
    }

    /// Advances time; returns the number of CPUs that were busy.
    pub(super) fn pass(&mut self, from: f64, to: f64) -> f64 {
        self.clock += (to - from) * self.rate();
        (self.heap.len() as f64).min(self.count)
    }

    /// Removes the task that is due.
    pub(super) fn finish(&mut self) -> Option<u32> {
        self.heap.pop().map(|work| work.task)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_tasks_on_two_cpus_have_two_thirds_each() {
        let mut cpu = Cpu::new(2.0);
        (0..3).for_each(|task| cpu.begin(task, 1.0));
        assert!((cpu.next(0.0) - 1.5).abs() < 1e-12);
        assert_eq!(cpu.pass(0.0, 1.5), 2.0);
        assert_eq!(cpu.finish(), Some(0), "the first of those that end together");
        assert!((cpu.next(1.5) - 1.5).abs() < 1e-9);
    }

    #[test]
    fn a_single_task_uses_at_most_one_cpu() {
        let mut cpu = Cpu::new(2.0);
        cpu.begin(0, 1.0);
        assert_eq!(cpu.next(5.0), 6.0);
        assert_eq!(cpu.pass(5.0, 6.0), 1.0);
    }
}
