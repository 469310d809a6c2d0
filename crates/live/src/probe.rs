//! `assay probe`: do the limits of a running group act?
//!
//! Each limit is tried on a *copy*: a group of ours beside the one that has the limit, below the same parent, with the same
//! setting scaled down to what a probe of a second may use. Beside it a *twin* without the setting must behave otherwise.
//! Nothing enters the group itself, unless somebody asks for that. None of its processes is signalled or moved, and every group of ours is
//! in the ledger.

mod asked;
mod beside;
mod claim;
mod levels;
mod limit;
mod page;
mod proof;
mod run;
mod target;
#[cfg(test)]
mod tests;

use serde::Serialize;

pub use asked::Wishes;
pub use beside::Allowed;
pub use limit::{Cost, Limit};
pub use page::{INSIDE, junit, page, plan};
pub use run::{Finished, Request, run};
pub use target::Target;

/// Version of [`Document`].
pub const SCHEMA: u32 = 1;

/// Whether a limit acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The copy was held to it, and the twin was not.
    Enforced,
    /// What was asked for is not in force.
    NotEnforced,
    /// Neither can be shown here.
    NotProvable,
}

impl Verdict {
    /// In words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Enforced => "enforced",
            Self::NotEnforced => "not enforced",
            Self::NotProvable => "not provable",
        }
    }
}

/// A limit, and whether it acts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer {
    /// The kernel's name of the file, on this hierarchy.
    pub knob: String,
    /// The group whose file it is, below the mount: the target, one above it, or a container in it.
    pub group: String,
    /// What the file says; null if there is none.
    pub value: Option<String>,
    /// What somebody asked for, and the file that says so; null if no such file was found.
    pub asked: Option<Asked>,
    /// Whether it acts.
    pub verdict: Verdict,
    /// Why not, or why that cannot be shown; empty if it is enforced.
    pub reason: String,
    /// What the copy, or a probe in the group itself, and its twin did.
    pub measured: Vec<String>,
    /// How often the group itself met the limit since it was made, by the kernel's counters.
    pub met: Option<String>,
    /// How long the proof took.
    pub seconds: f64,
}

/// What a limit was meant to be.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Asked {
    /// In the notation of the answer.
    pub value: String,
    /// The file that says so.
    pub by: String,
}

/// The result of `assay probe -o json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Document {
    /// Version of this format.
    pub schema: u32,
    /// What was probed, as it was named.
    pub target: String,
    /// Its group, below the mounts.
    pub group: String,
    /// Processes in it and below it.
    pub processes: usize,
    /// The kernel.
    pub kernel: String,
    /// Start time, RFC 3339.
    pub started_at: String,
    /// Every limit that is set or was asked for.
    pub answers: Vec<Answer>,
    /// Files without a limit, of those that were read.
    pub unlimited: Vec<String>,
    /// Whether everything that was made is gone again.
    pub restored: bool,
}

impl Document {
    /// How many answers have this verdict.
    #[must_use]
    pub fn count(&self, verdict: Verdict) -> usize {
        self.answers.iter().filter(|answer| answer.verdict == verdict).count()
    }
}
