//! The graph compared with a naive one, and with the numbers of the reference.

use std::collections::{BTreeMap, BTreeSet};

use assay_sys::kernel::anonymous_memory::HugePages;
use proptest::prelude::*;

use super::*;
use crate::graph500::dialect::Dialect;
use crate::graph500::kronecker::Kronecker;
use crate::graph500::trees::edge_list;
use crate::output::Silence;

fn kronecker(scale: u32) -> EdgeList {
    Kronecker::new(scale, Dialect::V2, None)
        .generate(ParallelRegion::new(2), 16 << scale, false, HugePages::System, &Silence)
        .unwrap()
}

fn build(edges: &EdgeList, threads: usize) -> Graph {
    construct(ParallelRegion::new(threads), edges, HugePages::System).unwrap()
}

/// Edges of a graph by label, each with its weight.
fn adjacency(graph: &Graph) -> BTreeMap<u32, Vec<(u32, f32)>> {
    (0..graph.vertices())
        .map(|vertex| {
            let mut row: Vec<(u32, f32)> = graph
                .row(vertex)
                .map(|at| {
                    let weight = graph.weights.as_ref().map_or(0.0, |weights| weights[at]);
                    (graph.order[graph.neighbours[at] as usize], weight)
                })
                .collect();
            row.sort_by_key(|(label, _)| *label);
            (graph.order[vertex], row)
        })
        .collect()
}

/// Loops, distinct edges, isolated vertices and the largest degree, from the reference sheet.
#[test]
fn graphs_have_the_numbers_of_the_reference() {
    for (scale, loops, distinct, isolated, largest) in
        [(4, 38, 58, 0, 128), (10, 147, 10_652, 137, 1919), (16, 479, 909_941, 18_734, 25_640)]
    {
        let edges = kronecker(scale);
        let graph = build(&edges, 2);
        assert_eq!(edges.pairs.iter().filter(|[a, b]| a == b).count(), loops, "SCALE {scale}");
        assert_eq!(graph.neighbours.len(), 2 * distinct, "SCALE {scale}");
        assert_eq!((1 << scale) - graph.vertices(), isolated, "SCALE {scale}");
        let first = graph.order[0];
        let tuples = edges.pairs.iter().filter(|[a, b]| a != b && (*a == first || *b == first));
        assert_eq!(tuples.count(), largest, "SCALE {scale}");
    }
}

#[test]
fn the_graph_does_not_depend_on_the_number_of_threads() {
    let edges = kronecker(9);
    let one = build(&edges, 1);
    for threads in [2, 3, 8] {
        let many = build(&edges, threads);
        assert_eq!(*one.order, *many.order);
        assert_eq!(*one.offsets, *many.offsets);
        assert_eq!(*one.neighbours, *many.neighbours);
        assert_eq!(*one.heads, *many.heads);
    }
}

#[test]
fn a_graph_of_loops_has_no_vertices() {
    let graph = build(&edge_list(&[(1, 1), (0, 0)], None), 2);
    assert_eq!((graph.labels(), graph.vertices()), (2, 0));
    assert_eq!(graph.number(1), None);
    assert_eq!(build(&edge_list(&[], None), 2).labels(), 0);
}

proptest! {
    #[test]
    fn a_graph_contains_exactly_its_edge_list(
        tuples in prop::collection::vec((0u32..40, 0u32..40, 0u32..8), 0..300),
        threads in 1usize..5,
    ) {
        let pairs: Vec<(u32, u32)> = tuples.iter().map(|(from, to, _)| (*from, *to)).collect();
        let weights: Vec<f32> = tuples.iter().map(|(_, _, weight)| *weight as f32).collect();
        let mut expected: BTreeMap<u32, BTreeMap<u32, f32>> = BTreeMap::new();
        for ((from, to), weight) in pairs.iter().zip(&weights).filter(|((a, b), _)| a != b) {
            for (row, other) in [(from, to), (to, from)] {
                let least = expected.entry(*row).or_default().entry(*other).or_insert(*weight);
                *least = least.min(*weight);
            }
        }
        let graph = build(&edge_list(&pairs, Some(&weights)), threads);
        let expected: BTreeMap<u32, Vec<(u32, f32)>> =
            expected.into_iter().map(|(row, to)| (row, to.into_iter().collect())).collect();
        prop_assert_eq!(adjacency(&graph), expected);
        let plain = build(&edge_list(&pairs, None), threads);
        prop_assert_eq!(&*plain.neighbours, &*graph.neighbours);
        for vertex in 0..plain.vertices() {
            let row = plain.neighbours(vertex);
            prop_assert!(row.windows(2).all(|pair| pair[0] < pair[1]), "ascending, without duplicates");
            prop_assert_eq!(plain.heads[vertex], row[0]);
        }
        let numbers: BTreeSet<u32> = plain.rank.iter().copied().filter(|n| *n != NONE).collect();
        prop_assert!(numbers.into_iter().eq(0..plain.vertices() as u32));
    }
}
