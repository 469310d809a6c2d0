//! Rules of promises on CPU time, in worlds whose CPUs divide themselves exactly by weight.

use std::array::from_fn;

use assay_judge::verdict::ProofState;
use assay_judge::verdict::ProofState::{Contributes, Excluded, Proven};
use assay_stats::water_fill::water_fill;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use super::{Case, SECONDS, World};
use crate::causes::measured::OnCpu;
use crate::causes::{Measure, RULES};

/// Groups, each with two threads, on two CPUs.
const GROUPS: usize = 3;
const WEIGHTS: [f64; GROUPS] = [1.0, 2.0, 4.0];

/// What happens to the groups.
#[derive(Debug, Clone, Copy)]
struct Happens {
    /// Threads of each group on the first CPU; the others of the two are on the second.
    first: [f64; GROUPS],
    /// Part of each CPU's time that others take.
    others: [f64; 2],
    /// Part of the time in which each group is throttled.
    throttled: [f64; GROUPS],
}

const NOTHING: Happens =
    Happens { first: [1.0; GROUPS], others: [0.0; 2], throttled: [0.0; GROUPS] };

impl Happens {
    fn present(&self, group: usize, cpu: usize) -> f64 {
        if cpu == 0 { self.first[group] } else { 2.0 - self.first[group] }
    }

    /// CPU seconds of each group on each CPU. While a group is throttled the others divide what it leaves.
    fn ran(&self) -> Vec<Vec<f64>> {
        let by_cpu: [Vec<f64>; 2] = from_fn(|cpu| {
            let left = SECONDS * (1.0 - self.others[cpu]);
            let demand = |group: usize| {
                let (here, free) = (self.present(group, cpu), 1.0 - self.throttled[group]);
                (WEIGHTS[group] * here * free, here.min(1.0) * free * left)
            };
            water_fill(left, &(0..GROUPS).map(demand).collect::<Vec<_>>())
        });
        (0..GROUPS).map(|group| vec![by_cpu[0][group], by_cpu[1][group]]).collect()
    }

    fn on(&self, group: usize) -> [OnCpu; 2] {
        let ran = self.ran();
        from_fn(|cpu| {
            let here = self.present(group, cpu) * SECONDS;
            let foreign = here * (1.0 - self.throttled[group]) * self.others[cpu];
            OnCpu { cpu, ran: None, waited: here - ran[group][cpu], foreign }
        })
    }
}

/// Total variation between the shares and the promise.
fn deviation(phases: &[Happens]) -> f64 {
    let seen = super::shares(&served(phases));
    let promised = super::shares(&WEIGHTS);
    seen.iter().zip(promised).map(|(seen, promised)| 0.5 * (seen - promised).abs()).sum()
}

fn served(phases: &[Happens]) -> Vec<f64> {
    ran(phases).iter().map(|by_cpu| by_cpu.iter().sum()).collect()
}

/// Means over phases of the same length.
fn ran(phases: &[Happens]) -> Vec<Vec<f64>> {
    let each: Vec<_> = phases.iter().map(Happens::ran).collect();
    let mean = |group: usize, cpu: usize| {
        each.iter().map(|ran| ran[group][cpu]).sum::<f64>() / phases.len() as f64
    };
    (0..GROUPS).map(|group| (0..2).map(|cpu| mean(group, cpu)).collect()).collect()
}

fn world(phases: &[Happens]) -> World {
    let number = phases.len() as f64;
    let mut world = World::new(&WEIGHTS, &served(phases)).cpu(|group, wait| {
        for happens in phases {
            let on = happens.on(group);
            wait.cpus.resize(2, OnCpu::default());
            for (sum, on) in wait.cpus.iter_mut().zip(on) {
                sum.cpu = on.cpu;
                sum.waited += on.waited / number;
                sum.foreign += on.foreign / number;
            }
            wait.quota += 2.0 * happens.throttled[group] * SECONDS / number;
        }
        wait.waited = wait.cpus.iter().map(|on| on.waited).sum();
        let foreign: f64 = wait.cpus.iter().map(|on| on.foreign).sum();
        wait.foreign = vec![("/hog".to_owned(), foreign)];
    });
    world.ran = Some(ran(phases));
    world
}

#[test]
fn others_on_the_cpu_of_one_group_are_proven() {
    // Groups of one CPU each: exact by weight until others take half of one.
    let apart = Happens { first: [1.0, 2.0, 0.5], ..NOTHING };
    assert!(deviation(&[apart]) < 1e-9);
    let happens = Happens { others: [0.8, 0.0], ..apart };
    let found = world(&[happens]).finding("C-CPU-OTHERS").unwrap();
    assert_eq!(found.state, Proven, "{found:?}");
    assert!(found.evidence.contains("mostly for /hog"), "{found:?}");
    // Evenly spread groups lose alike to others: nothing to explain.
    assert!(deviation(&[Happens { others: [0.5, 0.0], ..NOTHING }]) < 1e-9);
}

#[test]
fn others_are_excluded_where_the_host_shows_no_use_by_them() {
    // Threads that moved away from others hardly wait for them.
    let uneven = Happens { first: [2.0, 2.0, 0.0], ..NOTHING };
    let state = |others: Option<f64>| World { others, ..world(&[uneven]) }.state("C-CPU-OTHERS");
    assert_eq!(state(None), None);
    assert_eq!(state(Some(0.115)), None);
    assert_eq!(state(Some(0.002)), Some(Excluded));
}

#[test]
fn threads_that_others_pushed_together_prove_no_imbalance() {
    let pushed = Happens { first: [2.0, 2.0, 0.0], others: [0.0, 0.5], ..NOTHING };
    let world = world(&[pushed]);
    assert_eq!(world.proven(Measure::CpuTime), [""; 0], "{:?}", world.finding("C-CPU-IMBALANCE"));
    let bound = Case { is_bound: true, ..world.case() };
    assert_eq!(cpu_imbalance(&bound), Some(Proven), "no thread could move");
    let little = Happens { others: [0.0, 0.01], ..pushed };
    let world = self::world(&[little]);
    assert_eq!(world.proven(Measure::CpuTime), ["C-CPU-IMBALANCE"]);
    let counted = Case { others_on: Some(vec![0.0, 0.3]), ..world.case() };
    assert_eq!(cpu_imbalance(&counted), Some(Contributes), "by the host's counters");
    let unknown = Case { others_on: None, ..world.case() };
    assert_eq!(cpu_imbalance(&unknown), Some(Contributes), "no counter has what others used");
}

fn cpu_imbalance(case: &Case<'_>) -> Option<ProofState> {
    let rule = RULES.iter().find(|rule| rule.code == "C-CPU-IMBALANCE").unwrap();
    (rule.examine)(case).map(|found| found.state)
}

#[test]
fn a_throttled_group_proves_the_quota() {
    let happens = Happens { throttled: [0.0, 0.0, 0.6], ..NOTHING };
    let world_ = world(&[happens]);
    assert_eq!(
        world_.proven(Measure::CpuTime),
        ["C-CPU-QUOTA"],
        "{:?}",
        world_.finding("C-CPU-QUOTA")
    );
    let mut v2 = world(&[happens]);
    v2.ran = None;
    assert_eq!(v2.proven(Measure::CpuTime), ["C-CPU-QUOTA"]);
    assert_eq!(world(&[NOTHING]).state("C-CPU-QUOTA"), Some(Excluded));
    let hardly = Happens { throttled: [0.0, 0.0, 0.01], first: [1.0, 0.0, 2.0], ..NOTHING };
    assert_eq!(world(&[hardly]).state("C-CPU-QUOTA"), Some(Excluded));
}

#[test]
fn threads_apart_prove_imbalance_by_weights_on_each_cpu() {
    let apart = Happens { first: [0.0, 0.0, 2.0], ..NOTHING };
    assert_eq!(world(&[apart]).proven(Measure::CpuTime), ["C-CPU-IMBALANCE"]);
    let swapped = Happens { first: [2.0, 2.0, 0.0], ..NOTHING };
    let even = world(&[apart, swapped]);
    assert_eq!(even.state("C-CPU-IMBALANCE"), Some(Contributes), "even in the sum");
    let mut v2 = world(&[apart]);
    v2.ran = None;
    assert_eq!(v2.state("C-CPU-IMBALANCE"), None, "cgroup v2 does not count groups on each CPU");
}

#[test]
fn what_could_not_be_judged_is_held_against_the_margin() {
    let state = |others: f64| {
        let mut world = world(&[Happens { others: [others, 0.0], ..NOTHING }]);
        world.disturbed = true;
        world.state("C-CPU-OTHERS")
    };
    assert_eq!(state(0.5), Some(Proven));
    assert_eq!(state(0.1), Some(Contributes));
    assert_eq!(state(0.01), None, "threads may have moved away from the others");
}

/// Any mixture of the three, in phases that the sums of a repeat do not show.
fn mixture(random: &mut ChaCha8Rng) -> Vec<Happens> {
    let mut some = |most: f64| match random.random_bool(0.5) {
        true => random.random_range(0.0..most),
        false => 0.0,
    };
    let phases = if some(1.0) > 0.0 { 2 } else { 1 };
    let one = |_| Happens {
        first: from_fn(|_| 1.0 + some(1.0) - some(1.0)),
        others: [some(0.6), some(0.6)],
        throttled: from_fn(|_| some(0.4)),
    };
    (0..phases).map(one).collect()
}

/// What is proven must be what most of the error is due to, so that little is left of it without.
#[test]
fn hardly_any_proof_is_wrong_among_random_mixtures() {
    let mut random = ChaCha8Rng::seed_from_u64(19);
    let (mut proofs, mut wrong, mut broken) = (0, 0, 0);
    let mut by_code = std::collections::BTreeMap::new();
    for number in 0..8000 {
        let phases = mixture(&mut random);
        let mut world = world(&phases);
        if number % 2 == 0 {
            world.ran = None;
        }
        let case = world.case();
        if (0..GROUPS).all(|group| case.lack(group).abs() <= case.within) {
            continue;
        }
        broken += 1;
        for code in world.proven(Measure::CpuTime) {
            let without = |happens: &Happens| match code {
                "C-CPU-OTHERS" => Happens { others: [0.0; 2], ..*happens },
                "C-CPU-QUOTA" => Happens { throttled: [0.0; GROUPS], ..*happens },
                _ => Happens { first: [1.0; GROUPS], ..*happens },
            };
            let rest: Vec<Happens> = phases.iter().map(without).collect();
            let is_wrong = deviation(&rest) > 0.5 * deviation(&phases);
            proofs += 1;
            wrong += usize::from(is_wrong);
            let count = by_code.entry((code, number % 2)).or_insert((0, 0));
            *count = (count.0 + 1, count.1 + usize::from(is_wrong));
        }
    }
    assert!(broken > 1000 && proofs > 100, "{proofs} of {broken}");
    assert!(wrong * 100 <= proofs, "{wrong} of {proofs}: {by_code:?}");
}
