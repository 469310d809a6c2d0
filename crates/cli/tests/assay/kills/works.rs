//! The works to kill: studies made for the test, shipped studies, commands under limits, and conformance
//! cases.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::studies::Changes;
use crate::bench::Bench;

/// A work that is killed repeatedly.
#[derive(Debug, Clone, Copy)]
pub(super) enum Work {
    /// `assay run` of a study made for the test.
    Study(Changes),
    /// The same with groups, and eBPF programs that record where they waited.
    Evidence,
    /// `assay probe` of a foreign group.
    Probe,
    /// `assay run` of the shipped study cpu-weight.
    CpuWeight,
    /// `assay run` of the shipped study cpu-quota.
    CpuQuota,
    /// `assay exec` of a command that leaves a process behind.
    Exec,
    /// `assay conform` of cases with changes that other works do not make.
    Conform,
    /// `assay diagnose` of a run with a check that fails.
    Diagnose,
    /// `assay blame` of a command in a group of its own.
    Blame,
}

/// The command under limits. Files mark its progress.
const COMMAND: &str = "touch begun; (setsid sleep 0.8 &); head -c 100000000 /dev/zero | tail | wc -c \
                       > size; sleep 0.2; touch ended";

const LIMITS: [&str; 10] = [
    "--set",
    "memory.max=16M",
    "--set",
    "cpu.max=30000 100000",
    "--set",
    "pids.max=20",
    "--place",
    "cpus=0,memory=bind:0",
    "--on-exit",
    "wait",
];

/// A frozen group, a pool of huge pages, device lists of v1 and programs of v2, an OOM, a cpuset.
const CASES: [&str; 8] = [
    "pids",
    "hugetlb",
    "devices/denied-device-ends-in-eperm",
    "devices/program-denies-a-device",
    "freezer/a-frozen-group-makes-no-progress",
    "memory/max-kills-and-counts",
    "cpuset/threads-run-on-their-groups-cpus",
    "cpu/usage-is-the-time-of-its-threads",
];

/// A run of which a check fails, since its window is too short.
pub(crate) fn recorded(bench: &Bench) -> PathBuf {
    let out = bench.path("recorded");
    if !out.exists() {
        let study = bench.write("study.toml", &Changes::Queue.study(bench.folder()));
        let mut run = bench.program();
        run.args(["run", "--yes"]).arg(study).arg("--out").arg(&out);
        bench.finish(run).assert_verdict();
    }
    out
}

impl Work {
    /// The name of its record.
    pub(super) fn name(self) -> String {
        match self {
            Self::Study(changes) => format!("{changes:?}").to_lowercase(),
            other => format!("{other:?}").to_lowercase(),
        }
    }

    /// The command, with everything that it and its children write in `out`.
    pub(super) fn command(self, bench: &Bench, theirs: &str, data: &Path, out: &Path) -> Command {
        let mut command = bench.program();
        match self {
            Self::Study(_) | Self::Evidence => {
                let text = match self {
                    Self::Study(changes) => changes.study(data),
                    _ => Changes::Knobs.study(data) + "[sampling]\nevidence = true\n",
                };
                let study = bench.write("study.toml", &text);
                command.args(["run", "--yes"]).arg(study).arg("--out").arg(out);
            }
            Self::CpuWeight | Self::CpuQuota => {
                let is_weight = matches!(self, Self::CpuWeight);
                let study = if is_weight { "cpu-weight" } else { "cpu-quota" };
                command.args(["run", "--yes", study, "--repeats", "1", "--duration", "1s"]);
                command.arg("--out").arg(out);
            }
            Self::Exec => {
                fs::create_dir(out).unwrap();
                command.current_dir(out).arg("exec").args(LIMITS);
                command.args(["--", "sh", "-c", COMMAND]);
            }
            Self::Probe => {
                fs::create_dir(out).unwrap();
                command.current_dir(out).args(["probe", "--group", theirs]);
            }
            Self::Conform => {
                fs::create_dir(out).unwrap();
                command.current_dir(out).arg("conform").args(CASES);
            }
            Self::Diagnose => {
                command.args(["diagnose", "--yes"]).arg(recorded(bench));
                command.args(["--rounds", "1", "--only", "requests", "--out"]).arg(out);
            }
            Self::Blame => {
                fs::create_dir(out).unwrap();
                command.current_dir(out).args(["blame", "--set", "pids.max=20"]);
                command.args(["--", "sh", "-c", COMMAND]);
            }
        }
        command
    }
}
