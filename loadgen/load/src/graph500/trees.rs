//! Helpers of this generator's tests: small edge lists, and naive searches.
#![cfg(test)]

use std::collections::VecDeque;

use assay_sys::kernel::anonymous_memory::{HugePages, Pages};

use super::graph::NONE;
use super::kronecker::EdgeList;

/// An edge list of these tuples.
pub(super) fn edge_list(tuples: &[(u32, u32)], weights: Option<&[f32]>) -> EdgeList {
    let mut pairs = Pages::zeroed(tuples.len(), HugePages::System).unwrap();
    for (pair, (from, to)) in pairs.iter_mut().zip(tuples) {
        *pair = [*from, *to];
    }
    let weights = weights.map(|values| {
        let mut weights = Pages::zeroed(values.len(), HugePages::System).unwrap();
        weights.copy_from_slice(values);
        weights
    });
    EdgeList { pairs, weights }
}

/// Distances in edges from `root`, `NONE` where there is no path.
pub(super) fn depths(tuples: &[[u32; 2]], labels: usize, root: u32) -> Vec<u32> {
    let mut rows = vec![Vec::new(); labels];
    for [from, to] in tuples {
        rows[*from as usize].push(*to);
        rows[*to as usize].push(*from);
    }
    let mut depths = vec![NONE; labels];
    depths[root as usize] = 0;
    let mut waiting = VecDeque::from([root]);
    while let Some(vertex) = waiting.pop_front() {
        for neighbour in &rows[vertex as usize] {
            if depths[*neighbour as usize] == NONE {
                depths[*neighbour as usize] = depths[vertex as usize] + 1;
                waiting.push_back(*neighbour);
            }
        }
    }
    depths
}

/// Depths of the vertices of a tree, by walking up from each of them.
pub(super) fn depths_of_tree(tree: &[u32], root: u32) -> Vec<u32> {
    let depth = |label: usize| {
        let (mut at, mut steps) = (label as u32, 0);
        while at != root {
            if at == NONE || steps as usize > tree.len() {
                return NONE;
            }
            at = tree[at as usize];
            steps += 1;
        }
        steps
    };
    (0..tree.len()).map(|label| if tree[label] == NONE { NONE } else { depth(label) }).collect()
}

/// Distances by weights from `root` (Bellman and Ford, sums in single precision from the root on),
/// infinite where there is no path.
pub(super) fn distances(edges: &EdgeList, labels: usize, root: u32) -> Vec<f32> {
    let weights = edges.weights.as_ref().unwrap();
    let mut distances = vec![f32::INFINITY; labels];
    distances[root as usize] = 0.0;
    loop {
        let mut changed = false;
        for ([from, to], weight) in edges.pairs.iter().zip(weights.iter()) {
            for (from, to) in [(*from, *to), (*to, *from)] {
                let through = distances[from as usize] + weight;
                if through < distances[to as usize] {
                    distances[to as usize] = through;
                    changed = true;
                }
            }
        }
        if !changed {
            return distances;
        }
    }
}
