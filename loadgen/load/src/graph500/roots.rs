//! The roots of the searches: up to 64 different vertices that have an edge to another vertex,
//! chosen exactly as in each version of the reference.

use super::dialect::Dialect;
use super::random::Jumps;

/// Chooses up to `count` roots among `vertices` labels. `has_edge` tells whether a label has an
/// edge that is not a loop. Fewer than `count` are not an error: a small graph has no more.
pub(super) fn choose(
    dialect: Dialect,
    seed: Option<u64>,
    vertices: u64,
    count: usize,
    has_edge: impl Fn(u32) -> bool,
) -> Vec<u32> {
    match dialect {
        Dialect::V2 => sampled(dialect, seed, vertices, count, has_edge),
        Dialect::V3 => drawn(dialect, seed, vertices, count, has_edge),
    }
}

/// Selection sampling in one pass (2.1.4): the roots are in ascending order.
fn sampled(
    dialect: Dialect,
    seed: Option<u64>,
    vertices: u64,
    count: usize,
    has_edge: impl Fn(u32) -> bool,
) -> Vec<u32> {
    let mut stream = dialect.stream(seed);
    let mut roots = Vec::with_capacity(count);
    for label in 0..vertices {
        if roots.len() == count {
            break;
        }
        // A number is drawn for every label, with or without edges.
        let spread = (vertices - label) as f64 * stream.next_double();
        let needed = (count - roots.len()) as f64;
        if spread <= needed && has_edge(label as u32) {
            roots.push(label as u32);
        }
    }
    roots
}

/// Rejection sampling (3.0): two doubles per attempt, at a stream position that depends only on the
/// number of attempts. Gives up after as many attempts as there are vertices.
fn drawn(
    dialect: Dialect,
    seed: Option<u64>,
    vertices: u64,
    count: usize,
    has_edge: impl Fn(u32) -> bool,
) -> Vec<u32> {
    let (jumps, start) = (Jumps::new(), dialect.stream(seed));
    let mut roots = Vec::with_capacity(count);
    for attempt in 0..vertices {
        if roots.len() == count {
            break;
        }
        let mut stream = jumps.skip(start, 2, 0, 4 * attempt);
        let sum = stream.next_double() + stream.next_double();
        let root = ((sum * vertices as f64) as u64 % vertices) as u32;
        if has_edge(root) && !roots.contains(&root) {
            roots.push(root);
        }
    }
    roots
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph500::kronecker::Kronecker;
    use crate::output::Silence;
    use crate::parallel_region::ParallelRegion;
    use assay_sys::kernel::anonymous_memory::HugePages;

    fn roots(scale: u32, dialect: Dialect) -> Vec<u32> {
        let edges = Kronecker::new(scale, dialect, None)
            .generate(ParallelRegion::new(2), 16 << scale, false, HugePages::System, &Silence)
            .unwrap();
        let mut connected = vec![false; 1 << scale];
        for [from, to] in edges.pairs.iter().filter(|[from, to]| from != to) {
            connected[*from as usize] = true;
            connected[*to as usize] = true;
        }
        choose(dialect, None, 1 << scale, 64, |label| connected[label as usize])
    }

    #[test]
    fn roots_of_2_1_4_match_the_reference() {
        let small = roots(10, Dialect::V2);
        assert_eq!(small.len(), 64);
        assert_eq!(small[..10], [0, 19, 21, 26, 69, 120, 125, 133, 141, 148]);
        assert_eq!(small[62..], [1007, 1010]);
        let large = roots(16, Dialect::V2);
        assert_eq!(large[..6], [1469, 2553, 3345, 3752, 5249, 7179]);
        assert_eq!(large[62..], [64_975, 65_368]);
    }

    #[test]
    fn roots_of_3_0_match_the_reference() {
        let small = roots(10, Dialect::V3);
        assert_eq!(small[..8], [458, 214, 220, 966, 395, 9, 848, 777]);
        assert_eq!((small.len(), small[63]), (64, 149));
        let larger = roots(13, Dialect::V3);
        assert_eq!(larger[..4], [3668, 1717, 1763, 1008]);
        assert_eq!(larger[63], 3061);
    }

    #[test]
    fn a_small_graph_has_fewer_roots() {
        assert_eq!(roots(4, Dialect::V2), (0..16).collect::<Vec<_>>());
        assert!(roots(3, Dialect::V3).len() <= 8);
        assert!(choose(Dialect::V2, None, 16, 64, |_| false).is_empty());
    }
}
