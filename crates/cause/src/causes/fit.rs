//! How well a cause's prediction for each group fits the measured shares.
//!
//! A cause that fits every broken share explains none. So each cause predicts every group's share
//! as if it acted alone, and is scored by how much nearer that is to the measurement than the
//! promise is, and by whether the groups that gained and lost are the predicted ones.

use assay_judge::estimates::Estimates;
use assay_judge::verdict::Strength;

/// A strong fit explains this part of the distance from the promise.
const EXPLAINS: f64 = 0.75;

/// Below this part a fit explains next to nothing.
const EXPLAINS_SOME: f64 = 0.5;

/// Required part of the errors with the predicted sign, weighted by their size.
const AGREES: f64 = 0.8;

/// Limit of a group's weight: an error by a factor of e.
const MOST: f64 = 1.0;

/// A prediction compared with the measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Fit {
    /// The part of the distance from the promise that the prediction explains.
    explained: f64,
    /// The same if the cause acted only in part, at the part that fits best.
    in_part: f64,
    /// The part of the errors whose sign is the predicted one.
    agreeing: f64,
}

impl Fit {
    /// Predicted shares need not add up to one; `None` where some group is unknown.
    pub(super) fn new(numbers: &Estimates, predicted: &[f64]) -> Option<Self> {
        let seen: Vec<f64> = numbers.shares().collect();
        let promised: Vec<f64> = numbers.promised().collect();
        Self::from_shares(&seen, &promised, predicted)
    }

    /// The same of shares by themselves.
    pub(super) fn from_shares(seen: &[f64], promised: &[f64], predicted: &[f64]) -> Option<Self> {
        let all: f64 = predicted.iter().sum();
        if predicted.len() != seen.len() || !all.is_finite() || all <= 0.0 {
            return None;
        }
        let predicted: Vec<f64> = predicted.iter().map(|share| share / all).collect();
        let off = distance(seen, promised);
        if off <= 0.0 {
            return None;
        }
        let explained = |part: f64| {
            let mixed: Vec<f64> = promised
                .iter()
                .zip(&predicted)
                .map(|(promised, predicted)| promised + part * (predicted - promised))
                .collect();
            1.0 - distance(seen, &mixed) / off
        };
        let in_part = (1..=20).map(|part| explained(f64::from(part) / 20.0)).fold(0.0, f64::max);
        let (mut all, mut agreeing) = (0.0, 0.0);
        for ((seen, promised), predicted) in seen.iter().zip(promised).zip(&predicted) {
            let error = (seen.max(1e-9) / promised).ln().clamp(-MOST, MOST);
            all += error.abs();
            if error * (predicted - promised) > 0.0 {
                agreeing += error.abs();
            }
        }
        Some(Self { explained: explained(1.0), in_part, agreeing: agreeing / all.max(1e-12) })
    }

    /// The resulting strength; `None` where the fit contradicts the cause.
    pub(super) fn strength(self) -> Option<Strength> {
        match self {
            Self { agreeing, .. } if agreeing < AGREES => None,
            Self { explained, .. } if explained >= EXPLAINS => Some(Strength::Strong),
            Self { in_part, .. } if in_part >= EXPLAINS => Some(Strength::Fair),
            Self { in_part, .. } if in_part >= EXPLAINS_SOME => Some(Strength::Weak),
            _ => None,
        }
    }

    /// The largest part of the error that it explains.
    pub(super) fn explained(self) -> f64 {
        self.in_part.max(self.explained)
    }

    /// The part of the error that it explains if it acted in full; 0 where it contradicts the signs.
    pub(super) fn explained_in_full(self) -> f64 {
        if self.agreeing < AGREES { 0.0 } else { self.explained.max(0.0) }
    }

    /// The part of the errors with the predicted sign.
    pub(super) fn agreeing(self) -> f64 {
        self.agreeing
    }
}

/// Total variation distance.
pub(crate) fn distance(one: &[f64], other: &[f64]) -> f64 {
    0.5 * one.iter().zip(other).map(|(one, other)| (one - other).abs()).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WEIGHTS: [f64; 4] = [1.0 / 15.0, 2.0 / 15.0, 4.0 / 15.0, 8.0 / 15.0];

    fn strength(seen: [f64; 4], predicted: [f64; 4]) -> Option<Strength> {
        Fit::from_shares(&seen, &WEIGHTS, &predicted)?.strength()
    }

    #[test]
    fn a_full_fit_is_strong_a_partial_one_fair_and_signs_alone_do_not_fit() {
        assert_eq!(strength([0.25; 4], [1.0; 4]), Some(Strength::Strong));
        let half: Vec<f64> = WEIGHTS.iter().map(|weight| 0.5 * weight + 0.125).collect();
        let half: [f64; 4] = half.try_into().unwrap();
        assert_eq!(strength(half, [1.0; 4]), Some(Strength::Fair));
        // Only the heaviest group lost, to the lightest: not what equal shares for all would look
        // like.
        let seen = [WEIGHTS[0] + 0.2, WEIGHTS[1], WEIGHTS[2], WEIGHTS[3] - 0.2];
        assert_eq!(strength(seen, [0.0, 0.0, 0.1, 0.9]), None);
    }

    #[test]
    fn the_opposite_of_the_prediction_rules_out() {
        let seen = [0.01, 0.05, 0.24, 0.70];
        assert_eq!(strength(seen, [1.0; 4]), None);
    }
}
