//! What is said at the end, as data. `assay exec --json` prints it; docs/exec.md describes it.

use std::path::PathBuf;

use assay_facts::{Available, Layout};
use serde::Serialize;

use crate::limits_hit::LimitHit;
use crate::prepare::Refused;
use crate::usage::ResourceUsage;

/// Version of the format.
pub(crate) const SCHEMA: u32 = 1;

/// How the command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// By itself, with this code.
    ExitCode(i32),
    /// By this signal.
    Signal(i32),
}

impl Ended {
    /// What a shell would make of it: the code, or 128 and the number of the signal.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        let code = match self {
            Self::ExitCode(code) => code,
            Self::Signal(signal) => 128 + signal,
        };
        u8::try_from(code & 0xff).unwrap_or(u8::MAX)
    }
}

/// Processes that outlived the command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Left {
    /// How many there were when the command ended.
    pub processes: usize,
    /// Whether they were killed, by choice or because waiting was cut short.
    pub killed: bool,
}

/// One limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LimitReport {
    /// The knob asked for.
    pub knob: String,
    /// The value asked for.
    pub asked: String,
    /// The interface file that it became.
    pub file: String,
    /// What was written into it.
    pub written: String,
    /// What it said before the command began.
    pub reads: Available<String>,
    /// Whether that is another value than the one written.
    pub differs: bool,
    /// What it said at the end, if that was something else than before.
    pub changed_to: Option<String>,
    /// What there is to know about the translation.
    pub note: Option<String>,
    /// Whether it bound.
    #[serde(flatten)]
    pub judged: LimitHit,
}

/// The whole report.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Version of this format.
    pub schema: u32,
    /// The command with its arguments.
    pub command: Vec<String>,
    /// `uname -r`.
    pub kernel: String,
    /// Which hierarchies this host has.
    pub layout: Layout,
    /// The group's directory in each hierarchy used; gone by now.
    pub groups: Vec<PathBuf>,
    /// How the command ended.
    pub ended: Ended,
    /// What it and all that it started have used.
    pub used: ResourceUsage,
    /// Every limit set.
    pub limits: Vec<LimitReport>,
    /// Settings left out because this host cannot make them (`--keep-going`).
    pub not_set: Vec<Refused>,
    /// Processes that outlived the command.
    pub left: Option<Left>,
    /// Whether the host is as it was found.
    pub restored: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_becomes_128_and_its_number() {
        assert_eq!(Ended::ExitCode(7).exit_code(), 7);
        assert_eq!(Ended::Signal(9).exit_code(), 137);
        assert_eq!(Ended::Signal(2).exit_code(), 130);
    }
}
