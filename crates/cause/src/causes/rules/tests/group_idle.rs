//! The rule of a disk that is kept for a group with nothing queued.

use assay_judge::verdict::ProofState::{Contributes, Excluded, Proven};

use super::disks::{LADDER, in_turns};
use super::{SECONDS, World};
use crate::causes::Measure;

const CODE: &str = "C-GROUP-IDLE";

/// The heaviest group pauses after each of its large requests, and keeps the disk: as recorded of 200 requests a second
/// at weight 800, 99.8 % in service, of which 97.8 % idle, while 23 requests of the others waited.
fn held() -> World {
    in_turns(World::new(&LADDER, &[0.2, 0.3, 0.5, 9.0])).disk(|number, group| match number {
        3 => {
            (group.in_service, group.idle) = (0.998, 0.978);
            (group.scheduler, group.device) = (0.01 * SECONDS, 0.2 * SECONDS);
        }
        _ => (group.in_service, group.scheduler) = (0.0007, 7.5 * SECONDS),
    })
}

#[test]
fn a_group_that_keeps_the_disk_and_hardly_uses_it_is_proven() {
    let found = held().finding(CODE).unwrap();
    assert_eq!(found.state, Proven, "{found:?}");
    assert!(found.evidence.contains("waited for `task4` during 97.6 %"), "{found:?}");
    assert_eq!(held().proven(Measure::IoBytes), [CODE]);
}

#[test]
fn the_ends_of_turns_are_no_group_that_keeps_the_disk() {
    let usual = in_turns(World::new(&LADDER, &[1.0, 2.0, 4.0, 2.0]));
    let usual = usual.disk(|_, group| group.idle = 0.05);
    assert_eq!(usual.state(CODE), Some(Excluded), "{:?}", usual.finding(CODE));
}

/// Requests that come late because threads wait for CPUs.
#[test]
fn a_disk_that_waits_for_a_cpu_is_not_kept_by_a_group() {
    let late = held().cpu(|number, wait| {
        if number == 3 {
            wait.waited = 0.97 * SECONDS;
        }
    });
    assert_eq!(late.state(CODE), None, "{:?}", late.finding(CODE));
}

#[test]
fn a_bond_or_an_empty_queue_of_those_that_lost_leaves_it_open() {
    let bonded = held().disk(|number, group| {
        if number == 3 {
            group.partners[2] = 0.9;
        }
    });
    assert_eq!(bonded.state(CODE), Some(Contributes));
    let dry = held().disk(|number, group| {
        if number == 0 {
            group.scheduler = 0.2 * SECONDS;
        }
    });
    assert_eq!(dry.state(CODE), Some(Contributes));
    // What it lacks itself, no idling for it explains.
    let own = in_turns(World::new(&LADDER, &[1.0, 2.0, 4.0, 0.5])).disk(|number, group| {
        if number == 3 {
            (group.in_service, group.idle) = (0.998, 0.978);
        }
    });
    assert_eq!(own.state(CODE), None, "{:?}", own.finding(CODE));
}
