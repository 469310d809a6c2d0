//! Each rule, violated once.

use proptest::prelude::*;

use super::*;
use crate::graph500::trees::{distances as plain_distances, edge_list};

/// A square 0-1-2-3 with a tail 3-4, a loop at 2, one edge twice, and an island 5-6.
const TUPLES: [(u32, u32); 8] = [(0, 1), (1, 2), (3, 2), (0, 3), (3, 4), (2, 2), (1, 0), (5, 6)];
/// A valid tree of it from 0.
const TREE: [u32; 7] = [0, 0, 1, 0, 3, NONE, NONE];

fn validate(tree: &[u32], threads: usize) -> Result<Traversed, Fault> {
    let edges = edge_list(&TUPLES, None);
    let mut validator =
        Validator::new(ParallelRegion::new(threads), &edges, 7, HugePages::System).unwrap();
    validator.tree(0, tree)
}

/// The tree with one parent changed.
fn with_parent(label: usize, parent: u32) -> Result<Traversed, Fault> {
    let mut tree = TREE;
    tree[label] = parent;
    validate(&tree, 2)
}

#[test]
fn a_valid_tree_is_accepted_and_its_tuples_are_counted() {
    for threads in [1, 2, 3] {
        assert_eq!(validate(&TREE, threads), Ok(Traversed { joining: 6, loops: 1 }));
    }
    assert!(with_parent(2, 3).is_ok(), "another parent on the same level");
}

#[test]
fn a_root_that_is_not_its_own_parent_is_refused() {
    assert_eq!(with_parent(0, 1), Err(Fault::Root { root: 0 }));
    assert_eq!(with_parent(0, NONE).unwrap_err().code(), -999);
}

#[test]
fn a_cycle_is_refused() {
    let mut tree = TREE;
    (tree[5], tree[6]) = (6, 5);
    let fault = validate(&tree, 2).unwrap_err();
    assert!(matches!(fault, Fault::Cycle { .. }), "{fault}");
    assert_eq!(fault.code(), -1);
}

#[test]
fn a_parent_that_was_not_reached_is_refused() {
    assert_eq!(with_parent(4, 5), Err(Fault::OffTheEnd { vertex: 4 }));
    assert_eq!(with_parent(4, 99).unwrap_err().code(), -2, "a parent beyond the labels");
}

#[test]
fn a_tree_that_does_not_span_its_component_is_refused() {
    let fault = with_parent(4, NONE).unwrap_err();
    assert_eq!(fault, Fault::HalfReached { from: 3, to: 4, from_is: true });
    assert_eq!(fault.code(), -12);
    let edges = edge_list(&[(1, 0), (0, 2)], None);
    let mut validator =
        Validator::new(ParallelRegion::new(1), &edges, 3, HugePages::System).unwrap();
    assert_eq!(validator.tree(0, &[0, NONE, 0]).unwrap_err().code(), -13);
}

#[test]
fn levels_that_differ_by_more_than_one_are_refused() {
    // 3 hangs below 2 instead of 0: a tree, but not of shortest paths.
    let fault = with_parent(3, 2).unwrap_err();
    assert_eq!(fault, Fault::Levels { from: 0, to: 3, levels: [0, 3] });
    assert_eq!(fault.code(), -14);
}

#[test]
fn a_tree_edge_that_the_list_lacks_is_refused() {
    // 4 is on the right level for a child of 1, but there is no edge to it.
    let fault = with_parent(4, 1).unwrap_err();
    assert_eq!(fault, Fault::NoSuchEdge { vertex: 4, parent: 1 });
    assert_eq!(fault.code(), -15);
}

#[test]
fn a_second_root_is_refused() {
    assert_eq!(with_parent(5, 5), Err(Fault::SecondRoot { vertex: 5 }));
    assert_eq!(with_parent(4, 4).unwrap_err().code(), -16);
}

#[test]
fn a_tree_of_another_length_is_refused() {
    assert_eq!(validate(&TREE[..5], 2), Err(Fault::Length { expected: 7, found: 5 }));
    let edges = edge_list(&[(0, 1), (1, 9)], None);
    let mut validator =
        Validator::new(ParallelRegion::new(2), &edges, 2, HugePages::System).unwrap();
    assert_eq!(validator.tree(0, &[0, 0]).unwrap_err().code(), -10);
}

/// The same graph with weights; 3 is reached via 1 and 2, since its own edge is heavy.
const WEIGHTS: [f32; 8] = [0.25, 0.25, 0.125, 1.0, 0.5, 0.0, 0.5, 0.75];
const PATHS: [u32; 7] = [0, 0, 1, 2, 3, NONE, NONE];
const FAR: f32 = f32::INFINITY;
const DISTANCES: [f32; 7] = [0.0, 0.25, 0.5, 0.625, 1.125, FAR, FAR];

fn paths(tree: &[u32], distances: &[f32]) -> Result<Traversed, Fault> {
    let edges = edge_list(&TUPLES, Some(&WEIGHTS));
    let mut validator =
        Validator::new(ParallelRegion::new(2), &edges, 7, HugePages::System).unwrap();
    validator.paths(0, tree, distances)
}

/// The distances with one changed.
fn with_distance(label: usize, distance: f32) -> Result<Traversed, Fault> {
    let mut distances = DISTANCES;
    distances[label] = distance;
    paths(&PATHS, &distances)
}

#[test]
fn correct_distances_are_accepted() {
    assert_eq!(plain_distances(&edge_list(&TUPLES, Some(&WEIGHTS)), 7, 0), DISTANCES);
    assert_eq!(paths(&PATHS, &DISTANCES), Ok(Traversed { joining: 6, loops: 1 }));
}

#[test]
fn a_distance_above_or_below_the_shortest_is_refused() {
    assert!(matches!(with_distance(4, 1.5), Err(Fault::Triangle { from: 3, to: 4, .. })));
    assert!(matches!(with_distance(4, 1.0), Err(Fault::NoSuchEdge { vertex: 4, parent: 3 })));
}

#[test]
fn a_path_that_is_not_the_shortest_is_refused() {
    // 3 via its own edge: the distance is right for that parent but too long.
    let (mut tree, mut distances) = (PATHS, DISTANCES);
    (tree[3], distances[3]) = (0, 1.0);
    assert!(matches!(paths(&tree, &distances), Err(Fault::Triangle { .. })));
}

#[test]
fn a_parent_needs_a_distance_and_vice_versa() {
    for (label, distance) in [(4, FAR), (5, 1.0), (4, -1.0), (4, f32::NAN)] {
        let fault = with_distance(label, distance).unwrap_err();
        assert!(matches!(fault, Fault::Distance { .. }), "{label}: {fault}");
    }
    assert_eq!(with_distance(0, 0.5), Err(Fault::Root { root: 0 }));
}

proptest! {
    /// A changed tree is accepted only if it is still valid.
    #[test]
    fn a_changed_tree_is_accepted_only_if_valid(label in 1usize..7, parent in 0u32..8) {
        let parent = if parent == 7 { NONE } else { parent };
        let is_right = parent == TREE[label] || (label, parent) == (2, 3);
        prop_assert_eq!(with_parent(label, parent).is_ok(), is_right);
    }
}
