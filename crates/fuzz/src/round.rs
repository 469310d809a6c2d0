//! One target, again and again.

use std::collections::HashSet;
use std::io::{Seek, Write};
use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::corpus;
use crate::mutate::mutated;
use crate::random::Random;
use crate::target::Target;

/// Inputs that are changed further at the most.
const POOL: usize = 4096;

thread_local! {
    /// Where the last panic was.
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// When a round ends.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// After this time.
    pub time: Duration,
    /// After so many executions.
    pub executions: u64,
}

/// An input that made a reader panic.
#[derive(Debug, Clone)]
pub struct Found {
    /// What was read.
    pub input: Vec<u8>,
    /// What the panic said.
    pub why: String,
}

/// What came of a round.
#[derive(Debug, Default)]
pub struct Round {
    /// Inputs that were read.
    pub executions: u64,
    /// Different answers of the reader.
    pub answers: usize,
    /// Inputs that made it panic, one for each place.
    pub panics: Vec<Found>,
    /// How long the slowest input took.
    pub slowest: Duration,
    /// That input.
    pub slowest_input: Vec<u8>,
}

impl Round {
    /// Runs a target. Each input is written to `before`, where there is one, before it is read, for
    /// what no panic is: an abort, a stack that overflows, memory that ends. `count` tells others
    /// that it goes on.
    pub fn run(
        target: &Target,
        seed: u64,
        limits: Limits,
        mut before: Option<&mut std::fs::File>,
        count: &Arc<AtomicU64>,
    ) -> Self {
        let mut random = Random::new(seed);
        let mut pool = corpus::load(target.corpus, target.ending);
        assert!(!pool.is_empty(), "{} has no corpus", target.name);
        let (mut known, mut places) = (HashSet::new(), HashSet::new());
        let mut round = Self::default();
        let mut reader = (target.reader)();
        let told = panic::take_hook();
        panic::set_hook(Box::new(|panic| {
            let place = panic.location().map(ToString::to_string).unwrap_or_default();
            PLACE.with_borrow_mut(|last| *last = place);
        }));
        let begun = Instant::now();
        let first: Vec<Vec<u8>> = pool.clone();
        let mut first = first.into_iter();
        while round.executions < limits.executions && begun.elapsed() < limits.time {
            let input = first.next().unwrap_or_else(|| mutated(&pool, target.words, &mut random));
            if let Some(file) = &mut before {
                keep(file, &input);
            }
            let start = Instant::now();
            let read = catch_unwind(AssertUnwindSafe(|| reader(&input)));
            let took = start.elapsed();
            round.executions += 1;
            count.store(round.executions, Ordering::Relaxed);
            if took > round.slowest {
                (round.slowest, round.slowest_input) = (took, input.clone());
            }
            match read {
                Ok(answer) if known.insert(answer) && pool.len() < POOL => pool.push(input),
                Ok(_) => {}
                Err(panic) => {
                    let place = PLACE.take();
                    if places.insert(place.clone()) {
                        let why = format!("{} at {place}", said(&*panic));
                        round.panics.push(Found { input, why });
                    }
                }
            }
        }
        panic::set_hook(told);
        round.answers = known.len();
        round
    }
}

/// What cannot be kept only makes an abort harder to find.
fn keep(file: &mut std::fs::File, input: &[u8]) {
    let _ = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(input));
}

fn said(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
}

/// A text without what differs from one input to the next.
pub(crate) fn without_numbers(text: &str) -> String {
    let kept = text.chars().take(160).filter(|sign| !sign.is_ascii_digit());
    kept.collect()
}
