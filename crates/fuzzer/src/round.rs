//! Runs one target repeatedly.

use std::cell::RefCell;
use std::collections::HashSet;
use std::io::{Seek, Write};
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::corpus;
use crate::mutate::mutated;
use crate::random::Random;
use crate::target::Target;

/// Maximum number of inputs that are mutated further.
const POOL: usize = 4096;

thread_local! {
    /// Location of the last panic.
    static LOCATION: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Limits of a round.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Maximum time.
    pub time: Duration,
    /// Maximum number of executions.
    pub executions: u64,
}

/// An input on which a reader panicked.
#[derive(Debug, Clone)]
pub struct Panic {
    /// The input.
    pub input: Vec<u8>,
    /// The panic's message.
    pub why: String,
}

/// Results of a round.
#[derive(Debug, Default)]
pub struct Round {
    /// Number of executed inputs.
    pub executions: u64,
    /// Number of different answers of the reader.
    pub answers: usize,
    /// Panics, one for each location.
    pub panics: Vec<Panic>,
    /// Time of the slowest input.
    pub slowest: Duration,
    /// The slowest input.
    pub slowest_input: Vec<u8>,
}

impl Round {
    /// Runs a target. Each input is written to `before`, if given, before it is read, to preserve inputs that
    /// end the process without a panic: an abort, a stack overflow, exhausted memory. `count` shows progress
    /// to other threads.
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
        let (mut answers, mut locations) = (HashSet::new(), HashSet::new());
        let mut round = Self::default();
        let mut reader = (target.reader)();
        let previous_hook = panic::take_hook();
        panic::set_hook(Box::new(|panic| {
            let location = panic.location().map(ToString::to_string).unwrap_or_default();
            LOCATION.with_borrow_mut(|last| *last = location);
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
                Ok(answer) if answers.insert(answer) && pool.len() < POOL => pool.push(input),
                Ok(_) => {}
                Err(panic) => {
                    let location = LOCATION.take();
                    if locations.insert(location.clone()) {
                        let why = format!("{} at {location}", message(&*panic));
                        round.panics.push(Panic { input, why });
                    }
                }
            }
        }
        panic::set_hook(previous_hook);
        round.answers = answers.len();
        round
    }
}

/// Errors are ignored: they only make an abort harder to reproduce.
fn keep(file: &mut std::fs::File, input: &[u8]) {
    let _ = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(input));
}

fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
}

/// This many inputs of a seed, or as many as fit into this time on a busy host.
const LIMITS_OF_TESTS: Limits = Limits { time: Duration::from_secs(2), executions: 4_000 };

impl Target {
    /// For tests: runs some thousand inputs, the same each time. The error names the panic, and its input.
    pub fn run_inputs_of_tests(&self) -> Result<(), String> {
        let round = Round::run(self, 1, LIMITS_OF_TESTS, None, &Arc::new(AtomicU64::new(0)));
        if round.executions == 0 {
            return Err(format!("{} read nothing", self.name));
        }
        round.panics.first().map_or(Ok(()), |panic| {
            let input = String::from_utf8_lossy(&panic.input);
            Err(format!("{} panics: {}\ninput: {input:?}", self.name, panic.why))
        })
    }
}
