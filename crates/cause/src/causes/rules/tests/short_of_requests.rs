//! Rules of a disk whose groups keep few requests outstanding: for lack of a CPU, or since they want no more.

use assay_judge::verdict::ProofState::{Contributes, Excluded, Proven};

use super::disks::{LADDER, in_turns};
use super::{SECONDS, World};
use crate::causes::Measure;

/// The heaviest group keeps so many requests outstanding and gets a quarter of its promise.
fn starved(kept: f64) -> World {
    let world = in_turns(World::new(&LADDER, &[1.0, 2.0, 4.0, 2.0]));
    world.disk(move |number, group| {
        if number == 3 {
            group.scheduler = (kept - 2.0) * SECONDS;
        }
    })
}

fn waiting(world: World, part: f64) -> World {
    world.cpu(move |number, wait| {
        if number == 3 {
            wait.waited = part * 2.0 * SECONDS;
            wait.foreign = vec![("/hog".to_owned(), 0.81 * wait.waited)];
        }
    })
}

#[test]
fn waiting_for_cpus_instead_of_the_disk_proves_the_cpu() {
    let world = waiting(starved(3.0), 0.6);
    assert_eq!(world.proven(Measure::IoBytes), ["C-CPU"]);
    let evidence = world.finding("C-CPU").unwrap().evidence;
    let text = "threads of `task4` waited 12.00 s for a CPU, 60.0 % of their time, 81.0 % of it while /hog ran";
    assert!(evidence.starts_with(text), "{evidence}");
    let full = waiting(starved(8.0), 0.6);
    assert_eq!(
        full.state("C-CPU"),
        Some(Contributes),
        "its requests wait for the disk all the same"
    );
    assert_eq!(waiting(starved(3.0), 0.01).state("C-CPU"), Some(Excluded));
}

#[test]
fn waiting_for_a_quota_or_the_hypervisor_is_no_waiting_for_busy_cpus() {
    let of_its_quota = waiting(starved(3.0), 0.6).cpu(|_, wait| {
        wait.quota = wait.waited;
        wait.foreign.clear();
    });
    assert_eq!(of_its_quota.proven(Measure::IoBytes), [""; 0]);
    assert_eq!(of_its_quota.state("C-CPU"), Some(Excluded));
    let stolen = waiting(starved(3.0), 0.6).cpu(|_, wait| wait.stolen = 0.9 * wait.waited);
    assert_eq!(stolen.state("C-CPU"), Some(Contributes));
    let mut doubtful = waiting(starved(3.0), 0.6).cpu(|_, wait| wait.is_doubtful = true);
    doubtful.has_throttled = true;
    assert_eq!(doubtful.state("C-CPU"), Some(Contributes), "it may have been its quota");
    assert_eq!(World { disturbed: true, ..doubtful }.state("C-CPU"), Some(Contributes));
}

/// Winners of a bond, or of another's lost lag, gain no more than weights or injection give them.
#[test]
fn waiting_of_all_groups_alike_moves_no_share() {
    let all_wait = |served: &[f64], part: f64| {
        let world = in_turns(World::new(&LADDER, served));
        let world = world.disk(move |_, group| {
            (group.scheduler, group.device) = ((6.0 - 8.0 * part) * SECONDS, 2.0 * SECONDS);
        });
        world.cpu(move |_, wait| wait.waited = part * 2.0 * SECONDS)
    };
    let one_lost = all_wait(&[1.0, 1.6, 4.0, 8.0], 0.2);
    assert_eq!(one_lost.state("C-CPU"), Some(Contributes), "{:?}", one_lost.finding("C-CPU"));
    let one_won = all_wait(&[4.0, 1.5, 3.0, 6.0], 0.4);
    assert_eq!(one_won.state("C-CPU"), Some(Contributes), "{:?}", one_won.finding("C-CPU"));
    let more = all_wait(&[1.0, 2.0, 4.0, 2.0], 0.05);
    let more = waiting(more.disk(|_, group| group.scheduler = SECONDS), 0.7);
    assert_eq!(more.state("C-CPU"), Some(Proven), "{:?}", more.finding("C-CPU"));
}

/// Most of all losses is one group's, and another lost a little for another reason.
#[test]
fn what_explains_most_of_all_losses_is_not_excluded() {
    let lost = || in_turns(World::new(&[1.0; 4], &[0.5, 0.92, 1.29, 1.29]));
    let waited = lost().cpu(|number, wait| {
        wait.waited = [0.5, 0.005, 0.0, 0.0][number] * 2.0 * SECONDS;
    });
    assert_eq!(waited.state("C-CPU"), Some(Contributes));
    let few = lost().disk(|number, group| {
        if number == 0 {
            group.scheduler = 2.0 * SECONDS;
        }
    });
    assert_eq!(few.state("C-DEMAND"), Some(Contributes));
}

/// The worker of a loop device that keeps a CPU busy is in no group, and hardly lets threads of groups wait.
#[test]
fn what_the_check_of_cpus_saw_is_not_excluded() {
    let void = |part: f64| World { disturbed: true, ..waiting(starved(8.0), part) };
    assert_eq!(void(0.005).state("C-CPU"), None);
    assert_eq!(void(0.2).state("C-CPU"), Some(Proven));
}

/// A group that waits for CPUs, but another gains what the bond of a waker gives it.
#[test]
fn waiting_for_cpus_does_not_explain_that_one_group_gains() {
    let world = waiting(in_turns(World::new(&LADDER, &[1.0, 2.0, 6.0, 6.0])), 0.3);
    let world = world.disk(|number, group| {
        if number == 3 {
            group.scheduler = 3.0 * SECONDS;
        }
    });
    assert_eq!(world.state("C-CPU"), Some(Contributes), "{:?}", world.finding("C-CPU"));
    assert_eq!(world.state("C-DEMAND"), Some(Contributes));
}

#[test]
fn few_requests_alone_prove_no_low_demand() {
    // They may have been merged, held back by `io.max`, or still wait at the end.
    assert_eq!(starved(3.0).state("C-DEMAND"), Some(Contributes));
    assert_eq!(starved(7.9).state("C-DEMAND"), Some(Excluded));
    assert_eq!(waiting(starved(3.0), 0.3).state("C-DEMAND"), Some(Contributes), "no CPU");
    let blocked = starved(3.0).disk(|number, group| {
        if number == 3 {
            group.own_cap = 0.9 * SECONDS;
        }
    });
    assert_eq!(blocked.state("C-DEMAND"), Some(Contributes), "its thread waits for a place");
}

/// How long threads waited for a CPU suffices; for whom is another question.
#[test]
fn waiting_for_unknown_others_leaves_what_rests_on_its_length() {
    let doubted = |world: World| world.cpu(|_, wait| wait.is_doubtful = true);
    let world = doubted(waiting(starved(3.0), 0.6));
    assert_eq!(world.proven(Measure::IoBytes), ["C-CPU"]);
    assert_eq!(world.state("C-CPU-QUOTA"), None);
    assert_eq!(world.state("C-CPU-OTHERS"), None);
    let of_its_own = World { disturbed: true, ..doubted(starved(3.0)) };
    assert_eq!(
        of_its_own.state("C-DEMAND"),
        Some(Proven),
        "its check failed, and no CPU was short"
    );
    let void = World { disturbed: true, ..doubted(waiting(starved(3.0), 0.6)) };
    assert_eq!(void.state("C-DEMAND"), Some(Contributes));
}
