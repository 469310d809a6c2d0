//! A fuzz target: name, corpus, and reader.

use std::hash::{DefaultHasher, Hash, Hasher};

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
