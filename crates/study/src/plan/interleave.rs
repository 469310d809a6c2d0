//! Interleaves repeats of several plans (A B B A) so that host drift affects all arms alike.

use crate::{Order, Scalar};
use assay_sys::units::Bytes;

use crate::plan::order::order;
use crate::plan::trial::{Plan, Trial};

/// The factor that distinguishes the trials of such a plan.
pub const CHANGED: &str = "changed";

/// Interleaves trials that differ in one thing each, named by the factor [`CHANGED`]: forwards in
/// one round and backwards in the next, so that a drift of the host does not favour any of them.
#[must_use]
pub fn interleave(arms: Vec<(String, Trial)>, rounds: u32) -> Plan {
    let count = arms.len();
    let named = arms.into_iter().map(|(name, mut trial)| {
        trial.factors.insert(CHANGED.to_owned(), Scalar::Text(name));
        trial
    });
    let trials = named.collect();
    // This order is not random, so it needs no seed.
    let slots = order(count, rounds, Order::Interleaved, 0);
    Plan {
        trials,
        slots,
        comparisons: Vec::new(),
        references: Vec::new(),
        memory: Bytes::default(),
        refusals: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::trial::empty_trial;

    #[test]
    fn rounds_alternate_between_forwards_and_backwards() {
        let arms = ["unchanged", "requests", "strict"].map(|name| (name.to_owned(), empty_trial()));
        let plan = interleave(arms.to_vec(), 2);
        let trials: Vec<usize> = plan.slots.iter().map(|slot| slot.trial).collect();
        assert_eq!(trials, [0, 1, 2, 2, 1, 0]);
        assert_eq!(plan.trials[2].factors[CHANGED], Scalar::Text("strict".to_owned()));
    }
}
