//! Gain of a memory placement expected from the bandwidths between nodes.
//!
//! Closed form: threads of node `c` do the part `w_c` of the work, and the part `p_m` of the pages,
//! used by all threads alike, is on node `m`. While the program moves `T` bytes a second, node `m`
//! delivers `T p_m`, at most `B_mm`; and `w_c T p_m` of it goes to node `c`, at most `B_cm`. Memory
//! alone allows the largest `T` for which all of these hold. With threads on one node this is
//! `B_cm` for memory bound to `m`, and twice the smaller bandwidth for two interleaved nodes, so
//! interleaving beats local memory only where the far bandwidth is more than half of the near one.
//! A program that is memory-bound for the part `m` of its time gains `S = 1 / (1 - m + m / r)` from
//! a ratio `r`, and so `m = (1 - 1 / S) / (1 - 1 / r)` (Amdahl 1967).

use std::collections::BTreeMap;

use assay_facts::{Available, HostFacts};
use assay_run_folder::{Manifest, PlacementReading, TrialRecord};
use assay_verdict::ExpectedGain;

/// A ratio closer to 1 than this does not show how memory-bound a program is.
const LEAST_DIFFERENCE: f64 = 0.02;

/// Parts by node.
type Parts = BTreeMap<u16, f64>;

/// Bytes a second from the CPUs of the first node to the memory of the second.
type Bandwidths = BTreeMap<(u16, u16), f64>;

/// The same workload under two placements.
pub(crate) struct Gain<'g, 'r> {
    /// `WORKLOAD.METRIC`.
    pub(crate) measure: &'g str,
    /// The trial of the numerator.
    pub(crate) of: &'r TrialRecord,
    /// The trial of the denominator.
    pub(crate) to: &'r TrialRecord,
    /// The measured ratio.
    pub(crate) measured: Option<f64>,
}

/// The expectation; `None` where the two trials do not place the workload differently.
pub(crate) fn find(manifest: &Manifest, gain: &Gain<'_, '_>) -> Option<ExpectedGain> {
    let (workload, _) = gain.measure.split_once('.')?;
    let policy = |trial: &TrialRecord| {
        let suffix = format!(".{workload}");
        let placed = trial.placements.iter().find(|one| one.workload.ends_with(&suffix))?;
        Some((placed.memory.clone(), placed.cpus.clone()))
    };
    let (of, to) = (policy(gain.of)?, policy(gain.to)?);
    if of == to {
        return None;
    }
    Some(match ratio(manifest, gain, workload) {
        Ok(ratio) => ExpectedGain {
            if_memory_bound: Some(ratio),
            memory_bound_part: gain.measured.and_then(|measured| part(measured, ratio)),
            not_available: None,
        },
        Err(why) => ExpectedGain { not_available: Some(why), ..ExpectedGain::default() },
    })
}

fn ratio(manifest: &Manifest, gain: &Gain<'_, '_>, workload: &str) -> Result<f64, String> {
    let bandwidths = bandwidths(manifest)?;
    let rate = |trial: &TrialRecord| {
        let (threads, pages) = shares(trial, workload, &manifest.host)?;
        largest(&bandwidths, &threads, &pages)
    };
    Ok(rate(gain.of)? / rate(gain.to)?)
}

/// Bandwidths between nodes measured by the workload `bandwidth` of this run, the geometric mean
/// over its results.
fn bandwidths(manifest: &Manifest) -> Result<Bandwidths, String> {
    let mut logs: BTreeMap<(u16, u16), Vec<f64>> = BTreeMap::new();
    let repeats = manifest.trials.iter().flat_map(|trial| &trial.repeats);
    for result in repeats.flat_map(|repeat| &repeat.workloads) {
        for (name, value) in &result.metrics {
            if let Some(pair) = pair_of(name).filter(|_| *value > 0.0) {
                logs.entry(pair).or_default().push(value.ln());
            }
        }
    }
    if logs.is_empty() {
        return Err("no workload of this run measured the bandwidth between nodes (`bandwidth` \
                    with `matrix = true`)"
            .to_owned());
    }
    let mean = |logs: Vec<f64>| (logs.iter().sum::<f64>() / logs.len() as f64).exp();
    Ok(logs.into_iter().map(|(pair, logs)| (pair, mean(logs))).collect())
}

/// `node0_node1_read_bytes_per_s`.
fn pair_of(metric: &str) -> Option<(u16, u16)> {
    let rest = metric.strip_prefix("node")?.strip_suffix("_read_bytes_per_s")?;
    let (cpus, memory) = rest.split_once("_node")?;
    Some((cpus.parse().ok()?, memory.parse().ok()?))
}

/// Where threads ran and pages lay, over all repeats.
fn shares(trial: &TrialRecord, workload: &str, host: &HostFacts) -> Result<(Parts, Parts), String> {
    let suffix = format!(".{workload}");
    let readings = trial.repeats.iter().flat_map(|repeat| &repeat.placements);
    let readings: Vec<&PlacementReading> =
        readings.filter(|one| one.workload.ends_with(&suffix)).collect();
    let (mut threads, mut pages) = (Parts::new(), Parts::new());
    for reading in readings {
        for (cpu, samples) in &reading.by_cpu {
            let node = host.nodes.iter().find(|node| node.cpus.contains(*cpu));
            *threads.entry(node.map_or(0, |node| node.id)).or_default() += *samples as f64;
        }
        for (node, bytes) in reading.pages.as_ref().and_then(Available::value).into_iter().flatten()
        {
            *pages.entry(*node).or_default() += *bytes as f64;
        }
    }
    Ok((normal(threads, "its threads were")?, normal(pages, "its pages were")?))
}

fn normal(mut parts: Parts, what: &str) -> Result<Parts, String> {
    let sum: f64 = parts.values().sum();
    if sum <= 0.0 {
        return Err(format!("{what} not recorded"));
    }
    parts.values_mut().for_each(|part| *part /= sum);
    Ok(parts)
}

/// The largest rate that all bandwidths allow.
fn largest(bandwidths: &Bandwidths, threads: &Parts, pages: &Parts) -> Result<f64, String> {
    let of = |cpus: u16, memory: u16| {
        bandwidths.get(&(cpus, memory)).copied().ok_or_else(|| {
            format!("the bandwidth from node {cpus} to the memory of node {memory} is not known")
        })
    };
    let mut most = f64::INFINITY;
    for (memory, part) in pages.iter().filter(|(_, part)| **part > 0.0) {
        // The local bandwidth of a node without CPUs is unknown.
        most = most.min(of(*memory, *memory).unwrap_or(f64::INFINITY) / part);
        for (cpus, work) in threads.iter().filter(|(_, work)| **work > 0.0) {
            most = most.min(of(*cpus, *memory)? / (part * work));
        }
    }
    Ok(most)
}

/// The part of its time for which a program is memory-bound, if it gains `measured` where memory
/// alone would gain `ratio`; `None` where no part explains it.
fn part(measured: f64, ratio: f64) -> Option<f64> {
    if (ratio - 1.0).abs() < LEAST_DIFFERENCE {
        return None;
    }
    let part = (1.0 - 1.0 / measured) / (1.0 - 1.0 / ratio);
    (0.0..=1.0).contains(&part).then_some(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two(near: f64, far: f64) -> Bandwidths {
        [((0, 0), near), ((1, 1), near), ((0, 1), far), ((1, 0), far)].into()
    }

    fn parts(parts: &[(u16, f64)]) -> Parts {
        parts.iter().copied().collect()
    }

    fn rate(bandwidths: &Bandwidths, threads: &[(u16, f64)], pages: &[(u16, f64)]) -> f64 {
        largest(bandwidths, &parts(threads), &parts(pages)).unwrap()
    }

    const ONE: [(u16, f64); 1] = [(0, 1.0)];
    const HALVES: [(u16, f64); 2] = [(0, 0.5), (1, 0.5)];

    #[test]
    fn interleaving_gives_twice_the_smaller_bandwidth_to_threads_of_one_node() {
        let bandwidths = two(100.0, 60.0);
        assert!((rate(&bandwidths, &ONE, &ONE) - 100.0).abs() < 1e-9);
        assert!((rate(&bandwidths, &ONE, &[(1, 1.0)]) - 60.0).abs() < 1e-9);
        assert!((rate(&bandwidths, &ONE, &HALVES) - 120.0).abs() < 1e-9);
        // It wins only where the far bandwidth is more than half of the near one.
        assert!(rate(&two(100.0, 40.0), &ONE, &HALVES) < 100.0);
    }

    #[test]
    fn the_best_part_of_far_memory_is_as_bandwidths_are_to_each_other() {
        let bandwidths = two(100.0, 50.0);
        let best = rate(&bandwidths, &ONE, &[(0, 2.0 / 3.0), (1, 1.0 / 3.0)]);
        assert!((best - 150.0).abs() < 1e-9, "1 + B1 / B0 times the near one: {best}");
        for far in [0.2, 0.3, 0.4, 0.5] {
            assert!(rate(&bandwidths, &ONE, &[(0, 1.0 - far), (1, far)]) < best);
        }
    }

    /// The paper's case: threads on both nodes, all pages on one of them, and then on both.
    #[test]
    fn threads_on_both_nodes_gain_the_second_controller() {
        let bandwidths = two(100.0, 100.0);
        let (alone, spread) =
            (rate(&bandwidths, &HALVES, &ONE), rate(&bandwidths, &HALVES, &HALVES));
        assert!((spread / alone - 2.0).abs() < 1e-9);
        assert!((part(1.2, 2.0).unwrap() - 1.0 / 3.0).abs() < 1e-9, "+20 % of streamcluster");
        assert!((part(1.02, 2.0).unwrap() - 0.0392).abs() < 1e-3, "+2 % of blackscholes");
    }

    #[test]
    fn contradicting_or_equal_ratios_give_no_part() {
        assert_eq!(part(3.0, 2.0), None);
        assert_eq!(part(0.9, 2.0), None);
        assert_eq!(part(1.0, 1.01), None);
        assert!(part(0.8, 0.5).is_some(), "losses as well");
    }

    #[test]
    fn metrics_of_node_pairs_are_parsed() {
        assert_eq!(pair_of("node0_node12_read_bytes_per_s"), Some((0, 12)));
        assert_eq!(pair_of("node0_node1_load_ns"), None);
        assert_eq!(pair_of("copy_bytes_per_s"), None);
    }

    #[test]
    fn an_unmeasured_pair_is_named() {
        let near_only = Bandwidths::from([((0, 0), 100.0)]);
        let why = largest(&near_only, &parts(&ONE), &parts(&HALVES)).unwrap_err();
        assert!(why.contains("node 0 to the memory of node 1"), "{why}");
    }
}
