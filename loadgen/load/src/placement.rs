//! NUMA placement of a run's memory: the requested policy, and verification of where the memory is.

use assay_load_memory::memory_policy;
use assay_sys::kernel::Root;
use assay_sys::kernel::parse::keyed;
use assay_sys::units::NodeSet;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::footprint::format_bytes;
use crate::measured::Backing;
use crate::output::Reporter;

/// A node with less than this part of an even share is considered unused.
const EVEN: f64 = 0.8;

/// Parses the nodes of `--interleave`: a list, or `all` nodes that this process may use.
pub(crate) fn nodes(root: &Root, requested: &str) -> Result<NodeSet, Failure> {
    if requested != "all" {
        return requested
            .parse()
            .map_err(|error| Failure::usage(format!("--interleave: {error}, or `all`")));
    }
    let allowed = root
        .read("/proc/self/status")
        .ok()
        .and_then(|status| keyed::colon(&status, "Mems_allowed_list")?.parse().ok());
    allowed.ok_or_else(|| Failure::Unable {
        what: "/proc/self/status does not say which nodes are allowed (Mems_allowed_list)".into(),
        remedy: "name the nodes, as in --interleave 0-1".into(),
    })
}

/// Interleaves the memory of all threads that are started from now on.
pub(crate) fn interleave(nodes: &NodeSet) -> Result<(), Failure> {
    let ids: Vec<u16> = nodes.iter().collect();
    Ok(memory_policy::interleave(&ids)?)
}

/// Compares the actual with the requested placement. The kernel does not guarantee a policy: it
/// silently uses other nodes when one is full.
pub(crate) fn verify(requested: &NodeSet, backing: &Backing, reporter: &dyn Reporter) -> Value {
    let is_spread = match &backing.nodes {
        Err(reason) => {
            reporter.line(&format!("placement: not verified: {reason}"));
            json!({ "not_available": reason })
        }
        Ok(bytes_by_node) => {
            let all: u64 = bytes_by_node.values().sum();
            let even = all as f64 / requested.iter().count().max(1) as f64;
            let held = |node: u16| bytes_by_node.get(&node).copied().unwrap_or(0);
            let spread = requested.iter().all(|node| held(node) as f64 >= EVEN * even);
            let list: Vec<String> = bytes_by_node
                .iter()
                .map(|(node, held)| format!("{} on node {node}", format_bytes(*held)))
                .collect();
            let verdict = if spread { "as requested" } else { "NOT as requested" };
            reporter.line(&format!("placement: {verdict}: {}", list.join(", ")));
            json!(spread)
        }
    };
    json!({ "interleave": requested.to_string(), "as_asked": is_spread })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::output::Silence;

    fn verified(bytes_by_node: &[(u16, u64)]) -> Value {
        let nodes = Ok(bytes_by_node.iter().copied().collect::<BTreeMap<_, _>>());
        let backing = Backing { huge: Ok(0), nodes };
        verify(&"0-1".parse().unwrap(), &backing, &Silence)["as_asked"].clone()
    }

    #[test]
    fn memory_on_one_of_two_nodes_is_not_interleaved() {
        assert_eq!(verified(&[(0, 500), (1, 480)]), true);
        assert_eq!(verified(&[(0, 980)]), false);
        assert_eq!(verified(&[(0, 700), (1, 280)]), false);
    }

    #[test]
    fn unreadable_placement_is_not_verified() {
        let backing = Backing { huge: Ok(0), nodes: Err("no numa_maps".to_owned()) };
        let verify = verify(&"0".parse().unwrap(), &backing, &Silence);
        assert_eq!(verify["as_asked"]["not_available"], "no numa_maps");
    }

    #[test]
    fn nodes_are_a_list_or_all_that_are_allowed() {
        let tree = tempfile::tempdir().unwrap();
        let root = Root::at(tree.path());
        assert!(matches!(nodes(&root, "all"), Err(Failure::Unable { .. })));
        std::fs::create_dir_all(tree.path().join("proc/self")).unwrap();
        std::fs::write(tree.path().join("proc/self/status"), "Mems_allowed_list:\t0-3\n").unwrap();
        assert_eq!(nodes(&root, "all").unwrap().to_string(), "0-3");
        assert_eq!(nodes(&root, "1,3").unwrap().to_string(), "1,3");
        assert!(matches!(nodes(&root, "some"), Err(Failure::Usage(_))));
    }
}
