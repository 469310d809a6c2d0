//! Rules of promises on a disk.

use assay_judge::verdict::ProofState::{Contributes, Excluded, Proven};

use super::{Case, SECONDS, World};
use crate::causes::{Measure, RULES};

pub(super) const LADDER: [f64; 4] = [1.0, 2.0, 4.0, 8.0];

/// As many requests as were served, each group in service as long as it was served, most of them in the scheduler.
pub(super) fn in_turns(world: World) -> World {
    let seen = world.seen.clone();
    world.disk(|number, group| {
        (group.scheduler, group.device) = (6.0 * SECONDS, 2.0 * SECONDS);
        (group.requests, group.in_service) = (seen[number] * 1e5, seen[number]);
    })
}

/// The second group is the partner of the fourth, whose turns both share.
fn bonded() -> World {
    in_turns(World::new(&LADDER, &[1.0, 8.0, 4.0, 8.0])).disk(|number, group| match number {
        1 => (group.in_service, group.injected_as_partner) = (0.0, group.requests),
        3 => {
            group.in_service = 16.0 / 21.0;
            group.partners[1] = 0.95;
        }
        _ => {}
    })
}

#[test]
fn a_partner_that_is_never_in_service_proves_the_waker() {
    let world = bonded();
    assert_eq!(world.proven(Measure::IoBytes), ["C-WAKER"], "{:?}", world.finding("C-WAKER"));
    let evidence = world.finding("C-WAKER").unwrap().evidence;
    assert!(
        evidence.contains("`task2` got 38.1 %, was in service 0.0 % of the time"),
        "{evidence}"
    );
    for code in ["C-INJECTION", "C-TAG-CAP", "C-REQUEST-POOL", "C-DEVICE-QUEUE", "C-DEMAND"] {
        assert_eq!(world.state(code), Some(Excluded), "{code}: {:?}", world.finding(code));
    }
}

/// A bond between equal groups changes nothing. The light groups lose at their caps.
#[test]
fn a_harmless_bond_beside_a_cap_is_not_the_cause() {
    let world = in_turns(World::new(&[1.0, 1.0, 4.0, 4.0], &[0.5, 0.5, 4.0, 4.0]));
    let world = world.disk(|number, group| match number {
        0 | 1 => {
            (group.own_cap, group.scheduler) = (0.9 * SECONDS, 0.0);
            (group.held, group.idle) = (Some(6.0), 0.8);
        }
        _ => {
            group.injected_as_partner = 0.5 * group.requests;
            group.partners[5 - number] = 1.0;
        }
    });
    assert_eq!(world.state("C-WAKER"), Some(Contributes), "{:?}", world.finding("C-WAKER"));
    assert_eq!(world.proven(Measure::IoBytes), ["C-TAG-CAP"]);
}

#[test]
fn a_bond_with_another_group_than_the_law_needs_proves_nothing() {
    let world = bonded().disk(|number, group| match number {
        // The bond was with the lightest group, which cannot bring that much.
        3 => group.partners[1] = 0.0,
        0 => group.partners[1] = 1.0,
        _ => {}
    });
    assert_eq!(world.state("C-WAKER"), Some(Contributes));
    let mut few = bonded();
    few.measured.disk.as_mut().unwrap().samples = 200.0;
    assert_eq!(few.state("C-WAKER"), None, "too few samples say nothing");
}

#[test]
fn a_partner_whose_victims_wait_for_a_place_is_not_proven() {
    let world = bonded().disk(|number, group| {
        if number == 3 {
            group.own_cap = 0.8 * SECONDS;
        }
    });
    assert_eq!(world.state("C-WAKER"), Some(Contributes));
    assert_eq!(world.proven(Measure::IoBytes), [""; 0]);
}

#[test]
fn requests_in_the_service_of_others_prove_injection_and_ends_of_turns_do_not() {
    let turns = |injected: f64| {
        let world = in_turns(World::new(&LADDER, &[3.0, 2.0, 4.0, 8.0]));
        world.disk(move |number, group| {
            group.injected_otherwise = 0.12 * group.requests;
            if number == 0 {
                group.injected_otherwise += injected * group.requests;
                group.in_service *= 1.0 - injected;
            }
        })
    };
    let with_a_limit = |injected: f64| {
        let mut world = turns(injected).disk(|_, g| g.injected_by_limit = g.injected_otherwise);
        world.measured.disk.as_mut().unwrap().injects = true;
        world
    };
    assert_eq!(with_a_limit(0.7).proven(Measure::IoBytes), ["C-INJECTION"]);
    assert_eq!(with_a_limit(0.3).state("C-INJECTION"), Some(Contributes));
    assert_eq!(
        with_a_limit(0.0).state("C-INJECTION"),
        Some(Contributes),
        "ends of turns look like injection: nothing is known of 19 %"
    );
    assert_eq!(turns(0.0).state("C-INJECTION"), Some(Excluded));
    assert_eq!(turns(0.7).state("C-INJECTION"), Some(Excluded), "BFQ was to inject nothing");
}

/// Three of four groups have most of their requests injected: that is what is usual, and no reason to exclude it.
#[test]
fn injection_into_most_groups_is_not_excluded() {
    let mut world = in_turns(World::new(&LADDER, &[3.0, 2.0, 4.0, 8.0])).disk(|number, group| {
        if number != 3 {
            group.injected_otherwise = 0.7 * group.requests;
            group.injected_by_limit = group.injected_otherwise;
            group.in_service *= 0.3;
        }
    });
    world.measured.disk.as_mut().unwrap().injects = true;
    assert_eq!(world.state("C-INJECTION"), Some(Contributes));
}

/// By weight the caps are 4, 9, 17 and 34 of 64.
fn capped(served: &[f64], waiting: [f64; 4]) -> World {
    in_turns(World::new(&LADDER, served)).disk(move |number, group| {
        group.own_cap = waiting[number] * SECONDS;
        group.idle = 0.9 * waiting[number];
        group.held = (waiting[number] > 0.0).then_some([4.2, 8.6, 17.0, 34.0][number]);
    })
}

#[test]
fn losers_that_wait_at_their_caps_prove_the_cap() {
    let world = capped(&[0.6, 1.2, 4.0, 8.0], [0.9, 0.8, 0.0, 0.0]);
    assert_eq!(world.proven(Measure::IoBytes), ["C-TAG-CAP"]);
    // All wait, the heaviest least.
    let all = capped(&[0.02, 0.06, 0.1, 16.0], [1.0, 1.0, 0.99, 0.7]);
    assert_eq!(all.proven(Measure::IoBytes), ["C-TAG-CAP"]);
}

#[test]
fn a_cap_does_not_explain_losers_without_one_or_winners_at_theirs() {
    let heavy_lost = capped(&[1.3, 2.6, 5.2, 6.0], [0.9, 0.8, 0.0, 0.0]);
    assert_eq!(heavy_lost.state("C-TAG-CAP"), Some(Excluded));
    let light_won = capped(&[4.0, 1.0, 4.0, 8.0], [1.0, 0.9, 0.0, 0.0]);
    assert_eq!(light_won.state("C-TAG-CAP"), Some(Contributes), "a capped group won");
    let others_off = capped(&[0.6, 1.2, 6.0, 6.0], [0.9, 0.8, 0.0, 0.0]);
    assert_eq!(others_off.state("C-TAG-CAP"), Some(Contributes), "the heaviest lost most");
    let queued =
        capped(&[0.6, 1.2, 4.0, 8.0], [0.9, 0.8, 0.0, 0.0]).disk(|_, group| group.idle = 0.05);
    assert_eq!(queued.state("C-TAG-CAP"), Some(Contributes), "they had requests in their turns");
    let other_limit = capped(&[0.6, 1.2, 4.0, 8.0], [0.9, 0.8, 0.0, 0.0])
        .disk(|_, group| group.held = group.held.map(|held| held / 2.0));
    assert_eq!(other_limit.state("C-TAG-CAP"), Some(Contributes), "they held less than their caps");
}

#[test]
fn a_thread_that_waits_for_a_cpu_does_not_wait_for_its_cap() {
    let waiting = |part: f64| {
        capped(&[0.6, 1.2, 4.0, 8.0], [0.9, 0.8, 0.0, 0.0]).cpu(move |number, wait| {
            if number < 2 {
                wait.waited = part * SECONDS;
            }
        })
    };
    assert_eq!(waiting(1.8).proven(Measure::IoBytes), [""; 0]);
    assert_eq!(waiting(0.5).state("C-TAG-CAP"), Some(Contributes), "most of the wait for a place");
    assert_eq!(
        waiting(0.3).proven(Measure::IoBytes),
        ["C-TAG-CAP"],
        "as readers on busy CPUs have it"
    );
    let mut unknown = waiting(0.0);
    unknown.measured.cpu = Err("refused".to_owned());
    assert_eq!(unknown.state("C-TAG-CAP"), Some(Contributes));
    let mut no_samples = waiting(0.0);
    no_samples.measured.disk.as_mut().unwrap().samples = 0.0;
    assert_eq!(no_samples.state("C-TAG-CAP"), Some(Contributes), "whether BFQ waited is not known");
}

#[test]
fn short_waits_for_a_place_do_not_exclude_the_cap() {
    let short = capped(&[0.6, 1.2, 4.0, 8.0], [0.0; 4]);
    assert_eq!(short.state("C-TAG-CAP"), Some(Excluded));
    let short = short.disk(|number, group| {
        if number < 2 {
            group.other_place = 0.9 * SECONDS;
        }
    });
    assert_eq!(short.state("C-TAG-CAP"), Some(Contributes));
}

#[test]
fn places_of_several_hardware_queues_prove_and_exclude_nothing() {
    let state = |world: &World, code: &str| {
        let rule = RULES.iter().find(|rule| rule.code == code).unwrap();
        let case = Case { pool: Some(64.0), ..world.case() };
        (rule.examine)(&case).map(|found| found.state)
    };
    let mut all_wait = capped(&[0.6, 1.2, 4.0, 8.0], [0.9, 0.8, 0.0, 0.0]);
    for (pool, cap, exhausted) in [(64.0, Proven, Excluded), (128.0, Contributes, Contributes)] {
        all_wait.measured.disk.as_mut().unwrap().pool = pool;
        assert_eq!(state(&all_wait, "C-TAG-CAP"), Some(cap));
        assert_eq!(state(&all_wait, "C-REQUEST-POOL"), Some(exhausted));
    }
    let mut nobody_waits = bonded();
    nobody_waits.measured.disk.as_mut().unwrap().pool = 128.0;
    assert_eq!(state(&nobody_waits, "C-REQUEST-POOL"), Some(Excluded));
}

/// Each of twelve has a twelfth of all losses.
#[test]
fn many_groups_that_lose_alike_are_losers() {
    let groups = |light: f64, heavy: f64| [[light; 12].as_slice(), &[heavy; 4]].concat();
    let world = in_turns(World::new(&groups(1.0, 3.0), &groups(0.6, 4.2)));
    let world = world.disk(|number, group| {
        if number < 12 {
            (group.own_cap, group.scheduler) = (0.9 * SECONDS, 0.0);
            (group.held, group.idle) = (Some(6.0), 0.8);
        }
    });
    assert_eq!(world.proven(Measure::IoBytes), ["C-TAG-CAP"], "{:?}", world.finding("C-TAG-CAP"));
    let queued = world.disk(|_, group| group.own_cap = 0.0);
    assert_eq!(queued.state("C-TAG-CAP"), Some(Excluded));
}

#[test]
fn a_full_pool_is_proven_by_waiting_and_shares_by_requests_outstanding() {
    let world = |served: &[f64], waiting: f64| {
        in_turns(World::new(&LADDER, served))
            .disk(move |_, group| group.pool_full = waiting * SECONDS)
    };
    assert_eq!(world(&[1.0; 4], 0.9).proven(Measure::IoBytes), ["C-REQUEST-POOL"]);
    assert_eq!(world(&[1.0; 4], 0.3).state("C-REQUEST-POOL"), Some(Excluded));
    let other = world(&[1.0, 8.0, 4.0, 8.0], 0.9);
    assert_eq!(other.state("C-REQUEST-POOL"), Some(Contributes), "the shares of a bond");
}

#[test]
fn an_empty_scheduler_proves_the_device_queue_unless_little_was_outstanding() {
    let in_device = |requests: f64| {
        World::new(&LADDER, &[1.0; 4]).disk(move |_, group| {
            (group.scheduler, group.device) = (0.01 * SECONDS, requests * SECONDS);
        })
    };
    assert_eq!(in_device(7.9).proven(Measure::IoBytes), ["C-DEVICE-QUEUE"]);
    assert_eq!(in_device(3.0).state("C-DEVICE-QUEUE"), Some(Contributes));
    let weights = in_device(7.9).disk(|_, group| group.scheduler = 3.0 * SECONDS);
    assert_eq!(weights.state("C-DEVICE-QUEUE"), Some(Excluded));
}
