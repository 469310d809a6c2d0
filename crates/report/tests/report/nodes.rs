//! Tests of reports of machines with several nodes: picture, counters, and predictions from
//! bandwidths.

use std::collections::BTreeMap;

use assay_host::facts::{Available, Node, NodeAccess};
use assay_record::run_folder::{Column, CounterSpan, NodeCounts, Table};

use crate::cases;
use crate::fixture::Run;
use crate::page::{html, text};

fn two_nodes() -> Run {
    let mut run = cases::kept();
    let far = Node {
        id: 1,
        cpus: "1".parse().unwrap(),
        distances: vec![31, 10],
        access: vec![NodeAccess {
            class: 1,
            initiators: "1".parse().unwrap(),
            read_bandwidth: Some(9000),
            write_bandwidth: None,
            read_latency: Some(120),
            write_latency: None,
        }],
        ..run.manifest.host.nodes[0].clone()
    };
    let nodes = &mut run.manifest.host.nodes;
    (nodes[0].cpus, nodes[0].distances) = ("0".parse().unwrap(), vec![10, 31]);
    nodes.push(far);
    run
}

#[test]
fn the_machine_is_shown_with_nodes_caches_and_distances() {
    let page = html(&two_nodes());
    for part in [
        "node 1  CPUs 1, 23.0 GiB; bandwidth",
        "reads 9000 MB/s",
        "L3 32 MiB: cores 1",
        "    10    31\n",
    ] {
        assert!(page.contains(part), "no `{part}` in {page}");
    }
}

#[test]
fn numastat_counters_are_shown_before_and_after() {
    let mut run = cases::kept();
    assert!(!html(&run).contains("Pages counted by node"));
    let counted = |before, after| CounterSpan { before, after };
    let of_node = |hit| BTreeMap::from([("numa_hit".to_owned(), hit)]);
    run.manifest.trials[0].repeats[0].nodes = Some(NodeCounts {
        missed_pages: BTreeMap::new(),
        numastat: [(0, of_node(counted(100, 350))), (1, of_node(counted(7, 8)))].into(),
        moved_pages: Available::Value(0),
        balancing: Available::Value("0".to_owned()),
        weights: BTreeMap::new(),
    });
    let page = html(&run);
    assert!(page.contains("Pages counted by node"));
    assert!(page.contains("100<br>350<br>+250"));
    // A missing counter is not shown as zero.
    assert!(page.contains("not available<br>not available"));
    let text = text(&run);
    assert!(text.contains("numastat of node 0, pages: numa_hit +250"), "{text}");
    assert!(text.contains("numastat of node 1, pages: numa_hit +1"), "{text}");
}

/// Counters of two nodes, each growing by `grown[node]` a second, as sources record them.
fn counters(run: &Run, source: &str, subjects: [&str; 2], columns: &[(&str, [u64; 2])]) -> Table {
    let released = run.manifest.trials[0].repeats[0].released_ns;
    let seconds = 0..=8_u64;
    let column = |(name, grown): &(&str, [u64; 2])| Column {
        name: (*name).to_owned(),
        values: seconds.clone().flat_map(|at| grown.map(|one| Some(one * at))).collect(),
    };
    Table {
        source: source.to_owned(),
        time_ns: seconds.clone().flat_map(|at| [released + at * 1_000_000_000; 2]).collect(),
        subject: seconds.clone().flat_map(|_| [0, 1]).collect(),
        subjects: subjects.map(str::to_owned).to_vec(),
        columns: columns.iter().map(column).collect(),
    }
}

#[test]
fn bandwidth_and_hit_ratio_of_each_node_are_drawn_from_what_counts_them() {
    let mut run = two_nodes();
    assert!(!html(&run).contains("Memory bandwidth of each node"), "the study did not ask");
    let bytes = [("read_bytes", [2_000_000_000, 100_000_000]), ("write_bytes", [500_000_000; 2])];
    let uncore = counters(&run, "uncore", ["node0", "node1"], &bytes);
    run.samples[0][0].push(uncore);
    let caches = [("llc_references", [1000, 500]), ("llc_misses", [100, 400])];
    let perf = counters(&run, "perf", ["host@node0", "host@node1"], &caches);
    run.samples[0][0].push(perf);
    let page = html(&run);
    for row in ["node 0,2500", "node 1,600", "node 0,90", "node 1,20"] {
        assert!(page.contains(row), "no `{row}` in {page}");
    }
}

#[test]
fn a_machine_without_counters_has_the_reason_in_place_of_the_figure() {
    let mut run = two_nodes();
    let why = "no PMU counts memory traffic";
    for source in ["uncore", "perf"] {
        for repeat in &mut run.manifest.trials[0].repeats {
            repeat.not_available.insert(source.to_owned(), why.to_owned());
        }
    }
    let page = html(&run);
    assert_eq!(page.matches("Memory bandwidth of each node").count(), 1, "{page}");
    assert!(page.contains("Hit ratio of the last cache of each node") && page.contains(why));
}

#[test]
fn memory_is_shown_before_during_and_after() {
    let mut run = two_nodes();
    assert!(!html(&run).contains("Memory before, during and after"));
    let mib = 1 << 20;
    let columns = [("active_file_bytes", [mib, 2 * mib]), ("pgscan", [7, 0])];
    let stat = counters(&run, "memory_stat", ["task1", "task2"], &columns);
    let orders = [("free_0", [5, 1]), ("free_9", [2, 3]), ("unusable_permille", [1, 1])];
    let types =
        counters(&run, "pagetypeinfo", ["node0/Normal/Movable", "node1/Normal/Movable"], &orders);
    run.samples[0][0].extend([stat, types]);
    let page = crate::page::without_names(&html(&run));
    let row =
        "<th scope=\"row\"><code>active_file</code></th><td>task1</td><td class=\"n\">0.0 MiB</td>";
    assert!(page.contains("Memory before, during and after") && page.contains(row), "{page}");
    assert!(page.contains("<td class=\"n\">+56</td>"), "a counter grows");
    assert!(page.contains("<td class=\"n\">0<br>8<br>16</td>"), "free blocks of order 9");
    assert!(!page.contains("unusable_permille"));
}
