//! Searches compared with a naive implementation.

use assay_sys::kernel::anonymous_memory::HugePages;
use proptest::prelude::*;

use super::*;
use crate::graph500::construct::construct;
use crate::graph500::dialect::Dialect;
use crate::graph500::kronecker::Kronecker;
use crate::graph500::trees::{depths, depths_of_tree, edge_list};
use crate::output::Silence;

/// Depths computed by a search with this many threads from each of the roots, one after the other
/// in the same memory.
fn depths_from(
    edges: &crate::graph500::kronecker::EdgeList,
    roots: &[u32],
    threads: usize,
) -> Vec<Vec<u32>> {
    let region = ParallelRegion::new(threads);
    let graph = construct(region, edges, HugePages::System).unwrap();
    let mut search = Search::new(region, &graph, HugePages::System).unwrap();
    let mut tree = vec![7; graph.labels()];
    roots
        .iter()
        .map(|root| {
            assert!(search.run(*root, &mut tree) >= 0.0);
            depths_of_tree(&tree, *root)
        })
        .collect()
}

/// A Kronecker graph makes a search change direction twice.
#[test]
fn depths_do_not_depend_on_the_number_of_threads() {
    let edges = Kronecker::new(11, Dialect::V2, None)
        .generate(ParallelRegion::new(2), 16 << 11, false, HugePages::System, &Silence)
        .unwrap();
    let labels = 1 << 11;
    let connected =
        |label: &u32| edges.pairs.iter().any(|[a, b]| a != b && (a == label || b == label));
    let roots: Vec<u32> = (0..labels).filter(connected).step_by(200).collect();
    for threads in [1, 2, 3, 5] {
        for (root, actual) in roots.iter().zip(depths_from(&edges, &roots, threads)) {
            let mut expected = depths(&edges.pairs, labels as usize, *root);
            expected.truncate(actual.len());
            assert_eq!(actual, expected, "root {root}, {threads} threads");
        }
    }
}

/// A long path is searched top-down only, level by level.
#[test]
fn a_path_is_searched_to_its_end() {
    let tuples: Vec<(u32, u32)> = (0..3000).map(|vertex| (vertex, vertex + 1)).collect();
    let edges = edge_list(&tuples, None);
    let depths = &depths_from(&edges, &[0], 2)[0];
    assert!(depths.iter().copied().eq(0..=3000));
}

#[test]
fn a_root_without_edges_reaches_nothing() {
    let edges = edge_list(&[(0, 0), (1, 2)], None);
    let region = ParallelRegion::new(1);
    let graph = construct(region, &edges, HugePages::System).unwrap();
    let mut tree = vec![5; 3];
    Search::new(region, &graph, HugePages::System).unwrap().run(0, &mut tree);
    assert_eq!(tree, [NONE; 3]);
}

proptest! {
    #[test]
    fn depths_match_a_naive_search(
        tuples in prop::collection::vec((0u32..200, 0u32..200), 1..600),
        threads in 1usize..4,
    ) {
        let edges = edge_list(&tuples, None);
        let Some((root, _)) = tuples.iter().find(|(from, to)| from != to) else { return Ok(()) };
        let actual = &depths_from(&edges, &[*root], threads)[0];
        prop_assert_eq!(actual, &depths(&edges.pairs, actual.len(), *root));
    }
}
