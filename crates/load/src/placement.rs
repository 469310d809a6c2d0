//! On which nodes the memory of a run is asked for, and on which it was found.

use assay_kernel::parse::keyed;
use assay_kernel::{Root, memory_policy};
use assay_units::NodeSet;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::footprint::shown;
use crate::measured::Backing;
use crate::output::Reporter;

/// A node with less than this part of its even share was left out.
const EVEN: f64 = 0.8;

/// The nodes of `--interleave`: a list, or `all` that this process may use.
pub(crate) fn nodes(root: &Root, asked: &str) -> Result<NodeSet, Failure> {
    if asked != "all" {
        return asked
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

/// Asks for the memory of all threads that are started from now on to be spread.
pub(crate) fn interleave(nodes: &NodeSet) -> Result<(), Failure> {
    let ids: Vec<u16> = nodes.iter().collect();
    Ok(memory_policy::interleave(&ids)?)
}

/// Sets what was found beside what was asked. A policy is only a wish: a full node gives way to
/// the others without a word.
pub(crate) fn proof(asked: &NodeSet, backing: &Backing, talk: &dyn Reporter) -> Value {
    let as_asked = match &backing.nodes {
        Err(reason) => {
            talk.say(&format!("placement: not proven: {reason}"));
            json!({ "not_available": reason })
        }
        Ok(found) => {
            let all: u64 = found.values().sum();
            let even = all as f64 / asked.iter().count().max(1) as f64;
            let held = |node: u16| found.get(&node).copied().unwrap_or(0);
            let spread = asked.iter().all(|node| held(node) as f64 >= EVEN * even);
            let list: Vec<String> = found
                .iter()
                .map(|(node, held)| format!("{} on node {node}", shown(*held)))
                .collect();
            let verdict = if spread { "as asked" } else { "NOT as asked" };
            talk.say(&format!("placement: {verdict}: {}", list.join(", ")));
            json!(spread)
        }
    };
    json!({ "interleave": asked.to_string(), "as_asked": as_asked })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::output::Silence;

    fn proven(found: &[(u16, u64)]) -> Value {
        let nodes = Ok(found.iter().copied().collect::<BTreeMap<_, _>>());
        let backing = Backing { huge: Ok(0), nodes };
        proof(&"0-1".parse().unwrap(), &backing, &Silence)["as_asked"].clone()
    }

    #[test]
    fn memory_on_one_of_two_nodes_is_not_spread() {
        assert_eq!(proven(&[(0, 500), (1, 480)]), true);
        assert_eq!(proven(&[(0, 980)]), false);
        assert_eq!(proven(&[(0, 700), (1, 280)]), false);
    }

    #[test]
    fn what_cannot_be_read_proves_nothing() {
        let backing = Backing { huge: Ok(0), nodes: Err("no numa_maps".to_owned()) };
        let proof = proof(&"0".parse().unwrap(), &backing, &Silence);
        assert_eq!(proof["as_asked"]["not_available"], "no numa_maps");
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
