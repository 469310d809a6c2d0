//! Tests of reports of machines with several nodes: picture, counters, and predictions from
//! bandwidths.

use std::collections::BTreeMap;

use assay_facts::{Available, Node, NodeAccess};
use assay_run_folder::{CounterSpan, NodeCounts};
use assay_verdict::ExpectedGain;

use crate::cases;
use crate::fixture::Run;

fn html(run: &Run) -> String {
    assay_report::html(&run.manifest, &run.judgement, &run.samples).unwrap()
}

fn text(run: &Run) -> String {
    assay_report::text(&run.manifest, &run.judgement, 400, false)
}

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
fn machine_picture_needs_no_code_and_has_a_title_and_description() {
    let page = html(&two_nodes());
    let picture = page.split("<svg class=\"topology\"").nth(1).unwrap();
    let picture = picture.split("</svg>").next().unwrap();
    for part in [
        "role=\"img\"",
        "<title id=\"topology-title\">",
        "Node 1 with 23.0 GiB: L3 32 MiB, CPU 1.",
        "Distances of node 0: 10 to node 0, 31 to node 1.",
        "reads 9000 MB/s",
        "class=\"far far-2\"",
    ] {
        assert!(picture.contains(part), "no `{part}` in {picture}");
    }
    // Colours come from the page's light and dark styles.
    assert!(!picture.contains("fill=") && !picture.contains("style="), "{picture}");
    assert!(page.contains("prefers-color-scheme: dark") && page.contains(".topology .core"));
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
    assert!(page.contains("100<br>350<br><strong>+250</strong>"));
    // A missing counter is not shown as zero.
    assert!(page.contains("not available<br>not available"));
    let text = text(&run);
    assert!(text.contains("numastat of node 0, pages: numa_hit +250"), "{text}");
    assert!(text.contains("numastat of node 1, pages: numa_hit +1"), "{text}");
}

#[test]
fn gain_is_shown_with_the_prediction_from_bandwidths() {
    let mut run = cases::across();
    let reference = &mut run.judgement.references[0];
    reference.to = [("limit".to_owned(), 0.6.into())].into();
    reference.ours[0].value = Some(1.2);
    reference.expected = vec![ExpectedGain {
        if_memory_bound: Some(2.0),
        memory_bound_part: Some(1.0 / 3.0),
        not_available: None,
    }];
    for output in [text(&run), html(&run)] {
        assert!(output.contains("if entirely memory-bound"), "{output}");
        assert!(output.contains("33"), "{output}");
    }
    run.judgement.references[0].expected =
        vec![ExpectedGain { not_available: Some("not measured".to_owned()), ..Default::default() }];
    let text = text(&run);
    assert!(text.contains("not available: not measured"), "{text}");
}
