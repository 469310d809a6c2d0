//! Compares predictions with the measured effect.

use assay_verdict::Interval;
use assay_verdict::wording::percent;
use serde::{Deserialize, Serialize};

use super::predicted_effect::Prediction;
use super::rounds::Rounds;
use assay_judge::Expect;

/// One prediction after the change was tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScoredPrediction {
    /// The code of the cause.
    pub cause: String,
    /// The reason for the prediction.
    #[serde(rename = "law")]
    pub why: String,
    /// The prediction in words.
    pub says: String,
    /// Smallest error allowed by the prediction.
    pub low: f64,
    /// Largest error allowed by the prediction.
    pub high: f64,
    /// Measured error under the change: over all rounds where it should vanish, round by round
    /// where it should stay above the margin or become a multiple of the unchanged error.
    pub measured: Option<Interval>,
    /// Whether the prediction was right, by the rounds within the margin too where it is about the margin; `None` where the measured interval does not decide.
    pub right: Option<bool>,
}

impl ScoredPrediction {
    /// Compares a prediction with the measured error. `base` is the error without the change.
    pub(super) fn new(
        prediction: &Prediction,
        base: f64,
        within: f64,
        error: Option<Interval>,
        rounds: Option<Rounds>,
    ) -> Self {
        let (low, high) = prediction.expect.range(base, within);
        let part = |rounds: Rounds| Interval {
            value: rounds.left * base,
            low: rounds.low * base,
            high: rounds.high * base,
        };
        let measured = match prediction.expect {
            Expect::Vanishes => error,
            Expect::Remains | Expect::Times { .. } => rounds.map(part).or(error),
        };
        let right = measured.and_then(|measured| {
            // Opposite errors of rounds cancel in the error over all of them.
            let inside = match (prediction.expect, rounds) {
                (Expect::Remains, Some(rounds)) => 2 * rounds.within < rounds.rounds,
                (Expect::Vanishes, Some(rounds)) => measured.value <= high && rounds.are_within(),
                _ => (low..=high).contains(&measured.value),
            };
            let apart = match (prediction.expect, rounds) {
                (Expect::Remains, Some(rounds)) => rounds.are_within(),
                _ => measured.low > high || measured.high < low,
            };
            // A significant change in a direction that the prediction excludes, by its estimate.
            let surely = rounds.is_some_and(|rounds| match prediction.expect {
                Expect::Vanishes | Expect::Remains => false,
                Expect::Times { low, high } => {
                    (rounds.less() && rounds.left < low) || (rounds.more() && rounds.left > high)
                }
            });
            // An estimate outside decides only if the interval excludes the predicted range.
            match (inside, apart || surely) {
                (true, _) => Some(true),
                (false, true) => Some(false),
                (false, false) => None,
            }
        });
        Self {
            cause: prediction.cause.clone(),
            why: prediction.why.clone(),
            says: prediction.expect.describe(within),
            low,
            high,
            measured,
            right,
        }
    }

    /// One line of text.
    pub(super) fn line(&self) -> String {
        let measured =
            self.measured.map_or_else(|| "?".to_owned(), |measured| percent(measured.value));
        let right = match self.right {
            Some(true) => "right",
            Some(false) => "wrong",
            None => "open",
        };
        format!(
            "predicted {} ({}): {} to {}, measured {measured}: {right}",
            self.says,
            self.why,
            percent(self.low),
            percent(self.high)
        )
    }
}
