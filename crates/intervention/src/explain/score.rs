//! Predictions beside what became of the error.

use serde::{Deserialize, Serialize};

use super::predicted_effect::{Expect, Prediction};
use super::rounds::Rounds;
use assay_verdict::Interval;
use assay_verdict::wording::percent;

/// One prediction after the change was tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scored {
    /// The code of the cause.
    pub cause: String,
    /// Why it says so.
    pub law: String,
    /// What it says, in words.
    pub says: String,
    /// The least error that it allows.
    pub low: f64,
    /// The largest error that it allows.
    pub high: f64,
    /// The error that was measured with the change: of all rounds together where it was to vanish,
    /// round by round where it was to become a part of what it is unchanged.
    pub measured: Option<Interval>,
    /// Whether it was right; `None` where the measured interval leaves it open.
    pub right: Option<bool>,
}

impl Scored {
    /// Holds a prediction against the error with the change. `base` is the error without it.
    pub(super) fn of(
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
            Expect::Times { .. } => rounds.map(part).or(error),
        };
        let right = measured.and_then(|seen| {
            let inside = (low..=high).contains(&seen.value);
            let apart = seen.low > high || seen.high < low;
            // Surely changed, and by its estimate the way that the law does not allow.
            let surely = rounds.is_some_and(|rounds| match prediction.expect {
                Expect::Vanishes => false,
                Expect::Times { low, high } => {
                    (rounds.less() && rounds.left < low) || (rounds.more() && rounds.left > high)
                }
            });
            // A value inside with an interval that reaches far out says as little as one outside.
            match (inside, apart || surely) {
                (true, _) => Some(true),
                (false, true) => Some(false),
                (false, false) => None,
            }
        });
        Self {
            cause: prediction.cause.clone(),
            law: prediction.law.clone(),
            says: prediction.expect.says(within),
            low,
            high,
            measured,
            right,
        }
    }

    /// One line for people.
    pub(super) fn line(&self) -> String {
        let measured = self.measured.map_or_else(|| "?".to_owned(), |seen| percent(seen.value));
        let right = match self.right {
            Some(true) => "right",
            Some(false) => "wrong",
            None => "open",
        };
        format!(
            "predicted {} ({}): {} to {}, measured {measured}: {right}",
            self.says,
            self.law,
            percent(self.low),
            percent(self.high)
        )
    }
}
