//! Runs ours and its peer interleaved in one run, and compares a quantity of both.

use crate::failure::Failure;
use crate::figure::{Figure, Shown, would_decide};
use crate::statistics::{Estimate, Reached, pairs_needed};

const CONFIDENCE: f64 = 0.95;
const PART: Shown = Shown { factor: 1.0, unit: "of the peer's", decimals: 3 };

/// Result of one round.
pub(crate) struct Pair<F> {
    pub(crate) ours: F,
    pub(crate) peer: F,
}

/// Rounds of one run each, with alternating order.
pub(crate) fn in_turns<F>(
    rounds: usize,
    ours: impl Fn() -> Result<F, Failure>,
    peer: impl Fn() -> Result<F, Failure>,
) -> Result<Vec<Pair<F>>, Failure> {
    let pair = |round: usize| {
        if round.is_multiple_of(2) {
            let ours = ours()?;
            Ok(Pair { ours, peer: peer()? })
        } else {
            let peer = peer()?;
            Ok(Pair { ours: ours()?, peer })
        }
    };
    (0..rounds).map(pair).collect()
}

/// A quantity of ours relative to the peer's, with the interval of the ratio over the rounds.
pub(crate) fn of_peer<F>(
    name: &str,
    pairs: &[Pair<F>],
    at_most: f64,
    quantity: impl Fn(&F) -> f64,
) -> Result<Figure, Failure> {
    let pairs: Vec<(f64, f64)> =
        pairs.iter().map(|pair| (quantity(&pair.peer), quantity(&pair.ours))).collect();
    let ratio = Estimate::ratio(&pairs, CONFIDENCE)
        .ok_or_else(|| Failure::Failed("too few rounds for an interval".to_owned()))?;
    Ok(Figure::bound(name, ratio, at_most, &PART))
}

/// The same for a quantity that must equal the peer's.
pub(crate) fn as_peer<F>(
    name: &str,
    pairs: &[Pair<F>],
    margin: f64,
    quantity: impl Fn(&F) -> f64,
) -> Result<Figure, Failure> {
    let mut figure = of_peer(name, pairs, 1.0, &quantity)?;
    let pairs: Vec<(f64, f64)> =
        pairs.iter().map(|pair| (quantity(&pair.peer), quantity(&pair.ours))).collect();
    let ratio = Estimate::ratio(&pairs, CONFIDENCE)
        .ok_or_else(|| Failure::Failed("too few rounds for an interval".to_owned()))?;
    figure.target = format!("the peer's within {:.0} %", margin * 100.0);
    figure.of_target = None;
    figure.reached = ratio.is_one_within(margin);
    if figure.reached == Reached::Undecided
        && let Some(needed) = pairs_needed(&pairs, CONFIDENCE, margin)
    {
        figure.remarks.push(would_decide(Some(needed), "rounds"));
    }
    Ok(figure)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn the_order_alternates_between_rounds() {
        let order = RefCell::new(String::new());
        let record = |word: &str| {
            order.borrow_mut().push_str(word);
            Ok(word.to_owned())
        };
        let pairs = in_turns(3, || record("o"), || record("p")).unwrap();
        assert_eq!(order.borrow().as_str(), "oppoop");
        assert!(pairs.iter().all(|pair| pair.ours == "o" && pair.peer == "p"));
    }

    #[test]
    fn half_as_much_as_the_peer_is_a_ratio_of_a_half() {
        let pairs = [1.0, 1.1, 0.9].map(|ours| Pair { ours, peer: 2.0 });
        let figure = of_peer("x", &pairs, 0.6, |value| *value).unwrap();
        assert!(figure.measured.starts_with("0.49") || figure.measured.starts_with("0.50"));
        assert!(of_peer("x", &pairs[..1], 0.6, |value| *value).is_err());
    }

    #[test]
    fn equality_with_the_peer_allows_neither_more_nor_less() {
        let figure = |ours: [f64; 3]| {
            let pairs = ours.map(|ours| Pair { ours, peer: 1.0 });
            as_peer("x", &pairs, 0.03, |value| *value).unwrap()
        };
        assert_eq!(figure([1.001, 0.999, 1.0]).reached, Reached::Yes);
        assert_eq!(figure([0.9, 0.901, 0.899]).reached, Reached::No);
        assert_eq!(figure([1.1, 1.101, 1.099]).reached, Reached::No);
        let noisy = figure([0.9, 1.1, 1.0]);
        assert_eq!(noisy.reached, Reached::Undecided);
        assert!(noisy.remarks[0].contains("rounds would decide"), "{noisy:?}");
    }
}
