//! Verifies the result of a search by recomputing it point by point.

use std::collections::BTreeSet;

use super::centers::Center;
use super::points::Points;
use super::search::Solution;
use crate::failure::Failure;

/// Allowed relative drift of the cost: millions of sums are in single precision.
const DRIFT: f64 = 1e-3;

/// Every point is assigned to a centre, its cost is its distance, and the total cost is their sum.
pub(super) fn search(points: &Points, solution: &Solution) -> Result<(), Failure> {
    let centers: BTreeSet<u32> = solution.assigned.iter().copied().collect();
    let mut row = vec![0.0; points.dimension()];
    let mut sum = 0.0;
    for &center in &centers {
        if solution.assigned[center as usize] != center {
            return Err(wrong(&format!("point {center} is a centre, but assigned to another")));
        }
        points.row(center as usize, &mut row);
        for point in (0..points.len()).filter(|point| solution.assigned[*point] == center) {
            let cost = points.weights()[point] * points.distance(point, &row);
            if (cost - solution.costs[point]).abs() > 1e-5 * cost.max(1e-3) {
                let kept = solution.costs[point];
                return Err(wrong(&format!(
                    "point {point} costs {cost}, but the search recorded {kept}"
                )));
            }
            sum += f64::from(cost);
        }
    }
    let cost = solution.price * centers.len() as f64 + sum;
    if solution.price > 0.0 && (cost - solution.cost).abs() > DRIFT * cost {
        return Err(wrong(&format!(
            "the cost is {cost}, but the search recorded {}",
            solution.cost
        )));
    }
    Ok(())
}

/// The centres have the weight of all points, and no centre occurs twice.
pub(super) fn centers(centers: &[Center], points: u64) -> Result<(), Failure> {
    let weight: f64 = centers.iter().map(|center| f64::from(center.weight)).sum();
    if (weight - points as f64).abs() > 1e-6 * points as f64 {
        return Err(wrong(&format!("the centres weigh {weight}, but {points} points were read")));
    }
    let ids: BTreeSet<u64> = centers.iter().map(|center| center.id).collect();
    if ids.len() < centers.len() || ids.last().is_some_and(|last| *last >= points) {
        return Err(wrong(&format!("centres {ids:?} are not distinct points of {points}")));
    }
    Ok(())
}

fn wrong(text: &str) -> Failure {
    Failure::Wrong(format!("streamcluster failed verification: {text}"))
}
