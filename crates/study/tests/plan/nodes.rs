//! Placements on NUMA nodes.

use crate::*;

/// Two nodes with two CPUs and a gibibyte each.
fn host_of_two_nodes() -> HostFacts {
    let node = |id, cpus: &str, distances| Node {
        id,
        cpus: cpus.parse().unwrap(),
        memory: Bytes::mebi(1024),
        distances,
        access: Vec::new(),
    };
    HostFacts {
        nodes: vec![node(0, "0-1", vec![10, 20]), node(1, "2-3", vec![20, 10])],
        memory_nodes: "0-1".parse().unwrap(),
        cpus: Cpus {
            online: "0-3".parse().unwrap(),
            allowed: "0-3".parse().unwrap(),
            model: String::new(),
            cores: ["0", "1", "2", "3"].map(|cpu| cpu.parse().unwrap()).into(),
        },
        kernel: "6.12.0".to_owned(),
        ..host(true)
    }
}

fn measures(plan: &Plan, trial: usize) -> Vec<&str> {
    plan.trials[trial].promises.iter().map(|promise| promise.measure.as_str()).collect()
}

#[test]
fn each_trial_has_the_promises_of_its_program() {
    let placement = plan(&study("numa-placement"), &host_of_two_nodes(), 1);
    let refusals: Vec<&str> = placement.refusals.iter().map(|one| one.what.as_str()).collect();
    assert!(!refusals.iter().any(|what| what.contains("NUMA nodes")), "{refusals:?}");
    assert_eq!(placement.trials.len(), 13, "two programs, six placements, and the matrix once");
    for (index, trial) in placement.trials.iter().enumerate() {
        let program = trial.factors["program"].to_string();
        assert_eq!(trial.groups[0].workloads[0].name, format!("task.{program}"));
        let expected: &[&str] = if program == "matrix" { &[] } else { &["threads", "pages"] };
        assert_eq!(measures(&placement, index), expected, "{program}");
    }
    let flags = plan(&study("numa-local-remote"), &host_of_two_nodes(), 1);
    assert_eq!(flags.trials.len(), 5);
    for (index, trial) in flags.trials.iter().enumerate() {
        let is = |name: &str| trial.factors[name] == Scalar::Boolean(true);
        let program = trial.factors["program"].to_string();
        let expected: &[&str] = match program.as_str() {
            "matrix" => &["matrix.far_to_near_load"],
            _ if is("local") || is("remote") => &["pages", "copy.nodes_seen"],
            _ => &["pages"],
        };
        assert_eq!(measures(&flags, index), expected, "{:?}", trial.factors);
    }
}

#[test]
fn numa_studies_are_refused_on_one_node_with_a_remedy() {
    for name in ["numa-placement", "numa-misplaced", "numa-mix", "numa-local-remote"] {
        let plan = plan(&study(name), &host(true), 1);
        let nodes = plan.refusals.iter().find(|one| one.what.contains("needs NUMA nodes"));
        let nodes = nodes.unwrap_or_else(|| panic!("{name}: {:?}", plan.refusals));
        assert!(nodes.remedy.contains("assay lab run"), "{name}: {nodes:?}");
    }
}
