//! The JSON report of `assay exec` (docs/exec.md).

use std::path::PathBuf;

use assay_host::facts::{Available, Layout};
use serde::Serialize;

use crate::exec::limits_hit::LimitHit;
use crate::exec::prepare::Refused;
use crate::exec::usage::ResourceUsage;

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
    /// The exit code that a shell would return: the code itself, or 128 plus the signal number.
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
pub struct Survivors {
    /// Their number when the command ended.
    pub processes: usize,
    /// Whether they were killed, by `--on-exit kill`, by a second signal, or because they could not end.
    pub killed: bool,
}

/// One limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LimitReport {
    /// The requested knob.
    pub knob: String,
    /// The requested value.
    pub asked: String,
    /// The interface file it was translated to.
    pub file: String,
    /// The value written to it.
    pub written: String,
    /// Its contents before the command began.
    pub reads: Available<String>,
    /// Whether this differs from the value written.
    pub differs: bool,
    /// Its contents at the end, if they had changed.
    pub changed_to: Option<String>,
    /// A note on the translation.
    pub note: Option<String>,
    /// Whether the limit was hit.
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
    /// The cgroup hierarchies of this host.
    pub layout: Layout,
    /// The group's directory in each hierarchy used; removed by now.
    pub groups: Vec<PathBuf>,
    /// How the command ended.
    pub ended: Ended,
    /// The resources used by the command and its descendants.
    pub used: ResourceUsage,
    /// Every limit set.
    pub limits: Vec<LimitReport>,
    /// Settings left out because this host does not support them (`--keep-going`).
    pub not_set: Vec<Refused>,
    /// Processes that outlived the command.
    pub left: Option<Survivors>,
    /// Whether the host was restored.
    pub restored: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_gives_128_plus_its_number() {
        assert_eq!(Ended::ExitCode(7).exit_code(), 7);
        assert_eq!(Ended::Signal(9).exit_code(), 137);
        assert_eq!(Ended::Signal(2).exit_code(), 130);
    }
}
