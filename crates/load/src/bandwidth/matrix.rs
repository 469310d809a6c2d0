//! Bandwidth and latency from each node's CPUs to each node's memory, as Intel's Memory Latency
//! Checker lays them out: reads by all CPUs of the one, and a chase by the first of them.

use assay_kernel::anonymous_memory::{Pages, page_size};
use assay_kernel::pointer_ring::{Arena, LINE};
use assay_kernel::{Root, affinity, clock, memory_policy, move_pages};
use assay_units::{CpuSet, NodeSet};

use super::kernels::read;
use crate::arguments::Shared;
use crate::chase;
use crate::failure::Failure;
use crate::output::Reporter;
use crate::parallel_region::{ParallelRegion, cut};

/// Why there is no matrix where none was wanted.
pub(super) const NOT_ASKED: &str = "not asked for: --matrix";

const NODES: &str = "/sys/devices/system/node";
/// Reads of everything, of which the fastest counts.
const READS: usize = 5;
/// Pages of each array whose node is looked at.
const LOOKED_AT: usize = 1024;

/// What one pair gave.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Pair {
    pub(super) cpu_node: u16,
    pub(super) memory_node: u16,
    pub(super) found: Result<Found, String>,
}

/// Figures of a pair.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Found {
    pub(super) bytes_per_s: f64,
    /// Nanoseconds a load.
    pub(super) load_ns: f64,
    /// The part of the memory that was on its node.
    pub(super) placed: Result<f64, String>,
    pub(super) threads: usize,
}

/// Nodes that take part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Nodes {
    /// Nodes with CPUs that this process may use, with these.
    pub(super) cpus: Vec<(u16, Vec<u16>)>,
    /// Nodes with memory.
    pub(super) memory: Vec<u16>,
}

impl Nodes {
    /// The nodes of this host, or why there is no matrix of them.
    pub(super) fn of(root: &Root, allowed: &[u16]) -> Result<Self, String> {
        let list = |file: &str| -> Result<NodeSet, String> {
            let text =
                root.read_trimmed(format!("{NODES}/{file}")).map_err(|error| error.to_string())?;
            text.parse().map_err(|error| format!("{NODES}/{file}: {error}"))
        };
        let memory: Vec<u16> = list("has_memory")?.iter().collect();
        if let [only] = memory[..] {
            return Err(format!("all memory of this host is on one node ({only}): nothing is far"));
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

/// Measures all pairs, `bytes` of memory for each of both figures.
pub(super) fn measure(
    nodes: &Nodes,
    bytes: u64,
    shared: &Shared,
    talk: &dyn Reporter,
) -> Vec<Pair> {
    let pairs = nodes.cpus.iter().flat_map(|cpus| nodes.memory.iter().map(move |to| (cpus, *to)));
    let all = nodes.cpus.len() * nodes.memory.len();
    let mut found = Vec::with_capacity(all);
    for ((cpu_node, cpus), memory_node) in pairs {
        talk.progress("pairs of nodes", found.len(), all);
        found.push(Pair {
            cpu_node: *cpu_node,
            memory_node,
            found: pair(cpus, memory_node, bytes, shared).map_err(|failure| failure.to_string()),
        });
    }
    found
}

/// One pair, in a thread of its own: threads that it starts inherit its CPUs and its policy.
pub(super) fn pair(cpus: &[u16], node: u16, bytes: u64, shared: &Shared) -> Result<Found, Failure> {
    let in_place = || {
        affinity::bind_self(cpus)?;
        memory_policy::bind(&[node])?;
        let (bytes_per_s, placed) = bandwidth(cpus.len(), node, bytes, shared)?;
        affinity::bind_self(&cpus[..1])?;
        let lines = bytes as usize / LINE;
        let mut arena = Arena::new(lines, shared.huge_pages.into())?;
        let mut ring = chase::random_ring(&mut arena, bytes, shared)?;
        let load_ns = chase::least_ns(&mut ring, bytes);
        Ok(Found { bytes_per_s, load_ns, placed, threads: cpus.len() })
    };
    std::thread::scope(|scope| match scope.spawn(in_place).join() {
        Ok(found) => found,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

/// Bytes a second that threads on the CPUs of this thread read, the best of a few times; and the
/// part of the array that is on `node`.
fn bandwidth(
    threads: usize,
    node: u16,
    bytes: u64,
    shared: &Shared,
) -> Result<(f64, Result<f64, String>), Failure> {
    let mut array = Pages::<f64>::zeroed(bytes as usize / 8, shared.huge_pages.into())?;
    let team = ParallelRegion::of(threads);
    let shares = team.shares(array.len());
    let spans = team.each(cut(&mut array, &shares), |worker, part| {
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
    Ok((bytes as f64 / (best as f64 * 1e-9), placed(&array, node)))
}

/// The part of an array that was touched whole which is on `node`, by a look at pages evenly spread
/// over it: a policy is only a wish.
fn placed(array: &[f64], node: u16) -> Result<f64, String> {
    let bytes = size_of_val(array);
    let count = LOOKED_AT.min(bytes / page_size()).max(1);
    let first = array.as_ptr().addr();
    let addresses: Vec<u64> = (0..count).map(|at| (first + bytes / count * at) as u64).collect();
    let mut nodes = vec![-1; count];
    move_pages::query(std::process::id(), &addresses, &mut nodes)
        .map_err(|error| error.to_string())?;
    let there = nodes.iter().filter(|found| **found == i32::from(node)).count();
    Ok(there as f64 / count as f64)
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
        let nodes = Nodes::of(&Root::at(tree.path()), &[1, 2, 5]).unwrap();
        assert_eq!(nodes.cpus, [(0, vec![1, 2]), (1, vec![5])]);
        assert_eq!(nodes.memory, [0, 1, 2]);
    }

    #[test]
    fn one_node_or_none_has_no_matrix_and_says_why() {
        let one = host(&[("has_memory", "0"), ("has_cpu", "0"), ("node0/cpulist", "0-3")]);
        let reason = Nodes::of(&Root::at(one.path()), &[0]).unwrap_err();
        assert!(reason.contains("one node (0)"), "{reason}");
        let none = host(&[]);
        assert!(Nodes::of(&Root::at(none.path()), &[0]).unwrap_err().contains("has_memory"));
    }

    #[test]
    fn a_pair_on_this_host_has_both_figures_and_its_memory_in_place() {
        let allowed = affinity::of(std::process::id()).unwrap();
        match pair(&allowed, 0, 1 << 20, &Shared::of_threads(2)) {
            Ok(found) => {
                assert!(found.bytes_per_s > 1e6 && found.load_ns > 0.1, "{found:?}");
                assert!(found.placed.as_ref().is_ok_and(|part| *part > 0.99), "{found:?}");
            }
            // A sandbox may forbid policies: that is said, and nothing is measured.
            Err(failure) => assert!(failure.to_string().contains("set_mempolicy"), "{failure}"),
        }
    }

    #[test]
    fn a_node_that_is_not_there_is_said_and_does_not_end_the_rest() {
        let nodes = Nodes { cpus: vec![(0, vec![0])], memory: vec![900] };
        let pairs = measure(&nodes, 1 << 20, &Shared::of_threads(1), &crate::output::Silence);
        assert!(pairs[0].found.as_ref().unwrap_err().contains("set_mempolicy"), "{pairs:?}");
    }
}
