//! Bonds between queues of BFQ that are not why shares are off, and some that are.

use assay_judge::verdict::ProofState;
use assay_judge::verdict::ProofState::{Contributes, Excluded, Proven};

use super::super::decide;
use super::{SECONDS, World};
use crate::causes::{Measure, RULES};

const LADDER: [f64; 4] = [1.0, 2.0, 4.0, 8.0];

/// A bond: the holder's number, the partner's, and the part of the holder's service in which it lasted.
type Bonded = (usize, usize, f64);

/// Amounts served, of which this part was issued in the service of partners, where a group has any.
fn world(weights: &[f64], served: &[f64], bonds: &[Bonded], injected: f64) -> World {
    let world = World::new(weights, served);
    let seen = world.seen.clone();
    let bonds = bonds.to_vec();
    world.disk(move |number, group| {
        (group.scheduler, group.device) = (6.0 * SECONDS, 2.0 * SECONDS);
        (group.requests, group.in_service) = (seen[number] * 1e5, seen[number]);
        for (_, _, lasted) in bonds.iter().filter(|(_, partner, _)| *partner == number + 1) {
            let part = injected * lasted.ceil();
            group.injected_as_partner = part * group.requests;
            group.in_service = (1.0 - part) * seen[number];
        }
        for (_, partner, lasted) in bonds.iter().filter(|(holder, ..)| *holder == number + 1) {
            group.partners[partner - 1] = *lasted;
        }
    })
}

fn state(world: &World) -> Option<ProofState> {
    world.state("C-WAKER")
}

/// Recorded (docs/results/data/bfq-waker.csv, S budget 512, run 3, and P5, run 3).
#[test]
fn a_partner_of_two_groups_gets_what_both_bring() {
    let two = world(&LADDER, &[0.460, 0.077, 0.155, 0.309], &[(3, 1, 1.0), (4, 1, 1.0)], 1.0);
    let evidence = two.finding("C-WAKER").unwrap().evidence;
    assert_eq!(state(&two), Some(Proven), "{evidence}");
    assert!(evidence.contains("the law of bonds gives 99."), "{evidence}");
    let equal = world(&[1.0; 4], &[0.235, 0.216, 0.210, 0.338], &[(1, 4, 0.9), (3, 4, 0.6)], 1.0);
    assert_eq!(state(&equal), Some(Proven), "{:?}", equal.finding("C-WAKER"));
}

/// 32 sequential reads of 4 KiB outstanding are one or two requests of the disk (the thesis's job file, seen here).
#[test]
fn groups_whose_requests_are_merged_ask_for_what_they_kept() {
    let merged = || {
        let bonds = [(3, 1, 1.0), (4, 1, 1.0)];
        let world = world(&LADDER, &[0.460, 0.077, 0.155, 0.309], &bonds, 1.0);
        world.disk(|_, group| (group.scheduler, group.device) = (SECONDS, SECONDS))
    };
    assert_eq!(state(&merged()), Some(Contributes));
    assert_eq!(state(&World { kept: Some(0.98), ..merged() }), Some(Proven));
}

#[test]
fn one_bond_between_equal_weights_changes_nothing() {
    let off = world(&[1.0; 4], &[1.5, 1.0, 0.8, 0.7], &[(2, 1, 1.0)], 1.0);
    assert_eq!(state(&off), Some(Contributes));
    assert_eq!(off.proven(Measure::IoBytes), [""; 0]);
}

/// The partner gained a fifth and not the elevenfold that its bond would bring: something else makes its bond
/// weak, and may have brought the fifth as well.
#[test]
fn a_bond_of_another_size_proves_nothing() {
    let little = world(&LADDER, &[1.2, 2.0, 4.0, 8.0], &[(4, 1, 1.0)], 0.6);
    assert_eq!(state(&little), Some(Contributes), "{:?}", little.finding("C-WAKER"));
}

/// Injected in the first half and without a turn in the second, the partner has its share; another group is off.
#[test]
fn a_debt_that_was_repaid_proves_nothing() {
    let repaid = world(&LADDER, &[1.0, 3.5, 3.5, 7.0], &[(4, 1, 0.5)], 1.0);
    assert_eq!(state(&repaid), Some(Contributes), "{:?}", repaid.finding("C-WAKER"));
}

/// Recorded (docs/findings/bfq-waker, S): the partner got nothing for 12 s, in debt for what it had got before, and
/// the others divided its part by weight.
#[test]
fn groups_that_gain_by_a_partners_debt_do_not_exclude_the_bond() {
    let debt = |bonds: &[Bonded]| state(&world(&LADDER, &[0.0, 2.0, 4.0, 8.0], bonds, 0.0));
    assert_eq!(debt(&[(4, 1, 0.95)]), Some(Contributes));
    assert_eq!(debt(&[]), Some(Excluded));
    assert_eq!(debt(&[(1, 4, 0.95)]), Some(Excluded), "the partner has more by its weight");
    assert_eq!(debt(&[(4, 1, 0.01)]), Some(Excluded), "hardly ever");
    let began = world(&LADDER, &[0.0, 2.0, 4.0, 8.0], &[], 0.0);
    let began = began.disk(|number, group| {
        group.bonded = vec![number == 3, false, false, false];
    });
    assert_eq!(state(&began), Some(Contributes));
}

/// Two queues of the third group that wake each other, beside its bond with the fourth.
#[test]
fn a_bond_of_a_group_with_itself_brings_nothing() {
    let both = world(&LADDER, &[1.0, 2.0, 8.0, 8.0], &[(4, 3, 1.0), (3, 3, 1.0)], 1.0);
    assert_eq!(state(&both), Some(Proven), "{:?}", both.finding("C-WAKER"));
}

/// Allocation takes 2 us, which of 60 000 requests a second is a tenth of the time.
#[test]
fn a_victim_of_many_requests_waits_for_none_of_them() {
    let served = |each: f64| {
        let world = world(&LADDER, &[8.0, 2.0, 4.0, 8.0], &[(4, 1, 1.0)], 1.0);
        world.disk(move |number, group| {
            if number != 0 {
                group.requests = 6e5;
                group.other_place = each * group.requests;
            }
        })
    };
    assert_eq!(state(&served(2e-6)), Some(Proven));
    assert_eq!(state(&served(2e-5)), Some(Contributes));
}

#[test]
fn a_bond_in_one_repeat_of_four_proves_nothing() {
    let bonded = world(&LADDER, &[8.0, 2.0, 4.0, 8.0], &[(4, 1, 1.0)], 1.0);
    assert_eq!(state(&bonded), Some(Proven));
    let other = world(&LADDER, &[8.0, 2.0, 4.0, 8.0], &[], 0.0);
    let cases = [bonded.case(), other.case(), other.case(), other.case()];
    let proofs = decide(RULES, Measure::IoBytes, &cases, cases.len());
    let waker = proofs.iter().find(|proof| proof.code == "C-WAKER").unwrap();
    assert_eq!((waker.state, waker.repeats), (Contributes, 1));
}

/// Shares as promised, but for noise, have no cause.
#[test]
fn a_bond_while_shares_are_as_promised_proves_nothing() {
    let equal = world(&[1.0; 4], &[1.002, 1.0, 1.0, 0.998], &[(2, 1, 1.0)], 1.0);
    assert_eq!(state(&equal), Some(Contributes), "{:?}", equal.finding("C-WAKER"));
    let exact = world(&[1.0; 4], &[1.0; 4], &[(2, 1, 1.0)], 1.0);
    assert_eq!(state(&exact), None);
}

/// The light groups lose at their caps for a good part of the time, as the law of the bond would have it, too.
#[test]
fn a_bond_that_looks_like_a_cap_is_not_proven() {
    let of = |capped: f64| {
        let bonded = world(&[1.0, 1.0, 4.0, 5.0], &[0.8, 0.8, 4.8, 4.6], &[(4, 3, 1.0)], 1.0);
        bonded.disk(move |number, group| {
            if number < 2 {
                group.own_cap = capped * SECONDS;
                (group.held, group.idle) = (Some(6.0), capped);
            }
        })
    };
    assert_eq!(state(&of(0.0)), Some(Proven));
    assert_eq!(state(&of(0.4)), Some(Contributes));
    assert_eq!(of(0.4).proven(Measure::IoBytes), [""; 0]);
}

/// The heaviest group asks for little, so that another gains what it leaves.
#[test]
fn a_bond_beside_low_demand_is_not_proven() {
    let of = |kept: f64| {
        let bonded = world(&LADDER, &[2.5, 2.0, 4.0, 6.5], &[(4, 1, 0.35)], 1.0);
        bonded.disk(move |number, group| {
            if number == 3 {
                group.scheduler = (kept - 2.0) * SECONDS;
            }
        })
    };
    assert_eq!(state(&of(8.0)), Some(Proven), "{:?}", of(8.0).finding("C-WAKER"));
    assert_eq!(state(&of(3.0)), Some(Contributes));
}
