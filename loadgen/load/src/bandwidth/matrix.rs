//! Bandwidth and latency from each node's CPUs to each node's memory, laid out as in Intel's Memory
//! Latency Checker: reads by all CPUs of a node, and a pointer chase by its first CPU.

use assay_load_memory::memory_policy;
use assay_load_memory::pointer_ring::{Arena, LINE};
use assay_sys::kernel::anonymous_memory::{Pages, page_size};
use assay_sys::kernel::{Root, affinity, clock, move_pages};
use assay_sys::units::{CpuSet, NodeSet};

use super::kernels::read;
use crate::arguments::Shared;
use crate::chase;
use crate::failure::Failure;
use crate::output::Reporter;
use crate::parallel_region::{ParallelRegion, cut};

/// Why there is no matrix without `--matrix`.
pub(super) const NOT_REQUESTED: &str = "not requested (--matrix)";

const NODES: &str = "/sys/devices/system/node";
/// Number of full reads, of which the fastest counts.
const READS: usize = 5;
/// Pages of each array whose node is checked.
const SAMPLED_PAGES: usize = 1024;

/// Result for one pair of nodes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Pair {
    pub(super) cpu_node: u16,
    pub(super) memory_node: u16,
    pub(super) measurement: Result<PairMeasurement, String>,
}

/// Measurements of a pair.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PairMeasurement {
    pub(super) bytes_per_s: f64,
    /// Nanoseconds per load.
    pub(super) load_ns: f64,
    /// Fraction of the memory that was on its node.
    pub(super) fraction_on_node: Result<f64, String>,
    pub(super) threads: usize,
}

/// Nodes that are measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Nodes {
    /// Nodes with CPUs this process may use, and those CPUs.
    pub(super) cpus: Vec<(u16, Vec<u16>)>,
    /// Nodes with memory.
    pub(super) memory: Vec<u16>,
}

impl Nodes {
    /// The nodes of this host, or why there is no matrix.
    pub(super) fn read(root: &Root, allowed: &[u16]) -> Result<Self, String> {
        let list = |file: &str| -> Result<NodeSet, String> {
            let text =
                root.read_trimmed(format!("{NODES}/{file}")).map_err(|error| error.to_string())?;
            text.parse().map_err(|error| format!("{NODES}/{file}: {error}"))
        };
        let memory: Vec<u16> = list("has_memory")?.iter().collect();
        if let [only] = memory[..] {
            return Err(format!("all memory of this host is on one node ({only})"));
        }
        let mut cpus = Vec::new();
        for node in list("has_cpu")?.iter() {
            let own: CpuSet = list(&format!("node{node}/cpulist"))?;
            let own: Vec<u16> = own.iter().filter(|cpu| allowed.contains(cpu)).collect();
            if !own.is_empty() {
                cpus.push((node, own));
            }
        }
        Ok(Self { cpus, memory })
    }
}

/// Measures all pairs, with `bytes` of memory for each measurement.
pub(super) fn measure(
    nodes: &Nodes,
    bytes: u64,
    shared: &Shared,
    reporter: &dyn Reporter,
) -> Vec<Pair> {
    let pairs = nodes.cpus.iter().flat_map(|cpus| nodes.memory.iter().map(move |to| (cpus, *to)));
    let all = nodes.cpus.len() * nodes.memory.len();
    let mut measured = Vec::with_capacity(all);
    for ((cpu_node, cpus), memory_node) in pairs {
        reporter.progress("pairs of nodes", measured.len(), all);
        measured.push(Pair {
            cpu_node: *cpu_node,
            memory_node,
            measurement: pair(cpus, memory_node, bytes, shared)
                .map_err(|failure| failure.to_string()),
        });
    }
    measured
}

/// Measures one pair in a thread of its own: threads it starts inherit its CPUs and memory policy.
pub(super) fn pair(
    cpus: &[u16],
    node: u16,
    bytes: u64,
    shared: &Shared,
) -> Result<PairMeasurement, Failure> {
    let in_place = || {
        affinity::bind_self(cpus)?;
        memory_policy::bind(&[node])?;
        let (bytes_per_s, fraction_on_node) = bandwidth(cpus.len(), node, bytes, shared)?;
        affinity::bind_self(&cpus[..1])?;
        let lines = bytes as usize / LINE;
        let mut arena = Arena::new(lines, shared.huge_pages.into())?;
        let mut ring = chase::random_ring(&mut arena, bytes, shared)?;
        let load_ns = chase::min_ns(&mut ring, bytes);
        Ok(PairMeasurement { bytes_per_s, load_ns, fraction_on_node, threads: cpus.len() })
    };
    std::thread::scope(|scope| match scope.spawn(in_place).join() {
        Ok(measurement) => measurement,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

/// Best read bandwidth of a few runs in bytes per second, by threads on the CPUs of this thread,
/// and the fraction of the array that is on `node`.
fn bandwidth(
    threads: usize,
    node: u16,
    bytes: u64,
    shared: &Shared,
) -> Result<(f64, Result<f64, String>), Failure> {
    let mut array = Pages::<f64>::zeroed(bytes as usize / 8, shared.huge_pages.into())?;
    let region = ParallelRegion::new(threads);
    let shares = region.shares(array.len());
    let spans = region.each(cut(&mut array, &shares), |worker, part| {
        part.fill(1.0);
        let mut spans = [(0, 0); READS];
        for span in &mut spans {
            worker.wait();
            let began = clock::monotonic_ns();
            std::hint::black_box(read(part));
            *span = (began, clock::monotonic_ns());
        }
        spans
    });
    let best = (0..READS)
        .map(|number| {
            let began = spans.iter().map(|spans| spans[number].0).min().unwrap_or(0);
            let ended = spans.iter().map(|spans| spans[number].1).max().unwrap_or(0);
            ended.saturating_sub(began).max(1)
        })
        .min()
        .unwrap_or(1);
    Ok((bytes as f64 / (best as f64 * 1e-9), fraction_on_node(&array, node)))
}

/// Fraction of a fully touched array that is on `node`, from a sample of evenly spaced pages: the
/// kernel may not follow a policy.
fn fraction_on_node(array: &[f64], node: u16) -> Result<f64, String> {
    let bytes = size_of_val(array);
    let count = SAMPLED_PAGES.min(bytes / page_size()).max(1);
    let first = array.as_ptr().addr();
    let addresses: Vec<u64> = (0..count).map(|at| (first + bytes / count * at) as u64).collect();
    let mut nodes = vec![-1; count];
    move_pages::query(std::process::id(), &addresses, &mut nodes)
        .map_err(|error| error.to_string())?;
    let on_node = nodes.iter().filter(|measurement| **measurement == i32::from(node)).count();
    Ok(on_node as f64 / count as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(nodes: &[(&str, &str)]) -> tempfile::TempDir {
        let tree = tempfile::tempdir().unwrap();
        for (file, text) in nodes {
            let path = tree.path().join("sys/devices/system/node").join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, format!("{text}\n")).unwrap();
        }
        tree
    }

    #[test]
    fn pairs_are_those_of_nodes_with_usable_cpus_and_nodes_with_memory() {
        let tree = host(&[
            ("has_memory", "0-2"),
            ("has_cpu", "0-1,3"),
            ("node0/cpulist", "0-3"),
            ("node1/cpulist", "4-7"),
            ("node3/cpulist", "8"),
        ]);
        let nodes = Nodes::read(&Root::at(tree.path()), &[1, 2, 5]).unwrap();
        assert_eq!(nodes.cpus, [(0, vec![1, 2]), (1, vec![5])]);
        assert_eq!(nodes.memory, [0, 1, 2]);
    }

    #[test]
    fn one_node_or_none_has_no_matrix_and_a_reason() {
        let one = host(&[("has_memory", "0"), ("has_cpu", "0"), ("node0/cpulist", "0-3")]);
        let reason = Nodes::read(&Root::at(one.path()), &[0]).unwrap_err();
        assert!(reason.contains("one node (0)"), "{reason}");
        let none = host(&[]);
        assert!(Nodes::read(&Root::at(none.path()), &[0]).unwrap_err().contains("has_memory"));
    }

    #[test]
    fn a_pair_on_this_host_has_both_measurements_and_its_memory_in_place() {
        let allowed = affinity::allowed_cpus(std::process::id()).unwrap();
        match pair(&allowed, 0, 1 << 20, &Shared::with_threads(2)) {
            Ok(measurement) => {
                assert!(
                    measurement.bytes_per_s > 1e6 && measurement.load_ns > 0.1,
                    "{measurement:?}"
                );
                assert!(
                    measurement.fraction_on_node.as_ref().is_ok_and(|part| *part > 0.99),
                    "{measurement:?}"
                );
            }
            // A sandbox may forbid memory policies: then this is reported and nothing is measured.
            Err(failure) => assert!(failure.to_string().contains("set_mempolicy"), "{failure}"),
        }
    }

    #[test]
    fn a_missing_node_is_reported_and_does_not_stop_the_rest() {
        let nodes = Nodes { cpus: vec![(0, vec![0])], memory: vec![900] };
        let pairs = measure(&nodes, 1 << 20, &Shared::with_threads(1), &crate::output::Silence);
        assert!(pairs[0].measurement.as_ref().unwrap_err().contains("set_mempolicy"), "{pairs:?}");
    }
}
