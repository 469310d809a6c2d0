//! blackscholes and streamcluster: Assay compared with PARSEC, by the time of the region of
//! interest that each reports, interleaved in one run.

use std::path::Path;
use std::process::Command;

use crate::child;
use crate::failure::Failure;
use crate::figure::Figure;
use crate::idle_wait;
use crate::paired::{in_turns, of_peer};
use crate::peer_programs::Programs;

/// Target: four times as many options per second and thread.
const BLACKSCHOLES: f64 = 1.0 / 4.0;
/// Target: one and a half times as fast.
const STREAMCLUSTER: f64 = 1.0 / 1.5;
/// simlarge.
const OPTIONS: &str = "65536";
const POINTS: [&str; 7] = ["10", "20", "128", "16384", "16384", "1000", "none"];
const THREADS: &str = "2";

/// Labels before the seconds, in PARSEC's hooks and in our output.
const PEER_LABEL: &str = "[HOOKS] Total time spent in ROI:";
const OUR_LABEL: &str = "time =";

/// Both programs.
pub(crate) struct Comparison {
    programs: Programs,
}

impl Comparison {
    /// The peers are in the folder named by `PEER_PARSEC`. `None` if the variable is not set.
    pub(crate) fn find(assay: &Path) -> Result<Option<Self>, Failure> {
        let what = "a folder with PARSEC's blackscholes and streamcluster, built with -O3, threads \
                    and hooks";
        let programs = Programs::named("PEER_PARSEC", what, assay, |folder| {
            ["blackscholes", "streamcluster"].map(|name| folder.join(name)).into()
        })?;
        Ok(programs.map(|programs| Self { programs }))
    }

    /// Rounds of one run each, with alternating order.
    pub(crate) fn measure(&self, folder: &Path, rounds: usize) -> Result<Vec<Figure>, Failure> {
        let busy = idle_wait::wait()?;
        let options = folder.join("options.txt");
        let options = options.to_string_lossy();
        let make = ["blackscholes", "--input", OPTIONS, "--runs", "1", "--write-options", &options];
        seconds(Command::new(&self.programs.ours).args(make), OUR_LABEL)?;
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
                seconds(Command::new(&self.programs.ours).arg(program).args(&arguments), OUR_LABEL)
            };
            let peer = || {
                seconds(Command::new(self.programs.peer.join(program)).args(&arguments), PEER_LABEL)
            };
            let mut figure =
                of_peer(name, &in_turns(rounds, ours, peer)?, at_most, |seconds| *seconds)?;
            figure
                .remarks
                .push(format!("time of the region of interest, {rounds} interleaved rounds"));
            figure.remarks.extend(idle_wait::remark(busy));
            figures.push(figure);
        }
        Ok(figures)
    }
}

/// Runs a program and parses the seconds after `label`.
fn seconds(command: &mut Command, label: &str) -> Result<f64, Failure> {
    let ended = child::output(command);
    let output = ended.map_err(|cause| Failure::Failed(format!("{command:?}: {cause}")))??;
    if !output.status.success() {
        return Err(Failure::Failed(format!("{command:?} ended with {}", output.status)));
    }
    roi_seconds(&String::from_utf8_lossy(&output.stdout), label)
        .ok_or_else(|| Failure::Failed(format!("{command:?} printed no `{label}`")))
}

fn roi_seconds(text: &str, label: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(label))?;
    line.trim().trim_end_matches('s').parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_of_both_programs_are_parsed() {
        let peer = "[PARSEC] x\n[HOOKS] Total time spent in ROI: 0.385s\n[HOOKS] Terminating\n";
        assert_eq!(roi_seconds(peer, PEER_LABEL), Some(0.385));
        assert_eq!(roi_seconds("PARSEC Benchmark Suite\ntime = 0.087\n", OUR_LABEL), Some(0.087));
        assert_eq!(roi_seconds("nothing", OUR_LABEL), None);
    }
}
