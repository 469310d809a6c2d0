//! Whether a search's account of itself is right, computed again point by point.

use std::collections::BTreeSet;

use super::centers::Center;
use super::points::Points;
use super::search::Found;
use crate::failure::Failure;

/// Millions of sums in single precision may drift by this much of the cost.
const DRIFT: f64 = 1e-3;

/// Every point has a centre that is one, its cost is its distance, and the cost is their sum.
pub(super) fn search(points: &Points, found: &Found) -> Result<(), Failure> {
    let centers: BTreeSet<u32> = found.assigned.iter().copied().collect();
    let mut row = vec![0.0; points.dimension()];
    let mut sum = 0.0;
    for &center in &centers {
        if found.assigned[center as usize] != center {
            return Err(wrong(&format!("point {center} is a centre and belongs to another")));
        }
        points.row(center as usize, &mut row);
        for point in (0..points.len()).filter(|point| found.assigned[*point] == center) {
            let cost = points.weights()[point] * points.distance(point, &row);
            if (cost - found.costs[point]).abs() > 1e-5 * cost.max(1e-3) {
                let kept = found.costs[point];
                return Err(wrong(&format!("point {point} costs {cost}, the search says {kept}")));
            }
            sum += f64::from(cost);
        }
    }
    let cost = found.price * centers.len() as f64 + sum;
    if found.price > 0.0 && (cost - found.cost).abs() > DRIFT * cost {
        return Err(wrong(&format!("the cost is {cost}, the search says {}", found.cost)));
    }
    Ok(())
}

/// The weights of all centres are those of all points, and no centre is there twice.
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
