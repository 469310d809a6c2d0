//! Ours and its peer in turns within one run, and a quantity of ours as a part of the peer's.

use crate::figure::{Figure, Shown};
use crate::statistics::Estimate;
use crate::trouble::Trouble;

const CONFIDENCE: f64 = 0.95;
const PART: Shown = Shown { factor: 1.0, unit: "of the peer's", decimals: 3 };

/// What one round has found.
pub(crate) struct Pair<F> {
    pub(crate) ours: F,
    pub(crate) peer: F,
}

/// Rounds of one run each, who comes first in turn.
pub(crate) fn in_turns<F>(
    rounds: usize,
    ours: impl Fn() -> Result<F, Trouble>,
    peer: impl Fn() -> Result<F, Trouble>,
) -> Result<Vec<Pair<F>>, Trouble> {
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

/// A quantity of ours as a part of the peer's, with the interval of the ratio over the rounds.
pub(crate) fn of_peer<F>(
    name: &str,
    pairs: &[Pair<F>],
    at_most: f64,
    of: impl Fn(&F) -> f64,
) -> Result<Figure, Trouble> {
    let pairs: Vec<(f64, f64)> =
        pairs.iter().map(|pair| (of(&pair.peer), of(&pair.ours))).collect();
    let ratio = Estimate::ratio(&pairs, CONFIDENCE)
        .ok_or_else(|| Trouble::Failed("too few rounds for an interval".to_owned()))?;
    Ok(Figure::bound(name, ratio, at_most, &PART))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn who_comes_first_changes_from_round_to_round() {
        let order = RefCell::new(String::new());
        let says = |word: &str| {
            order.borrow_mut().push_str(word);
            Ok(word.to_owned())
        };
        let pairs = in_turns(3, || says("o"), || says("p")).unwrap();
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
}
