//! Feasible shares: weighted max-min fairness.
//!
//! A thread runs on one CPU at a time, so a group can never use more CPUs than it has threads,
//! whatever its weight. A weight beyond that is infeasible (Chandra et al. 2000): the group gets
//! what it can use, and the others divide the rest by their weights.

/// A part of `whole` for each sibling of `(weight, demand)`: proportional to the weights, capped at
/// the demands, the remainder divided again among the others. Where all demands together are less
/// than the whole, each sibling gets its demand.
pub fn water_fill(whole: f64, siblings: &[(f64, f64)]) -> Vec<f64> {
    let mut parts: Vec<Option<f64>> = vec![None; siblings.len()];
    loop {
        let left = whole - parts.iter().flatten().sum::<f64>();
        let open = || siblings.iter().enumerate().filter(|(index, _)| parts[*index].is_none());
        let weights: f64 = open().map(|(_, (weight, _))| weight).sum();
        let by_weight = |weight: f64| if weights > 0.0 { left * weight / weights } else { 0.0 };
        let capped: Vec<(usize, f64)> = open()
            .filter(|(_, (weight, demand))| by_weight(*weight) > *demand)
            .map(|(index, (_, demand))| (index, *demand))
            .collect();
        if capped.is_empty() {
            let filled = siblings.iter().zip(&parts);
            return filled.map(|((weight, _), part)| part.unwrap_or(by_weight(*weight))).collect();
        }
        for (index, demand) in capped {
            parts[index] = Some(demand);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{found} for {expected}");
        }
    }

    #[test]
    fn weights_decide_while_none_is_capped() {
        close(&water_fill(2.0, &[(100.0, 2.0), (300.0, 2.0)]), &[0.5, 1.5]);
    }

    #[test]
    fn a_group_of_one_thread_gets_one_cpu_and_the_others_divide_the_rest() {
        // 800 of 1500 would be 1.067 of two CPUs.
        let ladder = [(100.0, 1.0), (200.0, 1.0), (400.0, 1.0), (800.0, 1.0)];
        close(&water_fill(2.0, &ladder), &[1.0 / 7.0, 2.0 / 7.0, 4.0 / 7.0, 1.0]);
    }

    #[test]
    fn capping_one_may_cap_the_next() {
        // 8 and 4 of 14 of four CPUs are 2.3 and 1.14; with the first at 1 the second has 2.
        let ladder = [(1.0, 1.0), (1.0, 1.0), (4.0, 1.0), (8.0, 1.0)];
        close(&water_fill(3.0, &ladder), &[0.5, 0.5, 1.0, 1.0]);
    }

    #[test]
    fn demands_below_the_whole_are_met_in_full() {
        close(&water_fill(4.0, &[(1.0, 1.0), (100.0, 2.0)]), &[1.0, 2.0]);
        close(&water_fill(1.0, &[]), &[]);
    }
}
