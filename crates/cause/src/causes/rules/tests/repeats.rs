//! What several repeats say together.

use assay_judge::verdict::ProofState::{Contributes, Excluded, Proven};
use assay_judge::verdict::{Proof, ProofState};

use super::super::{Rule, decide};
use super::{Finding, Measure, World};

/// A rule that goes by the requests outstanding: 1 proven, 2 contributes, 3 excluded, else nothing.
const MADE_UP: Rule = Rule {
    code: "C-WAKER",
    summary: "",
    proof: "",
    excluded: "",
    concerns: Measure::is_io,
    examine: |case| {
        let state = match case.depths.as_ref()?.first()?.round() as u32 {
            1 => Proven,
            2 => Contributes,
            3 => Excluded,
            _ => return None,
        };
        Some(Finding { state, evidence: "seen".to_owned() })
    },
};

fn decided(rules: &[Rule], each: &[u32]) -> Vec<Proof> {
    let worlds: Vec<World> = each
        .iter()
        .map(|number| World { depth: f64::from(*number), ..World::new(&[1.0], &[1.0]) })
        .collect();
    let cases: Vec<_> = worlds.iter().map(World::case).collect();
    decide(rules, Measure::IoBytes, &cases, each.len())
}

fn state(each: &[u32]) -> Option<(ProofState, usize)> {
    decided(&[MADE_UP], each).first().map(|proof| (proof.state, proof.repeats))
}

#[test]
fn a_cause_is_proven_in_most_repeats_and_excluded_in_none() {
    assert_eq!(state(&[1]), Some((Proven, 1)));
    assert_eq!(state(&[1, 1, 1, 2]), Some((Proven, 3)));
    assert_eq!(state(&[1, 1, 2]), Some((Contributes, 3)));
    assert_eq!(state(&[1, 1, 1, 3]), Some((Contributes, 3)));
    assert_eq!(state(&[1, 1, 9, 9]), Some((Contributes, 2)), "half of the repeats have no figures");
}

#[test]
fn repeats_count_by_what_was_gained_in_them() {
    let world = |number: u32, gained: f64| World {
        depth: f64::from(number),
        ..World::new(&[1.0, 1.0], &[1.0 + gained, 1.0 - gained])
    };
    let state = |each: &[(u32, f64)]| {
        let worlds: Vec<World> = each.iter().map(|one| world(one.0, one.1)).collect();
        let cases: Vec<_> = worlds.iter().map(World::case).collect();
        decide(&[MADE_UP], Measure::IoBytes, &cases, each.len())[0].state
    };
    assert_eq!(state(&[(1, 0.5), (1, 0.4), (2, 0.02)]), Proven);
    assert_eq!(state(&[(1, 0.5), (1, 0.4), (2, 0.4)]), Contributes);
    assert_eq!(state(&[(1, 0.5), (2, 0.02), (2, 0.02)]), Contributes, "one of three");
    assert_eq!(state(&[(1, 0.5), (1, 0.4), (3, 0.02)]), Contributes, "one speaks against it");
}

#[test]
fn a_cause_is_excluded_in_all_repeats() {
    assert_eq!(state(&[3, 3]), Some((Excluded, 2)));
    assert_eq!(state(&[3, 2]), Some((Contributes, 1)));
    assert_eq!(state(&[3, 9]), None, "a repeat without figures may be another");
    assert_eq!(state(&[9]), None);
}

#[test]
fn two_causes_of_the_same_errors_are_not_both_proven() {
    let other = Rule { code: "C-INJECTION", ..MADE_UP };
    let both = decided(&[MADE_UP, other], &[1, 1]);
    assert_eq!(both.iter().map(|proof| proof.state).collect::<Vec<_>>(), [Contributes; 2]);
    assert!(both[0].evidence.ends_with("; C-INJECTION explains as much"), "{both:?}");
}
