//! Selection of a fleet's nodes.

use crate::document::LeftOut;
use crate::error::Error;
use crate::slurm::Node;

/// Nodes as requested on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// These nodes, by Slurm's names.
    Hosts(Vec<String>),
    /// This number of nodes, idle ones first, in Slurm's order.
    Count(usize),
    /// All nodes.
    All,
}

/// The selected nodes of a fleet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    /// Nodes to submit to.
    pub nodes: Vec<Node>,
    /// Requested nodes on which no job would start.
    pub left_out: Vec<LeftOut>,
}

impl Chosen {
    /// The largest number of nodes that share one host, and so run their tasks one after the other.
    #[must_use]
    pub fn tasks_per_host(&self) -> usize {
        let sharing = |node: &Node| {
            self.nodes.iter().filter(|other| other.host_name == node.host_name).count()
        };
        self.nodes.iter().map(sharing).max().unwrap_or(1)
    }
}

/// Selects among the nodes known to Slurm. An explicitly named node that would never run its task
/// is an error; one that merely belongs to a partition is left out, with its reason.
pub fn choose(known: Vec<Node>, choice: &Choice) -> Result<Chosen, Error> {
    let (nodes, left_out) = match choice {
        Choice::Hosts(names) => (named(&known, names)?, Vec::new()),
        Choice::Count(count) => (first(known, *count)?, Vec::new()),
        Choice::All => {
            let (out, nodes): (Vec<Node>, Vec<Node>) =
                known.into_iter().partition(|node| node.refuses().is_some());
            let out = out.into_iter().filter_map(|node| {
                let why = node.refuses()?;
                Some(LeftOut { node: node.name, why })
            });
            (nodes, out.collect())
        }
    };
    if nodes.is_empty() {
        return Err(Error::new("no node of the fleet would run a job").hint("`sinfo -R` shows why"));
    }
    Ok(Chosen { nodes, left_out })
}

fn named(known: &[Node], names: &[String]) -> Result<Vec<Node>, Error> {
    let mut nodes: Vec<Node> = Vec::new();
    for name in names {
        let node = known.iter().find(|node| node.name == *name).ok_or_else(|| {
            let all: Vec<&str> = known.iter().map(|node| node.name.as_str()).take(20).collect();
            Error::new(format!(
                "unknown node {name} (not known to Slurm, or not in this partition)"
            ))
            .hint(format!("known nodes: {}", all.join(", ")))
        })?;
        if let Some(why) = node.refuses() {
            return Err(Error::new(format!("the node {name} runs no jobs ({why})")).hint(
                "leave it out of --hosts, or bring it back: scontrol update nodename=... \
                       state=resume",
            ));
        }
        if nodes.iter().any(|known| known.name == *name) {
            return Err(Error::new(format!("the node {name} is named twice")));
        }
        nodes.push(node.clone());
    }
    Ok(nodes)
}

fn first(known: Vec<Node>, count: usize) -> Result<Vec<Node>, Error> {
    let mut able: Vec<Node> = known.into_iter().filter(|node| node.refuses().is_none()).collect();
    if able.len() < count {
        let have = able.len();
        return Err(Error::new(format!(
            "{count} nodes requested, but only {have} would run a job"
        ))
        .hint("`sinfo -N -l` lists them, `sinfo -R` shows why others are down"));
    }
    // A stable sort: equal nodes keep Slurm's order.
    able.sort_by_key(|node| !node.is_idle());
    able.truncate(count);
    Ok(able)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, state: &str) -> Node {
        Node {
            name: name.to_owned(),
            host_name: "vm".to_owned(),
            state: state.to_owned(),
            reason: "none".to_owned(),
        }
    }

    fn known() -> Vec<Node> {
        vec![node("a", "mixed"), node("b", "idle"), node("c", "down*"), node("d", "idle")]
    }

    fn names(chosen: &Chosen) -> Vec<&str> {
        chosen.nodes.iter().map(|node| node.name.as_str()).collect()
    }

    #[test]
    fn idle_nodes_come_first_and_down_nodes_are_never_selected() {
        assert_eq!(names(&choose(known(), &Choice::Count(2)).unwrap()), ["b", "d"]);
        assert_eq!(names(&choose(known(), &Choice::Count(3)).unwrap()), ["b", "d", "a"]);
        let error = choose(known(), &Choice::Count(4)).unwrap_err();
        assert!(error.what.contains("3 would"), "{error}");
    }

    #[test]
    fn down_nodes_of_a_partition_are_left_out_with_a_reason() {
        let chosen = choose(known(), &Choice::All).unwrap();
        assert_eq!(names(&chosen), ["a", "b", "d"]);
        assert_eq!(chosen.left_out, [LeftOut { node: "c".to_owned(), why: "down*".to_owned() }]);
        assert_eq!(chosen.tasks_per_host(), 3, "they are one host");
        assert!(choose(vec![node("c", "down")], &Choice::All).is_err());
    }

    #[test]
    fn a_named_node_must_exist_and_be_up() {
        let hosts =
            |list: &[&str]| Choice::Hosts(list.iter().map(|name| (*name).to_owned()).collect());
        assert_eq!(names(&choose(known(), &hosts(&["d", "a"])).unwrap()), ["d", "a"]);
        for (list, expected) in
            [(vec!["x"], "unknown node x"), (vec!["c"], "runs no jobs"), (vec!["a", "a"], "twice")]
        {
            let error = choose(known(), &hosts(&list)).unwrap_err();
            assert!(error.what.contains(expected), "{error}");
        }
    }
}
