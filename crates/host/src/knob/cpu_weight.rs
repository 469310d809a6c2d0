//! What a weight of CPU divides: the law of the kernel's scheduler, by its mode.
//!
//! Each CPU is divided by weight among the groups with runnable threads on it. What a group weighs on one CPU is the law
//! (`calc_group_shares`, kernel/sched/fair.c). Up to Linux 7.2 it is the part of the group's weight that its load there is of
//! its load on all CPUs. Linux 7.3 calls that `smp`, has four others to choose from, and takes `concur` unless told otherwise
//! (`/sys/kernel/debug/sched/cgroup_mode`; kernel/sched/debug.c, `cgroup_mode = 2`): the same part of the weight times the
//! smaller of the group's runnable threads and its CPUs. Of cgroup-v2.rst, "Weights", 7.3 changed no word: each active child
//! gets "the fraction matching the ratio of its weight against the sum".

use std::fmt;

use crate::facts::Available;
use assay_stats::water_fill::water_fill;

use crate::knob::kernel_version::KernelVersion;

/// The file with the mode, in debugfs. Kernels before 7.3 lack it.
pub const WEIGHT_MODE_FILE: &str = "/sys/kernel/debug/sched/cgroup_mode";

/// The first kernel with it.
const SINCE: KernelVersion = KernelVersion::new(7, 3);

/// The weight of a thread of nice 0 that stands beside groups.
pub const THREAD_WEIGHT: f64 = 100.0;

/// The most that a group weighs on one CPU with `max`: nice -20 (`sched_prio_to_weight[0]`), in the unit of cpu.weight.
const HEAVIEST: f64 = 88_761.0 * 100.0 / 1024.0;

/// By which law the kernel divides weights of CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WeightMode {
    /// The whole weight on each CPU.
    Up,
    /// The weight, divided among the CPUs; the only law before Linux 7.3.
    Smp,
    /// That times the smaller of runnable threads and CPUs; the default since Linux 7.3.
    Concur,
    /// That of `smp` times the CPUs, on one CPU at most what nice -20 weighs.
    Max,
    /// That of `smp` times the runnable threads.
    Tasks,
}

/// Where the threads of a group are.
#[derive(Debug, Clone, PartialEq)]
pub enum Threads {
    /// So many, which may use any CPU. The law takes them as spread by weight, the aim of load balancing.
    Free(f64),
    /// So many on each CPU, which do not leave it.
    Bound(Vec<f64>),
}

/// One that competes for CPU beside others.
#[derive(Debug, Clone, PartialEq)]
pub struct Contender {
    /// Its weight, in the unit of cpu.weight.
    pub weight: f64,
    /// Its threads, all of them runnable.
    pub threads: Threads,
    /// CPUs of its cpuset (of the machine on v1, or without one): `tg_cpus` does not look at the affinity of threads.
    pub cpus: f64,
}

impl WeightMode {
    /// All of them, in the kernel's order.
    pub const ALL: [Self; 5] = [Self::Up, Self::Smp, Self::Concur, Self::Max, Self::Tasks];

    /// Its name in the kernel's file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Smp => "smp",
            Self::Concur => "concur",
            Self::Max => "max",
            Self::Tasks => "tasks",
        }
    }

    /// The mode of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }

    /// The mode that the kernel's file shows as the active one: `up smp (concur) max tasks`.
    #[must_use]
    pub fn active(text: &str) -> Option<Self> {
        let inside = |word: &str| word.strip_prefix('(')?.strip_suffix(')').and_then(Self::named);
        text.split_whitespace().find_map(inside)
    }

    /// The mode of a host by what was read of it; where that is not known, by its kernel's release, and `false`.
    #[must_use]
    pub fn of_host(read: Option<&Available<String>>, release: &str) -> (Self, bool) {
        let known = read.and_then(Available::value).and_then(|name| Self::named(name));
        let is_newer = KernelVersion::parse(release).is_some_and(|one| one >= SINCE);
        let assumed = if is_newer { Self::Concur } else { Self::Smp };
        (known.unwrap_or(assumed), known.is_some())
    }

    /// Times its weight that a group with this many runnable threads weighs on all CPUs together, by the least that the kernel may
    /// count of them; `max` limits that further.
    #[must_use]
    pub fn factor(self, threads: f64, cpus: f64) -> f64 {
        self.factor_counting(counted(threads)[0], threads, cpus)
    }

    /// With so many of the threads counted.
    fn factor_counting(self, count: f64, threads: f64, cpus: f64) -> f64 {
        match self {
            Self::Smp => 1.0,
            Self::Up => threads.max(1.0).min(cpus),
            Self::Concur => count.min(cpus),
            Self::Max => cpus,
            Self::Tasks => count,
        }
    }

    /// CPUs that each gets of `whole`, where all threads may use the same CPUs: every division that the law allows ([`counted`]), at
    /// least one. With `smp` that is what cgroup-v2.rst promises: by the ratio of weights, and to each no more than it can use.
    #[must_use]
    pub fn divide(self, whole: f64, contenders: &[Contender]) -> Vec<Vec<f64>> {
        self.with_each_count(contenders, |counts| {
            let demand = |(one, count): (&Contender, &f64)| {
                let demand = one.number().min(one.cpus);
                let weight = one.weight * self.factor_counting(*count, one.number(), one.cpus);
                (if self == Self::Max { weight.min(HEAVIEST * demand) } else { weight }, demand)
            };
            water_fill(whole, &contenders.iter().zip(counts).map(demand).collect::<Vec<_>>())
        })
    }

    /// CPUs that each gets where threads do not leave their CPUs; free ones are spread evenly over all of these. Every division that
    /// the law allows.
    #[must_use]
    pub fn divide_each_cpu(self, cpus: usize, contenders: &[Contender]) -> Vec<Vec<f64>> {
        self.with_each_count(contenders, |counts| {
            let mut parts = vec![0.0; contenders.len()];
            for cpu in 0..cpus {
                let demand = |(one, count): (&Contender, &f64)| {
                    (self.weight_on(one, *count, cpu, cpus), one.on(cpu, cpus).min(1.0))
                };
                let demands: Vec<(f64, f64)> = contenders.iter().zip(counts).map(demand).collect();
                for (sum, part) in parts.iter_mut().zip(water_fill(1.0, &demands)) {
                    *sum += part;
                }
            }
            parts
        })
    }

    /// With what the kernel may count of the groups' threads, in all combinations; of many groups, with the least and the most of all.
    fn with_each_count(
        self,
        contenders: &[Contender],
        divide: impl Fn(&[f64]) -> Vec<f64>,
    ) -> Vec<Vec<f64>> {
        const MANY: usize = 6;
        let may: Vec<[f64; 2]> = contenders.iter().map(|one| counted(one.number())).collect();
        let few = may.len() <= MANY;
        let mut divisions: Vec<Vec<f64>> = Vec::new();
        for choice in 0..if few { 1_usize << may.len() } else { 2 } {
            let most = |at: usize| if few { choice >> at & 1 } else { choice };
            let counts: Vec<f64> = may.iter().enumerate().map(|(at, may)| may[most(at)]).collect();
            let division = divide(&counts);
            if !divisions.contains(&division) {
                divisions.push(division);
            }
        }
        divisions
    }

    fn weight_on(self, one: &Contender, count: f64, cpu: usize, cpus: usize) -> f64 {
        let (here, all) = (one.on(cpu, cpus), one.number());
        if here <= 0.0 {
            return 0.0;
        }
        let whole = one.weight * self.factor_counting(count, all, one.cpus);
        match self {
            Self::Up => one.weight * here.min(1.0),
            Self::Max => (whole * here / all).min(HEAVIEST),
            _ => whole * here / all,
        }
    }
}

/// The least and the most threads that the kernel may count of a group in which so many are always runnable: `tg_tasks` rounds the
/// sum of the CPUs' averages down, never below one. A CPU adds its average anew only once it is off by more than 1/64
/// (`update_tg_load_avg`). The sum stays a little short if threads came, so that two count as one, and not if one has gone: then
/// two count as two. No file shows which of both holds.
fn counted(threads: f64) -> [f64; 2] {
    const SHORT: f64 = 1.0 - 1.0 / 128.0;
    [threads * SHORT, threads].map(|sum| sum.floor().max(1.0))
}

impl Contender {
    /// All its threads.
    fn number(&self) -> f64 {
        match &self.threads {
            Threads::Free(number) => *number,
            Threads::Bound(on) => on.iter().sum(),
        }
    }

    /// Its threads on a CPU.
    fn on(&self, cpu: usize, cpus: usize) -> f64 {
        match &self.threads {
            Threads::Free(number) => number / cpus.max(1) as f64,
            Threads::Bound(on) => on.get(cpu).copied().unwrap_or(0.0),
        }
    }
}

impl fmt::Display for WeightMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::WeightMode::{Concur, Max, Smp, Tasks, Up};
    use super::*;

    /// A group whose threads are bound to these of two CPUs.
    fn bound(weight: f64, on: [f64; 2]) -> Contender {
        Contender { weight, threads: Threads::Bound(on.to_vec()), cpus: 2.0 }
    }

    fn free(weight: f64, threads: f64, cpus: f64) -> Contender {
        Contender { weight, threads: Threads::Free(threads), cpus }
    }

    /// Parts of what all got, by each division.
    fn parts(divisions: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let parts = |got: &Vec<f64>| {
            let all: f64 = got.iter().sum();
            got.iter().map(|part| (part / all * 1e3).round() / 1e3).collect()
        };
        divisions.iter().map(parts).collect()
    }

    #[test]
    fn the_active_mode_is_in_parentheses() {
        assert_eq!(WeightMode::active("up smp (concur) max tasks \n"), Some(Concur));
        assert_eq!(WeightMode::active("up (smp) concur max tasks"), Some(Smp));
        assert_eq!(WeightMode::active("up smp concur"), None);
        assert_eq!(WeightMode::active("(fast)"), None);
        assert_eq!(
            WeightMode::ALL.map(|mode| WeightMode::named(mode.name())),
            WeightMode::ALL.map(Some)
        );
    }

    #[test]
    fn on_one_cpu_only_smp_and_up_divide_by_the_weights_alone() {
        let groups = [bound(100.0, [0.0, 1.0]), bound(100.0, [0.0, 4.0])];
        let of = |mode: WeightMode| parts(&mode.divide_each_cpu(2, &groups));
        assert_eq!(of(Smp), [[0.5, 0.5]]);
        assert_eq!(of(Up), [[0.5, 0.5]]);
        // nr = min(3 or 4, 2): the affinity of the threads does not count.
        assert_eq!(of(Concur), [[0.333, 0.667]]);
        assert_eq!(of(Tasks), [[0.25, 0.75], [0.2, 0.8]]);
        assert_eq!(of(Max), [[0.5, 0.5]]);
        let in_cpuset = groups.map(|one| Contender { cpus: 1.0, ..one });
        assert_eq!(parts(&Concur.divide_each_cpu(2, &in_cpuset)), [[0.5, 0.5]]);
    }

    #[test]
    fn one_thread_on_each_cpu_beside_a_group_with_as_many() {
        let groups = [bound(100.0, [1.0, 0.0]), bound(100.0, [0.0, 1.0]), bound(100.0, [2.0, 2.0])];
        let of = |mode: WeightMode| parts(&mode.divide_each_cpu(2, &groups));
        assert_eq!(of(Smp), [[0.333, 0.333, 0.333]]);
        assert_eq!(of(Concur), [[0.25, 0.25, 0.5]]);
        assert_eq!(of(Up), [[0.25, 0.25, 0.5]]);
        // The single threads weigh 200, the other group 100 on each CPU.
        assert_eq!(of(Max), [[0.333, 0.333, 0.333]]);
        assert_eq!(of(Tasks), [[0.2, 0.2, 0.6], [0.167, 0.167, 0.667]]);
    }

    #[test]
    fn the_sum_of_averages_is_rounded_down_or_stays_whole() {
        let groups = [bound(100.0, [0.0, 2.0]), bound(200.0, [0.0, 4.0])];
        // Both as measured in guests of 7.3.4.
        assert_eq!(parts(&Concur.divide_each_cpu(2, &groups)), [[0.2, 0.8], [0.333, 0.667]]);
        assert_eq!(
            [1.0, 2.0, 3.0, 4.0, 128.0].map(counted),
            [[1.0, 1.0], [1.0, 2.0], [2.0, 3.0], [3.0, 4.0], [127.0, 128.0]]
        );
        let many: Vec<Contender> = (0..40).map(|_| free(100.0, 2.0, 8.0)).collect();
        assert_eq!(Tasks.divide(8.0, &many), [vec![0.2; 40]]);
    }

    #[test]
    fn free_threads_are_divided_by_the_ratio_with_smp_and_by_concurrency_with_concur() {
        let groups = [free(100.0, 1.0, 2.0), free(200.0, 4.0, 2.0)];
        assert_eq!(parts(&Smp.divide(2.0, &groups)), [[0.333, 0.667]]);
        assert_eq!(parts(&Concur.divide(2.0, &groups)), [[0.2, 0.8]]);
        // Tejun Heo's example: 128 and 256 threads of equal weight on 256 CPUs.
        let groups = [free(100.0, 128.0, 256.0), free(100.0, 256.0, 256.0)];
        assert_eq!(parts(&Smp.divide(256.0, &groups)), [[0.5, 0.5]]);
        assert_eq!(parts(&Concur.divide(256.0, &groups))[0], [0.333, 0.667]);
    }

    #[test]
    fn no_group_gets_more_than_its_threads_can_use() {
        // One thread of system.slice beside kubepods on 64 CPUs: a part of one CPU, and never more.
        let groups = [free(100.0, 1.0, 64.0), free(2500.0, 64.0, 64.0)];
        let of = |mode: WeightMode| mode.divide(64.0, &groups)[0][0];
        assert!((of(Smp) - 1.0).abs() < 1e-9);
        // 63 of its 64 threads count.
        assert!((of(Concur) - 64.0 * 100.0 / (100.0 + 63.0 * 2500.0)).abs() < 1e-9);
    }

    #[test]
    fn max_is_clipped_at_nice_minus_20() {
        let groups = [bound(10_000.0, [1.0, 0.0]), bound(100.0, [1.0, 1.0])];
        let on_first = HEAVIEST / (HEAVIEST + 100.0);
        assert!((Max.divide_each_cpu(2, &groups)[0][0] - on_first).abs() < 1e-9);
    }

    /// `100:1/0 100:0/1`: weights, and threads on each of two CPUs.
    fn measured(groups: &str) -> Vec<Contender> {
        let number = |text: &str| text.parse::<f64>().unwrap();
        let group = |text: &str| {
            let (weight, threads) = text.split_once(':').unwrap();
            let (first, second) = threads.split_once('/').unwrap();
            bound(number(weight), [number(first), number(second)])
        };
        groups.split(' ').map(group).collect()
    }

    /// Guests of 7.2.13 and 7.3.4 (crates/host/tests/guest/weights.sh), emulated. Two CPUs that QEMU runs in turns of 100 ms stop each
    /// other, which the kernel charges to the thread that runs: there only one CPU counts. With icount the guest's time stops as well.
    #[test]
    fn the_law_is_within_a_tenth_of_what_bound_threads_got() {
        let text = include_str!("../../../../docs/results/data/cpu-weight-threads.csv");
        let mut judged = 0;
        for line in text.lines().skip(1) {
            let [_, clock, _, mode, groups, got] = line.split(',').collect::<Vec<_>>()[..] else {
                panic!("{line}")
            };
            let is_on_one_cpu = groups.split(' ').all(|group| group.contains(":0/"));
            if clock != "icount" && !is_on_one_cpu {
                continue;
            }
            let laws =
                parts(&WeightMode::named(mode).unwrap().divide_each_cpu(2, &measured(groups)));
            let got: Vec<f64> = got.split(' ').map(|part| part.parse().unwrap()).collect();
            let is_near = |law: &Vec<f64>| {
                law.iter().zip(&got).all(|(law, got)| (got - law).abs() <= 0.1 * law)
            };
            assert!(laws.iter().any(is_near), "{line}: {laws:?}");
            judged += 1;
        }
        assert!(judged > 30, "{judged}");
    }
}
