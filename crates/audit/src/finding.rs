//! What a rule says about a group.

use assay_host::facts::owner::Owner;
use serde::Serialize;

/// How much it matters, most first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// The setting has no effect: proven from files alone.
    NoEffect,
    /// It has less effect than its number says.
    Weakened,
    /// The number does not mean what it seems to.
    MeansElse,
    /// It may do harm.
    Risk,
    /// It has no effect at present, and will have one when the load changes.
    NotNow,
}

impl Class {
    /// Every class with its word on the command line and its heading.
    pub const ALL: [(&str, Self, &str); 5] = [
        ("no-effect", Self::NoEffect, "NO EFFECT"),
        ("weakened", Self::Weakened, "WEAKENED"),
        ("means-else", Self::MeansElse, "MEANS SOMETHING ELSE"),
        ("risk", Self::Risk, "RISK"),
        ("not-now", Self::NotNow, "NOT NOW"),
    ];

    /// Its heading on the page.
    #[must_use]
    pub fn heading(self) -> &'static str {
        Self::ALL.iter().find(|(_, class, _)| *class == self).map_or("", |(.., heading)| heading)
    }
}

/// A file and what it said, on which a sentence rests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reading {
    /// Its path on the host.
    pub file: String,
    /// Its text.
    pub value: String,
}

impl Reading {
    /// A reading of a file outside of any group.
    pub(crate) fn new(file: impl Into<String>, value: impl Into<String>) -> Self {
        Self { file: file.into(), value: value.into() }
    }

    /// The same with at most so much of its text as any setting has. Many findings may repeat one of a made-up snapshot.
    pub(crate) fn cut(mut self) -> Self {
        const MOST: usize = 4 << 10;
        if self.value.len() > MOST {
            let end = (0..=MOST).rev().find(|at| self.value.is_char_boundary(*at)).unwrap_or(0);
            self.value.truncate(end);
            self.value.push_str(" ...");
            self.value.shrink_to_fit();
        }
        self
    }
}

/// One setting of one group, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The code of the rule.
    pub code: &'static str,
    /// How much it matters.
    pub class: Class,
    /// The group's path below the mount.
    pub group: String,
    /// Whose it is, if its path tells.
    pub owner: Option<Owner>,
    /// The sentence about this group.
    pub sentence: String,
    /// What to do about it.
    pub remedy: &'static str,
    /// What it rests on; the first is the setting.
    pub readings: Vec<Reading>,
}
