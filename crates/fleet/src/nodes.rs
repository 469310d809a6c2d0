//! Which nodes a fleet may use.

use crate::error::Error;
use crate::slurm::Node;

/// Nodes as requested on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// These nodes, by Slurm's names.
    Hosts(Vec<String>),
    /// This number of nodes, whichever Slurm chooses.
    Count(usize),
    /// All nodes.
    All,
}

/// What Slurm is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    /// One task for each node.
    pub tasks: usize,
    /// Nodes that Slurm must not choose.
    pub exclude: Vec<String>,
    /// Nodes on which no job would start, with the reason.
    pub left_out: Vec<(String, String)>,
}

/// Chooses among the nodes known to Slurm. A named node on which no job would start is an error; one that merely
/// belongs to the partition is left out.
pub fn choose(known: &[Node], choice: &Choice) -> Result<Chosen, Error> {
    let usable = known.iter().filter(|node| node.refuses().is_none()).count();
    let mut chosen = Chosen { tasks: usable, exclude: Vec::new(), left_out: Vec::new() };
    match choice {
        Choice::Hosts(names) => {
            names.iter().enumerate().try_for_each(|(at, name)| check(known, name, &names[..at]))?;
            let others = known.iter().map(|node| &node.name).filter(|name| !names.contains(name));
            (chosen.tasks, chosen.exclude) = (names.len(), others.cloned().collect());
        }
        Choice::Count(count) if *count > usable => {
            return Err(Error::new(format!(
                "{count} nodes requested, but only {usable} would run a job"
            ))
            .hint("`sinfo -N -l` lists them, `sinfo -R` shows why others are down"));
        }
        Choice::Count(count) => chosen.tasks = *count,
        Choice::All => {
            let out = known.iter().filter_map(|node| Some((node.name.clone(), node.refuses()?)));
            chosen.left_out = out.collect();
        }
    }
    match chosen.tasks {
        0 => Err(Error::new("no node would run a job").hint("`sinfo -R` shows why")),
        _ => Ok(chosen),
    }
}

fn check(known: &[Node], name: &String, earlier: &[String]) -> Result<(), Error> {
    let node = known.iter().find(|node| node.name == *name).ok_or_else(|| {
        Error::new(format!("unknown node {name} (not known to Slurm, or not in this partition)"))
            .hint("`sinfo -N -l` lists the nodes")
    })?;
    if let Some(why) = node.refuses() {
        return Err(Error::new(format!("the node {name} runs no jobs ({why})")).hint(
            "leave it out of --hosts, or bring it back: scontrol update nodename=... state=resume",
        ));
    }
    match earlier.contains(name) {
        true => Err(Error::new(format!("the node {name} is named twice"))),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Vec<Node> {
        crate::slurm::nodes("a|mixed|none\nb|idle|none\nc|down*|Not responding\nd|idle|none\n")
    }

    #[test]
    fn down_nodes_are_never_chosen() {
        let all = choose(&known(), &Choice::All).unwrap();
        assert_eq!(
            (all.tasks, all.left_out),
            (3, vec![("c".to_owned(), "down*: Not responding".to_owned())])
        );
        assert_eq!(choose(&known(), &Choice::Count(2)).unwrap().tasks, 2);
        let error = choose(&known(), &Choice::Count(4)).unwrap_err();
        assert!(error.what.contains("only 3 would"), "{error}");
        assert!(choose(&[], &Choice::All).is_err());
    }

    #[test]
    fn a_named_node_must_exist_and_be_up_and_all_others_are_excluded() {
        let hosts = |list: &[&str]| {
            let names = list.iter().map(|name| (*name).to_owned()).collect();
            choose(&known(), &Choice::Hosts(names))
        };
        let chosen = hosts(&["d", "a"]).unwrap();
        assert_eq!((chosen.tasks, chosen.exclude.join(" ")), (2, "b c".to_owned()));
        for (list, expected) in
            [(vec!["x"], "unknown node x"), (vec!["c"], "runs no jobs"), (vec!["a", "a"], "twice")]
        {
            let error = hosts(&list).unwrap_err();
            assert!(error.what.contains(expected), "{error}");
        }
    }
}
