//! Laws of the kernel that causes, checks, interventions and expected shares have in common. How weights of CPU count is
//! `assay_host::knob::WeightMode`.
//!
//! **BFQ's cap.** Since 5.17 (76f1df88bbc2, `bfq_limit_depth` in block/bfq-iosched.c) a group that holds its
//! weight's part of the scheduler's pool is over its limit, and gets further tags from a depth of
//! one: one per word of the tag map, and since 6.17 (42e6c6ce03fd, also in 6.12.43) one of the whole map. Further requests wait in
//! front of the scheduler, where weights do not apply. Reads may use the whole pool, direct writes
//! three quarters of it (`async_depths`).
//!
//! **Bonds.** What groups get where requests of some are injected into the turns of others.
//!
//! While `B` is served its partner `P` has as many requests in the device as it keeps outstanding, and so gets
//! `d_P / d_B` times what `B` gets in its own turns. A group with several partners is injected into the turns of
//! each: `x_P = max(w_P, sum over its partners B of (d_P / d_B) w_B)`.

use assay_record::run_folder::TrialRecord;

/// The part of the pool that a group with direct writes may use while no queue is raised.
const WRITER_PART: f64 = 0.75;

/// Demand and cap of one group.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cap {
    /// Index among the measured groups.
    pub group: usize,
    /// Requests that its workloads keep outstanding; those that merge while waiting count once.
    pub demand: f64,
    /// Requests that it may hold: that part, rounded to nearest as the kernel does. 0 where it is less than half a
    /// request, though one still passes at a depth of one.
    pub cap: f64,
    /// Its part of the pool.
    pub part: f64,
}

impl Cap {
    /// Whether the demand exceeds the cap.
    #[must_use]
    pub fn binds(&self) -> bool {
        self.demand > self.cap
    }

    /// Whether it has a place more than its demand: one that keeps just as many can still be held back
    /// (docs/findings/bfq-cap).
    #[must_use]
    pub fn has_spare_place(&self) -> bool {
        self.demand + 1.0 <= self.cap
    }

    /// The same with another demand.
    #[must_use]
    pub const fn with_demand(&self, demand: f64) -> Self {
        Self { demand, ..*self }
    }

    /// The same of a pool so many times as large.
    #[must_use]
    pub fn of_pool(&self, times: f64) -> Self {
        let part = self.part * times;
        Self { cap: part.round(), part, ..*self }
    }
}

/// The caps of groups with these shares of the weights; groups of unknown demand are left out.
#[must_use]
pub fn group_caps<'n>(
    trial: &TrialRecord,
    groups: impl Iterator<Item = (&'n str, f64)>,
    pool: f64,
) -> Vec<Cap> {
    let found = groups.enumerate().filter_map(|(group, (name, share))| {
        let record = trial.groups.iter().find(|record| record.name == name)?;
        let mut demand = 0.0;
        let mut writes = false;
        for workload in &record.workloads {
            let io = &workload.io;
            // Reads between writes, or writes between reads, prevent merging.
            let merges = io.sequential && io.reads != io.writes;
            demand += if merges { 1.0 } else { f64::from(io.outstanding?) };
            writes |= io.writes;
        }
        let part = if writes { WRITER_PART } else { 1.0 };
        let part = part * pool * share;
        Some(Cap { group, demand, cap: part.round(), part })
    });
    found.collect()
}

/// Longest time slice of BFQ in seconds (`timeout_sync`, 125 ms).
pub const BFQ_SLICE_S: f64 = 0.125;

/// Tick of the slowest kernels in seconds (HZ = 100): the shortest time that a thread runs.
pub const TICK_S: f64 = 0.01;

/// Requests that a group keeps outstanding.
pub fn depth(trial: &TrialRecord, name: &str) -> Option<f64> {
    let group = trial.groups.iter().find(|group| group.name == name)?;
    let each = group.workloads.iter().map(|workload| workload.io.outstanding.map(f64::from));
    each.sum::<Option<f64>>().filter(|depth| *depth > 0.0)
}

/// Shares under first come, first served: proportional to the requests that each group keeps outstanding, or equal
/// where these are unknown.
pub fn first_come_first_served(trial: &TrialRecord, names: &[String]) -> Vec<f64> {
    let depths: Option<Vec<f64>> = names.iter().map(|name| depth(trial, name)).collect();
    depths.unwrap_or_else(|| vec![1.0; names.len()])
}

/// A group whose requests are injected while another holds the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bond {
    /// Who injects.
    pub group: usize,
    /// In whose turns.
    pub with: usize,
}

impl Bond {
    /// What it brings its group while it lasts.
    fn brings(&self, weights: &[f64], depths: &[f64]) -> f64 {
        depths[self.group] / depths[self.with] * weights[self.with]
    }

    /// Whether that is more than the group has by its own weight.
    pub fn lifts(&self, weights: &[f64], depths: &[f64]) -> bool {
        self.group != self.with && self.brings(weights, depths) > weights[self.group]
    }
}

/// Levels at which bonds that lasted for a part of the time are looked at.
const LEVELS: u32 = 20;

/// Shares by these bonds; they add up to one.
pub fn bonded_shares(weights: &[f64], depths: &[f64], bonds: &[Bond]) -> Vec<f64> {
    let injected = |group: usize| {
        let mine = bonds.iter().filter(|bond| bond.group == group);
        mine.map(|bond| bond.brings(weights, depths)).sum::<f64>()
    };
    let got: Vec<f64> =
        weights.iter().enumerate().map(|(group, own)| own.max(injected(group))).collect();
    let all: f64 = got.iter().sum();
    got.iter().map(|one| one / all).collect()
}

/// Shares where each bond lasted for a part of the time; when is not known, so the shorter ones are taken to have
/// been within the longer ones.
pub fn bonded_shares_over_time(weights: &[f64], depths: &[f64], bonds: &[(Bond, f64)]) -> Vec<f64> {
    let mut mean = vec![0.0; weights.len()];
    for level in 0..LEVELS {
        let time = (f64::from(level) + 0.5) / f64::from(LEVELS);
        let lasting = bonds.iter().filter(|(_, part)| *part > time);
        let lasting: Vec<Bond> = lasting.map(|(bond, _)| *bond).collect();
        let now = bonded_shares(weights, depths, &lasting);
        mean.iter_mut().zip(now).for_each(|(mean, now)| *mean += now / f64::from(LEVELS));
    }
    mean
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distance(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum::<f64>() / 2.0
    }

    const WEIGHTS: [f64; 4] = [1.0, 2.0, 4.0, 8.0];

    fn rounded(bonds: &[Bond]) -> Vec<f64> {
        let shares = bonded_shares(&WEIGHTS, &[8.0; 4], bonds);
        shares.iter().map(|share| (share * 1000.0).round() / 1000.0).collect()
    }

    fn bond(group: usize, with: usize) -> Bond {
        Bond { group: group - 1, with: with - 1 }
    }

    #[test]
    fn the_law_gives_the_shares_of_recorded_states() {
        assert_eq!(rounded(&[bond(2, 4)]), [0.048, 0.381, 0.19, 0.381]);
        assert_eq!(rounded(&[bond(3, 4)]), [0.053, 0.105, 0.421, 0.421]);
        assert_eq!(rounded(&[bond(1, 4), bond(2, 3)]), [0.333, 0.167, 0.167, 0.333]);
        assert_eq!(rounded(&[bond(1, 4), bond(3, 4)]), [0.308, 0.077, 0.308, 0.308]);
        assert_eq!(rounded(&[bond(1, 3), bond(1, 4)]), [0.462, 0.077, 0.154, 0.308]);
    }

    #[test]
    fn a_bond_for_a_part_of_the_time_has_that_part_of_its_effect() {
        let over_time = |part: f64| {
            let shares = bonded_shares_over_time(&WEIGHTS, &[8.0; 4], &[(bond(1, 4), part)]);
            (shares[0] * 1000.0).round() / 1000.0
        };
        assert_eq!([0.0, 0.25, 1.0].map(over_time), [0.067, 0.141, 0.364]);
    }

    /// A span of a run whose bonds were the same at its beginning and at its end.
    struct Recorded {
        weights: Vec<f64>,
        depths: [f64; 4],
        bonds: Vec<Bond>,
        seen: Vec<f64>,
    }

    impl Recorded {
        /// Half the sum of the differences to the law.
        fn to_law(&self) -> f64 {
            distance(&self.seen, &bonded_shares(&self.weights, &self.depths, &self.bonds))
        }

        /// The same to what the partner that brings most would bring by itself.
        fn to_the_largest(&self) -> f64 {
            let brings = |bond: &Bond| {
                self.depths[bond.group] / self.depths[bond.with] * self.weights[bond.with]
            };
            let most = |bond: &&Bond| {
                let others = self.bonds.iter().filter(|other| other.group == bond.group);
                others.map(brings).fold(0.0, f64::max) <= brings(bond)
            };
            let mut bonds: Vec<Bond> = self.bonds.iter().filter(most).copied().collect();
            bonds.dedup_by_key(|bond| bond.group);
            distance(&self.seen, &bonded_shares(&self.weights, &self.depths, &bonds))
        }

        fn has_several_partners(&self) -> bool {
            let number = |group: usize| self.bonds.iter().filter(|b| b.group == group).count();
            (0..4).any(|group| number(group) > 1)
        }
    }

    /// `1<3+4 4<1`: the third and the fourth are injected into the turns of the first, the first into the fourth's.
    fn bonds_of(text: &str) -> Vec<Bond> {
        let of = |holder: &str| {
            let (holder, partners) = holder.split_once('<').unwrap();
            let (holder, partners) = (holder.to_owned(), partners.to_owned());
            let partners: Vec<usize> =
                partners.split('+').map(|number| number.parse().unwrap()).collect();
            partners.into_iter().map(move |partner| bond(partner, holder.parse().unwrap()))
        };
        let mut bonds: Vec<Bond> = text.split(' ').flat_map(of).collect();
        bonds.sort_by_key(|bond| bond.group);
        bonds
    }

    /// Without R and R48, where a turn is shorter than what is outstanding and bonds have little effect.
    fn recorded() -> Vec<Recorded> {
        let text = include_str!("../../../docs/results/data/bfq-waker.csv");
        let rows = text.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>());
        let same = rows.filter(|row| {
            let (first, last) = (row[15], row[16]);
            first == last && !["", "-"].contains(&first) && !["R", "R48"].contains(&row[0])
        });
        let read = |row: Vec<&str>| Recorded {
            weights: row[7].split(':').map(|weight| weight.parse().unwrap()).collect(),
            depths: match row[0] {
                "S4" => [4.0, 8.0, 8.0, 8.0],
                "S16" => [16.0, 8.0, 8.0, 8.0],
                _ => [8.0; 4],
            },
            bonds: bonds_of(row[15]),
            seen: row[10..14].iter().map(|share| share.parse().unwrap()).collect(),
        };
        same.map(read).collect()
    }

    fn mean(of: &[&Recorded], distance: fn(&Recorded) -> f64) -> f64 {
        of.iter().map(|one| distance(one)).sum::<f64>() / of.len() as f64
    }

    #[test]
    fn recorded_runs_show_the_sum_over_partners_and_not_the_largest() {
        let all = recorded();
        let several: Vec<&Recorded> = all.iter().filter(|one| one.has_several_partners()).collect();
        let nearer = several.iter().filter(|one| one.to_law() < one.to_the_largest()).count();
        assert_eq!((all.len(), several.len(), nearer), (94, 17, 13));
        let (sum, largest) =
            (mean(&several, Recorded::to_law), mean(&several, Recorded::to_the_largest));
        assert!(sum < 0.11 && largest > 0.12, "{sum} {largest}: debt is in neither");
        let without_debt = |one: &&&Recorded| one.seen[0] > 0.4 && one.seen[1] > 0.07;
        let clear: Vec<&Recorded> = several.iter().filter(without_debt).copied().collect();
        assert_eq!(clear.len(), 2);
        assert!(clear.iter().all(|one| one.to_law() < 0.01 && one.to_the_largest() > 0.09));
        let close = all.iter().filter(|one| one.to_law() < 0.02).count();
        assert_eq!(close, 57, "most runs are within .02 of the law");
    }
}
