//! A fuzz target: name, corpus, and reader.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use crate::round::{Limits, Round};

/// One reader. Its answer is a number that is equal for inputs with the same outcome.
pub struct Target {
    /// Its name, `--only NAME`.
    pub name: &'static str,
    /// Its corpus: files and folders of this repository.
    pub corpus: &'static [&'static str],
    /// Ending of the corpus files' names.
    pub ending: &'static str,
    /// Tokens of its format.
    pub words: &'static [&'static str],
    /// Creates the reader.
    pub reader: fn() -> Reader,
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

/// Reads one input.
pub type Reader = Box<dyn FnMut(&[u8]) -> u64>;

/// Hash of an outcome, ignoring numbers in it.
#[must_use]
pub fn answer(outcome: &dyn std::fmt::Display) -> u64 {
    let mut hasher = DefaultHasher::new();
    without_numbers(&outcome.to_string()).hash(&mut hasher);
    hasher.finish()
}

/// A text without numbers, which differ from one input to the next.
fn without_numbers(text: &str) -> String {
    let kept = text.chars().take(160).filter(|sign| !sign.is_ascii_digit());
    kept.collect()
}
