//! The aggressors: threads that go through memory of their own, line by line, and compute a number
//! of steps after each line, so that they use as much of the memory as they are told to.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use assay_kernel::pointer_ring::LINE;
use clap::ValueEnum;

use crate::vectors::widest;

/// Words of a line.
const WORDS: usize = LINE / size_of::<u64>();
/// Lines between two looks at what is wanted: 4 KiB.
const BLOCK: usize = 64;
/// Aggressors rest.
const REST: u64 = u64::MAX;
const LOOK: Duration = Duration::from_millis(1);

/// What aggressors do with a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Traffic {
    /// read it
    Read,
    /// read it, and write it to another place
    Copy,
}

impl Traffic {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Copy => "copy",
        }
    }
}

/// A counter in a line of its own, and in that of no neighbour that is fetched with it.
#[repr(align(128))]
struct Counter(AtomicU64);

/// What all aggressors are told, and what each has done.
pub(super) struct Pressure {
    delay: AtomicU64,
    stop: AtomicBool,
    bytes: Vec<Counter>,
}

impl Pressure {
    /// At rest.
    pub(super) fn of(aggressors: usize) -> Self {
        let bytes = (0..aggressors).map(|_| Counter(AtomicU64::new(0))).collect();
        Self { delay: AtomicU64::new(REST), stop: AtomicBool::new(false), bytes }
    }

    /// Steps after each line from now on; `None` for rest.
    pub(super) fn set(&self, delay: Option<u64>) {
        self.delay.store(delay.unwrap_or(REST), Ordering::Release);
    }

    /// Ends all aggressors.
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Release);
    }

    /// Bytes that all have read and written until now.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.iter().map(|counter| counter.0.load(Ordering::Relaxed)).sum()
    }

    /// Works on `memory`, which [`fill`] has filled, until it is stopped. Returns whether all that
    /// was read and copied is what was there.
    pub(super) fn press(&self, id: usize, traffic: Traffic, memory: &mut [u64]) -> bool {
        let mut course = Course::of(traffic, memory);
        while !self.stop.load(Ordering::Acquire) {
            let delay = self.delay.load(Ordering::Acquire);
            if delay == REST {
                std::thread::sleep(LOOK);
                continue;
            }
            let bytes = course.go_on(delay);
            self.bytes[id].0.fetch_add(bytes, Ordering::Relaxed);
        }
        course.is_right()
    }
}

/// Fills an aggressor's memory; with a copy, the second half is where to.
pub(super) fn fill(traffic: Traffic, memory: &mut [u64]) {
    let half = memory.len() / 2;
    let (from, into) = match traffic {
        Traffic::Read => (memory, &mut [][..]),
        Traffic::Copy => memory.split_at_mut(half),
    };
    into.fill(0);
    for (word, at) in from.iter_mut().zip(1_u64..) {
        *word = at.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

/// One aggressor on its way through its memory, lap after lap.
struct Course<'m> {
    from: &'m [u64],
    into: &'m mut [u64],
    /// The sum of all words of `from`.
    all: u64,
    /// Words that this lap has behind it, and their sum.
    at: usize,
    sum: u64,
    /// Words that were copied at least once.
    copied: usize,
    wrong_laps: u64,
}

impl<'m> Course<'m> {
    fn of(traffic: Traffic, memory: &'m mut [u64]) -> Self {
        let (from, into) = match traffic {
            Traffic::Read => (memory, &mut [][..]),
            Traffic::Copy => {
                let half = memory.len() / 2;
                memory.split_at_mut(half)
            }
        };
        let from: &[u64] = from;
        let all = from.iter().fold(0, |sum: u64, word| sum.wrapping_add(*word));
        Self { from, into, all, at: 0, sum: 0, copied: 0, wrong_laps: 0 }
    }

    /// One block; bytes that were read and written.
    fn go_on(&mut self, delay: u64) -> u64 {
        let end = (self.at + BLOCK * WORDS).min(self.from.len());
        let from = &self.from[self.at..end];
        let mut bytes = size_of_val(from) as u64;
        if self.into.is_empty() {
            self.sum = self.sum.wrapping_add(read(from, delay));
        } else {
            copy(from, &mut self.into[self.at..end], delay);
            self.copied = self.copied.max(end);
            bytes *= 2;
        }
        self.at = end;
        if self.at == self.from.len() {
            let is_right = !self.into.is_empty() || self.sum == self.all;
            self.wrong_laps += u64::from(!is_right);
            (self.at, self.sum) = (0, 0);
        }
        bytes
    }

    fn is_right(&self) -> bool {
        let copied = self.copied.min(self.into.len());
        self.wrong_laps == 0 && self.from[..copied] == self.into[..copied]
    }
}

/// The sum of the words, with `delay` steps after each line.
fn read(from: &[u64], delay: u64) -> u64 {
    let mut sums = [0_u64; WORDS];
    let (lines, tail) = from.as_chunks::<WORDS>();
    let mut add = |line: &[u64; WORDS]| {
        for (sum, word) in sums.iter_mut().zip(line) {
            *sum = sum.wrapping_add(*word);
        }
    };
    if delay == 0 {
        widest(
            #[inline(always)]
            || lines.iter().for_each(add),
        );
    } else {
        let mut state = 1;
        for line in lines {
            add(line);
            state = steps(state, delay);
        }
        black_box(state);
    }
    sums.iter().chain(tail).fold(0, |sum: u64, word| sum.wrapping_add(*word))
}

/// Copies line by line, with `delay` steps after each.
fn copy(from: &[u64], into: &mut [u64], delay: u64) {
    if delay == 0 {
        into.copy_from_slice(from);
        return;
    }
    let mut state = 1;
    for (from, into) in from.chunks(WORDS).zip(into.chunks_mut(WORDS)) {
        into.copy_from_slice(from);
        state = steps(state, delay);
    }
    black_box(state);
}

/// One multiplication and one addition, each waiting for the step before: some four cycles.
#[inline(always)]
fn steps(mut state: u64, count: u64) -> u64 {
    for _ in 0..count {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn laps_are_counted_in_bytes_and_read_what_was_written() {
        for traffic in [Traffic::Read, Traffic::Copy] {
            for delay in [0, 3] {
                let mut memory = vec![7; 3000];
                fill(traffic, &mut memory);
                let mut course = Course::of(traffic, &mut memory);
                let blocks = course.from.len().div_ceil(BLOCK * WORDS);
                let bytes: u64 = (0..blocks).map(|_| course.go_on(delay)).sum();
                assert_eq!(bytes, 3000 * 8, "{traffic:?}");
                assert_eq!(course.at, 0, "a lap is over");
                assert!(course.is_right());
            }
        }
    }

    #[test]
    fn a_word_that_changes_is_found() {
        let mut memory = vec![0; 1000];
        fill(Traffic::Read, &mut memory);
        let mut course = Course::of(Traffic::Read, &mut memory);
        course.all ^= 1;
        assert_eq!(course.go_on(0) + course.go_on(0), 8000);
        assert!(!course.is_right());
        fill(Traffic::Copy, &mut memory);
        let mut course = Course::of(Traffic::Copy, &mut memory);
        course.go_on(5);
        course.into[100] ^= 1;
        assert!(!course.is_right());
    }

    #[test]
    fn aggressors_rest_until_they_are_told_and_end_when_they_are_told() {
        let pressure = Pressure::of(1);
        let mut memory = vec![0; 4096];
        fill(Traffic::Read, &mut memory);
        std::thread::scope(|scope| {
            let running = scope.spawn(|| pressure.press(0, Traffic::Read, &mut memory));
            std::thread::sleep(Duration::from_millis(5));
            assert_eq!(pressure.bytes(), 0);
            pressure.set(Some(0));
            while pressure.bytes() < 1 << 20 {
                std::thread::yield_now();
            }
            pressure.stop();
            assert!(running.join().unwrap());
        });
    }
}
