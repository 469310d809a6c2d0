//! The aggressors: threads that stream through memory line by line and compute a number of steps
//! after each line, which controls how much memory bandwidth they use.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use assay_load_memory::pointer_ring::LINE;
use clap::ValueEnum;

use crate::vectors::widest;

/// Words per cache line.
const WORDS: usize = LINE / size_of::<u64>();
/// Lines between two checks of the setting: 4 KiB.
const BLOCK: usize = 64;
/// Delay value of idle aggressors.
const IDLE: u64 = u64::MAX;
const POLL_INTERVAL: Duration = Duration::from_millis(1);

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

/// A counter on a cache line of its own, also away from lines that are prefetched as neighbours.
#[repr(align(128))]
struct Counter(AtomicU64);

/// The setting of all aggressors, and the bytes that each has transferred.
pub(super) struct Pressure {
    delay: AtomicU64,
    stop: AtomicBool,
    bytes: Vec<Counter>,
}

impl Pressure {
    /// Aggressors start idle.
    pub(super) fn new(aggressors: usize) -> Self {
        let bytes = (0..aggressors).map(|_| Counter(AtomicU64::new(0))).collect();
        Self { delay: AtomicU64::new(IDLE), stop: AtomicBool::new(false), bytes }
    }

    /// Sets the steps after each line; `None` for idle.
    pub(super) fn set(&self, delay: Option<u64>) {
        self.delay.store(delay.unwrap_or(IDLE), Ordering::Release);
    }

    /// Ends all aggressors.
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Release);
    }

    /// Total bytes read and written so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.iter().map(|counter| counter.0.load(Ordering::Relaxed)).sum()
    }

    /// Works on `memory`, filled by [`fill`], until stopped. Returns whether all data read and
    /// copied were right.
    pub(super) fn press(&self, id: usize, traffic: Traffic, memory: &mut [u64]) -> bool {
        let mut aggressor = Aggressor::new(traffic, memory);
        while !self.stop.load(Ordering::Acquire) {
            let delay = self.delay.load(Ordering::Acquire);
            if delay == IDLE {
                std::thread::sleep(POLL_INTERVAL);
                continue;
            }
            let bytes = aggressor.next_block(delay);
            self.bytes[id].0.fetch_add(bytes, Ordering::Relaxed);
        }
        aggressor.is_right()
    }
}

/// Fills an aggressor's memory; for copies, the second half is the destination.
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

/// The position of one aggressor in its memory, lap after lap.
struct Aggressor<'m> {
    from: &'m [u64],
    into: &'m mut [u64],
    /// The sum of all words of `from`.
    all: u64,
    /// Position in this lap, and the sum of the words so far.
    at: usize,
    sum: u64,
    /// Words that were copied at least once.
    copied: usize,
    wrong_laps: u64,
}

impl<'m> Aggressor<'m> {
    fn new(traffic: Traffic, memory: &'m mut [u64]) -> Self {
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

    /// Processes one block; returns the bytes read and written.
    fn next_block(&mut self, delay: u64) -> u64 {
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

/// Dependent steps of one multiplication and one addition each: some four cycles.
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
    fn laps_are_counted_in_bytes_and_verified() {
        for traffic in [Traffic::Read, Traffic::Copy] {
            for delay in [0, 3] {
                let mut memory = vec![7; 3000];
                fill(traffic, &mut memory);
                let mut aggressor = Aggressor::new(traffic, &mut memory);
                let blocks = aggressor.from.len().div_ceil(BLOCK * WORDS);
                let bytes: u64 = (0..blocks).map(|_| aggressor.next_block(delay)).sum();
                assert_eq!(bytes, 3000 * 8, "{traffic:?}");
                assert_eq!(aggressor.at, 0, "a lap is over");
                assert!(aggressor.is_right());
            }
        }
    }

    #[test]
    fn a_changed_word_is_detected() {
        let mut memory = vec![0; 1000];
        fill(Traffic::Read, &mut memory);
        let mut aggressor = Aggressor::new(Traffic::Read, &mut memory);
        aggressor.all ^= 1;
        assert_eq!(aggressor.next_block(0) + aggressor.next_block(0), 8000);
        assert!(!aggressor.is_right());
        fill(Traffic::Copy, &mut memory);
        let mut aggressor = Aggressor::new(Traffic::Copy, &mut memory);
        aggressor.next_block(5);
        aggressor.into[100] ^= 1;
        assert!(!aggressor.is_right());
    }

    #[test]
    fn aggressors_are_idle_until_set_and_end_when_stopped() {
        let pressure = Pressure::new(1);
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
