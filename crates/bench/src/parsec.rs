//! blackscholes and streamcluster: ours against PARSEC's, the time of the region of interest as
//! each says it itself, in turns within one run.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::failure::Failure;
use crate::figure::Figure;
use crate::idle_wait;
use crate::paired::{in_turns, of_peer};
use crate::peers::Programs;

/// Four times as many options a second and thread.
const BLACKSCHOLES: f64 = 1.0 / 4.0;
/// One and a half times as fast.
const STREAMCLUSTER: f64 = 1.0 / 1.5;
/// simlarge.
const OPTIONS: &str = "65536";
const POINTS: [&str; 7] = ["10", "20", "128", "16384", "16384", "1000", "none"];
const THREADS: &str = "2";

/// What PARSEC's hooks and ours print before the seconds.
const PEER_SAYS: &str = "[HOOKS] Total time spent in ROI:";
const OURS_SAYS: &str = "time =";

/// Both programs.
pub(crate) struct Contest {
    programs: Programs,
}

impl Contest {
    /// The peers lie in the folder `PEER_PARSEC`. `None` where the variable is not set.
    pub(crate) fn of(assay: &Path) -> Result<Option<Self>, Failure> {
        let what = "a folder with PARSEC's blackscholes and streamcluster, built with -O3, threads \
                    and hooks";
        let programs = Programs::named("PEER_PARSEC", what, assay, |folder| {
            ["blackscholes", "streamcluster"].map(|name| folder.join(name)).into()
        })?;
        Ok(programs.map(|programs| Self { programs }))
    }

    /// Rounds of one run each, who comes first in turn.
    pub(crate) fn measure(&self, folder: &Path, rounds: usize) -> Result<Vec<Figure>, Failure> {
        let busy = idle_wait::wait()?;
        let options = folder.join("options.txt");
        let options = options.to_string_lossy();
        let make = ["blackscholes", "--input", OPTIONS, "--runs", "1", "--write-options", &options];
        seconds(Command::new(&self.programs.ours).args(make), OURS_SAYS)?;
        let out = folder.join("out.txt");
        let out = out.to_string_lossy();
        let mut stream = POINTS.to_vec();
        stream.extend([&*out, THREADS]);
        let contests = [
            ("blackscholes: time of simlarge, 1 thread", BLACKSCHOLES, vec!["1", &*options, &*out]),
            ("streamcluster: time of simlarge, 2 threads", STREAMCLUSTER, stream),
        ];
        let mut figures = Vec::new();
        for (name, at_most, arguments) in contests {
            let program = name.split(':').next().unwrap_or(name);
            let ours = || {
                seconds(Command::new(&self.programs.ours).arg(program).args(&arguments), OURS_SAYS)
            };
            let peer = || {
                seconds(Command::new(self.programs.peer.join(program)).args(&arguments), PEER_SAYS)
            };
            let mut figure =
                of_peer(name, &in_turns(rounds, ours, peer)?, at_most, |seconds| *seconds)?;
            figure
                .remarks
                .push(format!("time of the region of interest, {rounds} rounds in turns"));
            figure.remarks.extend(idle_wait::remark(busy));
            figures.push(figure);
        }
        Ok(figures)
    }
}

/// Runs a program and finds the seconds that it says.
fn seconds(command: &mut Command, says: &str) -> Result<f64, Failure> {
    command.stdin(Stdio::null()).stderr(Stdio::null());
    let output =
        command.output().map_err(|cause| Failure::Failed(format!("{command:?}: {cause}")))?;
    if !output.status.success() {
        return Err(Failure::Failed(format!("{command:?} ended with {}", output.status)));
    }
    found(&String::from_utf8_lossy(&output.stdout), says)
        .ok_or_else(|| Failure::Failed(format!("{command:?} does not say `{says}`")))
}

fn found(text: &str, says: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(says))?;
    line.trim().trim_end_matches('s').parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_say_their_seconds() {
        let peer = "[PARSEC] x\n[HOOKS] Total time spent in ROI: 0.385s\n[HOOKS] Terminating\n";
        assert_eq!(found(peer, PEER_SAYS), Some(0.385));
        assert_eq!(found("PARSEC Benchmark Suite\ntime = 0.087\n", OURS_SAYS), Some(0.087));
        assert_eq!(found("nothing", OURS_SAYS), None);
    }
}
