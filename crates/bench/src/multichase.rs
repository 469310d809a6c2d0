//! chase: Assay compared with google/multichase, dependent loads in full random order through
//! working sets that fit into each cache and into none, interleaved in one run.

use std::path::Path;
use std::process::Command;

use assay_kernel::Root;
use assay_units::Bytes;
use serde_json::Value;

use crate::child::stdout;
use crate::failure::Failure;
use crate::figure::Figure;
use crate::idle_wait;
use crate::paired::{as_peer, in_turns};
use crate::peer_programs::Programs;

/// Allowed difference to the peer's nanoseconds per load.
const WITHIN: f64 = 0.03;
/// Multichase samples twice per second.
const SAMPLE_MS: &str = "500";
/// Both run on the first CPU.
const CPU: &str = "0";

/// Both programs.
pub(crate) struct Comparison {
    programs: Programs,
}

impl Comparison {
    /// The peer is in the folder named by `PEER_MULTICHASE`. `None` if the variable is not set.
    pub(crate) fn find(assay: &Path) -> Result<Option<Self>, Failure> {
        let what = "a folder with google/multichase, built by its own Makefile";
        let programs = Programs::named("PEER_MULTICHASE", what, assay, |folder| {
            vec![folder.join("multichase")]
        })?;
        Ok(programs.map(|programs| Self { programs }))
    }

    /// Rounds of one run each, with alternating order, for each working set.
    pub(crate) fn measure(&self, samples: u32, rounds: usize) -> Result<Vec<Figure>, Failure> {
        let busy = idle_wait::wait()?;
        let samples = samples.to_string();
        let mut figures = Vec::new();
        for (name, bytes) in working_sets(&Root::real())? {
            let (ours, peer) = (|| self.ours(bytes, &samples), || self.peer(bytes, &samples));
            let pairs = in_turns(rounds, ours, peer)?;
            let mut figure =
                as_peer(&format!("chase: ns per load in {name}"), &pairs, WITHIN, |ns| *ns)?;
            let last = pairs.last().map(|pair| format!("{:.3} and {:.3}", pair.ours, pair.peer));
            figure.remarks.push(format!(
                "{} KiB, full random, huge pages requested, best of {samples} samples of 0.5 s, \
                 {rounds} interleaved rounds; the last round: {} ns",
                bytes >> 10,
                last.unwrap_or_default()
            ));
            figure.remarks.extend(idle_wait::remark(busy));
            figures.push(figure);
        }
        Ok(figures)
    }

    fn ours(&self, bytes: u64, samples: &str) -> Result<f64, Failure> {
        let size = bytes.to_string();
        let mut command = Command::new(&self.programs.ours);
        command.args(["chase", "--json", "--cpu", CPU, "--from", &size, "--to", &size]);
        command.args(["--samples", samples, "--sample-ms", SAMPLE_MS]);
        let document: Value = serde_json::from_str(&stdout(&mut command)?)
            .map_err(|error| Failure::from_display(&error))?;
        document
            .pointer("/curves/0/points/0/least_ns")
            .and_then(Value::as_f64)
            .ok_or_else(|| Failure::Failed("assay-load chase --json lacks a number".to_owned()))
    }

    fn peer(&self, bytes: u64, samples: &str) -> Result<f64, Failure> {
        let size = bytes.to_string();
        let mut command = Command::new(self.programs.peer.join("multichase"));
        command.args(["-H", "-s", "64", "-m", &size, "-T", &size, "-n", samples]);
        best(&stdout(&mut command)?).ok_or_else(|| {
            Failure::Failed("multichase printed no number on its last line".to_owned())
        })
    }
}

/// Half of each data cache of the first CPU, and four times the last-level cache.
fn working_sets(root: &Root) -> Result<Vec<(String, u64)>, Failure> {
    let folder = "/sys/devices/system/cpu/cpu0/cache";
    let mut caches: Vec<(u32, u64)> = root
        .list(folder)?
        .iter()
        .filter(|name| name.starts_with("index"))
        .filter_map(|name| {
            let read = |file: &str| root.read_trimmed(format!("{folder}/{name}/{file}")).ok();
            let size: Bytes = format!("{}iB", read("size")?).parse().ok()?;
            let level = read("level")?.parse().ok()?;
            (read("type")? != "Instruction").then_some((level, size.get()))
        })
        .collect();
    caches.sort_unstable();
    let mut sets: Vec<(String, u64)> =
        caches.iter().map(|(level, bytes)| (format!("L{level}"), bytes / 2)).collect();
    sets.extend(caches.last().map(|(_, bytes)| ("memory".to_owned(), 4 * bytes)));
    if sets.is_empty() {
        return Err(Failure::Failed(format!("{folder} lists no caches")));
    }
    Ok(sets)
}

/// Multichase's last line: nanoseconds per load.
fn best(text: &str) -> Option<f64> {
    text.lines().last()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_is_the_result() {
        assert_eq!(best(" 1.383\n"), Some(1.383));
        assert_eq!(best("nr_threads = 1\n 103.2\n"), Some(103.2));
        assert_eq!(best("usage: multichase\n"), None);
    }

    #[test]
    fn working_sets_are_half_of_each_cache_and_beyond_the_last() {
        let tree = tempfile::tempdir().unwrap();
        for (index, level, kind, size) in [
            ("index0", "1", "Data", "32K"),
            ("index1", "1", "Instruction", "32K"),
            ("index2", "2", "Unified", "1024K"),
        ] {
            let folder = tree.path().join("sys/devices/system/cpu/cpu0/cache").join(index);
            std::fs::create_dir_all(&folder).unwrap();
            for (file, text) in [("level", level), ("type", kind), ("size", size)] {
                std::fs::write(folder.join(file), text).unwrap();
            }
        }
        let sets = working_sets(&Root::at(tree.path())).unwrap();
        let named = |name: &str, bytes| (name.to_owned(), bytes);
        assert_eq!(sets, [named("L1", 16 << 10), named("L2", 512 << 10), named("memory", 4 << 20)]);
        assert!(working_sets(&Root::at(&tree.path().join("none"))).is_err());
    }
}
