//! Working set sizes, evenly spaced on a logarithmic scale.

/// All working sets are multiples of this page size.
const PAGE: u64 = 4096;

/// Sizes from `from` to `to` bytes with `points` per doubling: whole pages, ascending, without
/// duplicates. `None` if there is no whole page in the range.
pub(super) fn sizes(from: u64, to: u64, points: u32) -> Option<Vec<u64>> {
    let (from, to) = (from.max(PAGE).next_multiple_of(PAGE), to / PAGE * PAGE);
    if from > to {
        return None;
    }
    let step = f64::from(points).recip().exp2();
    let mut sizes: Vec<u64> = (0..)
        .map(|at| from as f64 * step.powi(at))
        .map(|size| (size / PAGE as f64).round() as u64 * PAGE)
        .take_while(|size| *size < to)
        .collect();
    sizes.push(to);
    sizes.dedup();
    Some(sizes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two_are_included_and_no_size_occurs_twice() {
        let sizes = sizes(4096, 1 << 20, 4).unwrap();
        assert!(sizes.windows(2).all(|pair| pair[0] < pair[1]), "{sizes:?}");
        for power in 12..=20 {
            assert!(sizes.contains(&(1 << power)), "{power}: {sizes:?}");
        }
        assert!(sizes.iter().all(|size| size.is_multiple_of(PAGE)));
    }

    #[test]
    fn a_range_without_a_page_has_no_sizes() {
        assert_eq!(sizes(8192, 4096, 4), None);
        assert_eq!(sizes(0, 100, 4), None);
        assert_eq!(sizes(1, 5000, 4), Some(vec![4096]));
    }
}
