//! The compared programs and the parsing of their throughput.

use std::path::Path;
use std::process::Command;

use assay_workload::fio::parse_output;
use serde_json::Value;

/// Duration or size of each program.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Length {
    /// Seconds of fio and of chase.
    pub(crate) seconds: u64,
    /// SCALE of the graph.
    pub(crate) scale: u32,
}

/// One program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Program {
    /// Two processes with random reads of a file, which keep two CPUs busy.
    Fio,
    /// One chain of loads in the second-level cache: the cost of interruptions and of evicted cache
    /// lines.
    Chase,
    /// As many threads as CPUs, with barriers: one delayed thread delays all.
    Graph500,
}

impl Program {
    pub(super) const ALL: [Self; 3] = [Self::Fio, Self::Chase, Self::Graph500];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Fio => "fio",
            Self::Chase => "chase",
            Self::Graph500 => "graph500",
        }
    }

    /// Description for the remark.
    pub(super) const fn description(self) -> &'static str {
        match self {
            Self::Fio => "two processes, random reads of 4 KiB from a file of 64 MiB in memory",
            Self::Chase => "loads by the wall clock through 256 KiB in full random order",
            Self::Graph500 => "traversed edges a second, harmonic mean of 64 searches",
        }
    }

    /// Its command line; files are created in `folder`.
    pub(super) fn command(self, load: &Path, folder: &Path, length: Length) -> Command {
        let Length { seconds, scale } = length;
        let mut command = Command::new(if self == Self::Fio { Path::new("fio") } else { load });
        match self {
            // From the page cache: the available virtual disks scatter by more than the effect, and
            // a read without a disk suffers as much from a lost CPU.
            Self::Fio => command
                .args(["--name=equal", "--rw=randread", "--bs=4k", "--ioengine=psync"])
                .args(["--size=64m", "--numjobs=2", "--group_reporting", "--invalidate=0"])
                .args(["--time_based", "--norandommap", "--output-format=json", "--eta=never"])
                .arg(format!("--runtime={seconds}s"))
                .arg(format!("--filename={}", folder.join("equivalence-file").display())),
            Self::Chase => command
                .args(["chase", "--json", "--from", "256KiB", "--to", "256KiB", "--samples", "1"])
                .arg("--sample-ms")
                .arg((seconds * 1000).to_string()),
            Self::Graph500 => command
                .args(["graph500", "--json", "--skip-validation", "-s"])
                .arg(scale.to_string()),
        };
        command
    }

    /// Its throughput; more is better.
    pub(super) fn throughput(self, output: &str) -> Option<f64> {
        let value = match self {
            Self::Fio => parse_output(output).ok()?.metrics.get("read_iops").copied()?,
            Self::Chase => number(output, "/curves/0/points/0/wall_ns")?.recip(),
            Self::Graph500 => number(output, "/metrics/bfs_harmonic_mean_teps")?,
        };
        (value.is_finite() && value > 0.0).then_some(value)
    }
}

fn number(output: &str, pointer: &str) -> Option<f64> {
    serde_json::from_str::<Value>(output).ok()?.pointer(pointer)?.as_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_throughput_of_each_program_is_parsed() {
        let chase = r#"{"curves": [{"order": "random", "points": [{"wall_ns": 4.0}]}]}"#;
        assert_eq!(Program::Chase.throughput(chase), Some(0.25));
        let graph = r#"{"metrics": {"bfs_harmonic_mean_teps": 5e8}}"#;
        assert_eq!(Program::Graph500.throughput(graph), Some(5e8));
        for program in Program::ALL {
            assert_eq!(program.throughput("{}"), None, "{program:?}");
            assert_eq!(program.throughput("no JSON"), None, "{program:?}");
        }
    }

    #[test]
    fn every_program_gets_its_length() {
        let length = Length { seconds: 3, scale: 17 };
        let command_line = |program: Program| {
            let command = program.command(Path::new("assay-load"), Path::new("/x"), length);
            format!("{command:?}")
        };
        assert!(
            command_line(Program::Fio).contains("--runtime=3s"),
            "{}",
            command_line(Program::Fio)
        );
        assert!(command_line(Program::Fio).contains("/x/equivalence-file"));
        assert!(
            command_line(Program::Chase).contains("\"3000\""),
            "{}",
            command_line(Program::Chase)
        );
        assert!(command_line(Program::Graph500).contains("\"17\""));
    }
}
