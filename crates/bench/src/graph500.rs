//! graph500: Assay compared with the reference code (`omp-csr` of 2.1.4), searches of the same
//! graph from the same roots, interleaved in one run.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::child;
use crate::failure::Failure;
use crate::figure::{Figure, Shown};
use crate::idle_wait;
use crate::paired::{Pair, in_turns, of_peer};
use crate::peer_programs::Programs;
use crate::statistics::Estimate;

const THREADS: &str = "2";
const EDGEFACTOR: &str = "16";

/// Target as a fraction of the peer's time per edge: three times its speed.
const TIME_OF_PEER: f64 = 1.0 / 3.0;
/// Target for the difference between predicted footprint and measured peak.
const PREDICTED_WITHIN: f64 = 0.05;

const OFF: Shown = Shown { factor: 100.0, unit: "% off", decimals: 1 };

/// Both programs.
pub(crate) struct Comparison {
    ours: PathBuf,
    peer: PathBuf,
}

/// Result of one run.
struct Measured {
    teps: f64,
    construction_s: f64,
    /// Peak memory in bytes, measured from outside for both.
    peak: f64,
    /// Predicted peak / measured peak, as reported by the program; ours only.
    predicted: Option<f64>,
}

impl Comparison {
    /// The peer is the program named by `PEER_GRAPH500`, ours is next to `assay`. `None` if the
    /// variable is not set.
    pub(crate) fn find(assay: &Path) -> Result<Option<Self>, Failure> {
        let programs = Programs::program(
            "PEER_GRAPH500",
            "the program omp-csr of 2.1.4, built with -O3 -fopenmp",
            assay,
        )?;
        Ok(programs.map(|Programs { ours, peer }| Self { ours, peer }))
    }

    /// Rounds of one run each, with alternating order.
    pub(crate) fn measure(
        &self,
        folder: &Path,
        scale: u32,
        rounds: usize,
    ) -> Result<Vec<Figure>, Failure> {
        let busy = idle_wait::wait()?;
        let pairs = in_turns(rounds, || self.ours(folder, scale), || self.peer(folder, scale))?;
        let about = |figure: &mut Figure| {
            figure.remarks.push(format!(
                "SCALE {scale}, edgefactor {EDGEFACTOR}, {THREADS} threads, 64 searches a run, {rounds} interleaved rounds"
            ));
            figure.remarks.extend(idle_wait::remark(busy));
        };
        let mut figures = vec![
            speed(&pairs)?,
            of_peer("graph500: peak memory", &pairs, 0.6, |found| found.peak)?,
            of_peer("graph500: time of construction", &pairs, 1.0, |found| found.construction_s)?,
            prediction(&pairs)?,
        ];
        figures.iter_mut().for_each(about);
        Ok(figures)
    }

    fn ours(&self, folder: &Path, scale: u32) -> Result<Measured, Failure> {
        let mut command = Command::new(&self.ours);
        command.args(["graph500", "--json", "--threads", THREADS, "-e", EDGEFACTOR]);
        command.arg("-s").arg(scale.to_string());
        let (text, peak) = run(&mut command, folder, "graph500-ours")?;
        let missing = || Failure::Failed("assay-load graph500 --json lacks a number".to_owned());
        let document: serde_json::Value = serde_json::from_str(&text).map_err(|_| missing())?;
        let number = |pointer| document.pointer(pointer).and_then(serde_json::Value::as_f64);
        let predicted = number("/footprint/predicted_bytes").ok_or_else(missing)?;
        let measured = number("/footprint/measured_peak_bytes").ok_or_else(missing)?;
        Ok(Measured {
            teps: number("/metrics/bfs_harmonic_mean_teps").ok_or_else(missing)?,
            construction_s: number("/metrics/construction_s").ok_or_else(missing)?,
            peak,
            predicted: Some(predicted / measured),
        })
    }

    fn peer(&self, folder: &Path, scale: u32) -> Result<Measured, Failure> {
        let mut command = Command::new(&self.peer);
        command.env("OMP_NUM_THREADS", THREADS).args(["-e", EDGEFACTOR]);
        command.arg("-s").arg(scale.to_string());
        let (text, peak) = run(&mut command, folder, "graph500-peer")?;
        let keys = keys(&text);
        let number = |key: &str| -> Result<f64, Failure> {
            let missing = || Failure::Failed(format!("the peer's output has no {key}"));
            keys.get(key).and_then(|value| value.parse().ok()).ok_or_else(missing)
        };
        Ok(Measured {
            teps: number("harmonic_mean_TEPS")?,
            construction_s: number("construction_time")?,
            peak,
            predicted: None,
        })
    }
}

fn speed(pairs: &[Pair<Measured>]) -> Result<Figure, Failure> {
    let name = "graph500: time per traversed edge";
    let mut figure = of_peer(name, pairs, TIME_OF_PEER, |found| found.teps.recip())?;
    let rates = |of: fn(&Pair<Measured>) -> f64| {
        Estimate::median(&pairs.iter().map(of).collect::<Vec<_>>())
    };
    if let (Some(ours), Some(peer)) = (rates(|pair| pair.ours.teps), rates(|pair| pair.peer.teps)) {
        figure.remarks.push(format!(
            "harmonic mean TEPS, medians of the rounds: ours {:.3e}, peer {:.3e}",
            ours.value, peer.value
        ));
    }
    Ok(figure)
}

fn prediction(pairs: &[Pair<Measured>]) -> Result<Figure, Failure> {
    let off: Vec<f64> =
        pairs.iter().filter_map(|pair| Some((pair.ours.predicted? - 1.0).abs())).collect();
    let worst = Estimate::median(&off)
        .ok_or_else(|| Failure::Failed("no round has a predicted footprint".to_owned()))?;
    Ok(Figure::bound("graph500: predicted footprint", worst, PREDICTED_WITHIN, &OFF))
}

/// Parses the lines `key: value` of 2.1.4.
fn keys(text: &str) -> BTreeMap<&str, &str> {
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(key, value)| (key.trim(), value.trim()))
        .collect()
}

/// Runs a program to its end; returns its output and its peak memory in bytes.
fn run(command: &mut Command, folder: &Path, name: &str) -> Result<(String, f64), Failure> {
    let path = folder.join(name);
    let failed = |cause| Failure::Failed(format!("{command:?}: {cause}"));
    let output = File::create(&path).map_err(failed)?;
    command.stdin(Stdio::null()).stdout(output).stderr(Stdio::null());
    let mut running =
        command.spawn().map_err(|cause| Failure::Failed(format!("{command:?}: {cause}")))?;
    let (status, peak) = child::wait_with_peak(&mut running)?;
    if !status.success() {
        return Err(Failure::Failed(format!("{command:?} ended with {status}")));
    }
    let text = std::fs::read_to_string(&path)
        .map_err(|cause| Failure::Failed(format!("cannot read {}: {cause}", path.display())))?;
    Ok((text, peak as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Reached;

    fn measured(teps: f64, peak: f64, predicted: f64) -> Measured {
        Measured { teps, construction_s: 1.0, peak, predicted: Some(predicted) }
    }

    #[test]
    fn three_times_the_speed_is_a_third_of_the_time() {
        let pairs: Vec<Pair<Measured>> = [(4.0, 1.0), (4.2, 1.0), (3.9, 1.0)]
            .map(|(ours, peer)| Pair {
                ours: measured(ours, 1.0, 1.0),
                peer: measured(peer, 2.0, 1.0),
            })
            .into();
        let figure = speed(&pairs).unwrap();
        assert_eq!(figure.reached, Reached::Yes, "{figure:?}");
        assert!(figure.remarks[0].contains("ours 4.000e0, peer 1.000e0"), "{figure:?}");
        let memory = of_peer("memory", &pairs, 0.6, |found| found.peak).unwrap();
        assert!(memory.measured.starts_with("0.500"), "{memory:?}");
    }

    #[test]
    fn predictions_too_low_and_too_high_are_equally_wrong() {
        let pairs = |off: f64| {
            vec![Pair { ours: measured(1.0, 1.0, 1.0 + off), peer: measured(1.0, 1.0, 1.0) }]
        };
        for (off, reached) in [(0.04, Reached::Yes), (-0.06, Reached::No), (0.06, Reached::No)] {
            assert_eq!(prediction(&pairs(off)).unwrap().reached, reached, "{off}");
        }
    }

    #[test]
    fn lines_of_the_reference_are_keys_and_values() {
        let keys = keys("SCALE: 16\nharmonic_mean_TEPS: 1.00102723088662103e+08\n");
        assert_eq!(keys["SCALE"], "16");
        assert_eq!(keys["harmonic_mean_TEPS"].parse::<f64>().unwrap(), 100_102_723.088_662_1);
    }
}
