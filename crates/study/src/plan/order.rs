//! The order of trials and repeats.

use crate::Order;

/// One repeat of one trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RepeatId {
    /// Index of the trial.
    pub trial: usize,
    /// Which repeat of it, from 0.
    pub repeat: u32,
}

/// Every repeat of every trial. A random order shuffles trials within each round of repeats, so
/// that a drift of the host affects all trials alike. An interleaved one goes forwards in one round
/// and backwards in the next: over two rounds every trial has the same mean time, so a steady drift
/// cancels exactly instead of only on average over many rounds.
#[must_use]
pub fn order(trials: usize, repeats: u32, order: Order, seed: u64) -> Vec<RepeatId> {
    let mut state = seed;
    let mut slots = Vec::with_capacity(trials * repeats as usize);
    for repeat in 0..repeats {
        let mut round: Vec<usize> = (0..trials).collect();
        match order {
            Order::Random => shuffle(&mut round, &mut state),
            Order::Interleaved if repeat % 2 == 1 => round.reverse(),
            Order::Interleaved | Order::AsWritten => {}
        }
        slots.extend(round.into_iter().map(|trial| RepeatId { trial, repeat }));
    }
    slots
}

/// Fisher-Yates shuffle, with a generator whose sequence is part of the record of a run and must
/// therefore never change with a dependency's version.
fn shuffle(round: &mut [usize], state: &mut u64) {
    for last in (1..round.len()).rev() {
        let choice = split_mix(state) % (last as u64 + 1);
        round.swap(last, usize::try_from(choice).unwrap_or(last));
    }
}

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_repeat_of_every_trial_runs_once_in_rounds() {
        for kind in [Order::Random, Order::AsWritten, Order::Interleaved] {
            let slots = order(6, 3, kind, 7);
            for (round, chunk) in slots.chunks(6).enumerate() {
                let mut trials: Vec<usize> = chunk.iter().map(|slot| slot.trial).collect();
                trials.sort_unstable();
                assert_eq!(trials, [0, 1, 2, 3, 4, 5]);
                assert!(chunk.iter().all(|slot| slot.repeat as usize == round));
            }
        }
    }

    #[test]
    fn the_seed_decides_the_order() {
        assert_eq!(order(6, 2, Order::Random, 7), order(6, 2, Order::Random, 7));
        assert_ne!(order(6, 2, Order::Random, 7), order(6, 2, Order::Random, 8));
        let as_written: Vec<usize> =
            order(3, 1, Order::AsWritten, 7).iter().map(|s| s.trial).collect();
        assert_eq!(as_written, [0, 1, 2]);
    }

    #[test]
    fn interleaved_trials_have_the_same_mean_time() {
        let slots = order(2, 4, Order::Interleaved, 7);
        let trials: Vec<usize> = slots.iter().map(|slot| slot.trial).collect();
        assert_eq!(trials, [0, 1, 1, 0, 0, 1, 1, 0]);
        let when =
            |trial| -> usize { (0..trials.len()).filter(|index| trials[*index] == trial).sum() };
        assert_eq!(when(0), when(1));
    }

    #[test]
    fn the_generator_has_the_published_sequence() {
        let mut state = 1_234_567;
        assert_eq!(split_mix(&mut state), 6_457_827_717_110_365_317);
        assert_eq!(split_mix(&mut state), 3_203_168_211_198_807_973);
    }
}
