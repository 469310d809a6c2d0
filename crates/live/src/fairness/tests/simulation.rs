//! Made-up hosts: a scheduler that serves by turns, groups that come and go by what they got, and how often the verdict
//! about them is wrong.
//!
//! Groups sleep when their work is done, so that the times in which they contend are no random sample: it is this that the
//! verdict must bear, not only noise.

use std::io::Write;

use assay_judge::verdict::Verdict;

use crate::fairness::estimate::{Estimate, cpu_turn_ns};
use crate::fairness::series::{Claim, Series, add_cell};

/// A generator of numbers (Marsaglia 2003, xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// From `low` to below `high`.
    fn within(&mut self, low: f64, high: f64) -> f64 {
        low + (self.next() >> 11) as f64 / (1_u64 << 53) as f64 * (high - low)
    }

    fn one_of(&mut self, values: &[f64]) -> f64 {
        values[(self.next() % values.len() as u64) as usize]
    }
}

/// A group on a CPU; times in ms.
struct Group {
    weight: f64,
    promised: f64,
    /// Work between two sleeps and their length; no sleep: it always wants the CPU.
    work: f64,
    sleep: f64,
    /// Work left, or when it wakes.
    left: f64,
    wakes: Option<f64>,
    virtual_time: f64,
    came: f64,
    got: f64,
}

/// One CPU for some seconds; returns the verdict about each group, and for how long it was compared.
fn run(groups: &mut [Group], seconds: f64, random: &mut Random) -> Vec<(Verdict, f64)> {
    const CELL: f64 = 100.0;
    let mut series = vec![Series::default(); groups.len()];
    let (mut now, mut cell) = (0.0, 0);
    let mut marks: Vec<f64> = vec![0.0; groups.len()];
    while now < seconds * 1000.0 {
        let least = virtual_time(groups);
        for group in groups.iter_mut() {
            if group.wakes.is_some_and(|at| at <= now) {
                group.wakes = None;
                group.left = group.work * random.within(0.5, 1.5);
                group.came = now;
                // A sleeper may have been owed a turn, no more.
                if least.is_finite() {
                    group.virtual_time = group.virtual_time.max(least - 3.0 / group.weight);
                }
            }
        }
        let end = (cell + 1) as f64 * CELL;
        let next = awake(groups)
            .min_by(|a, b| groups[*a].virtual_time.total_cmp(&groups[*b].virtual_time));
        let turn = random.within(1.0, 4.0).min(end - now);
        match next {
            Some(at) => {
                let group = &mut groups[at];
                let used = turn.min(group.left);
                group.left -= used;
                group.got += used;
                group.virtual_time += used / group.weight;
                now += used;
                if group.left <= 0.0 {
                    group.wakes = Some(now + group.sleep * random.within(0.5, 1.5));
                    group.came = f64::INFINITY;
                }
            }
            None => now += turn.min(1.0),
        }
        if now >= end - 1e-9 {
            let begun = end - CELL;
            let claims: Vec<Claim> = groups
                .iter()
                .enumerate()
                .filter(|(_, group)| group.came <= begun)
                .map(|(member, group)| Claim {
                    member,
                    got: (group.got - marks[member]) * 1e6,
                    weight: group.promised,
                })
                .collect();
            add_cell(&mut series, |one| one, (cell, CELL / 1000.0), &[claims]);
            marks = groups.iter().map(|group| group.got).collect();
            cell += 1;
            now = end;
        }
    }
    let compared = series.iter().filter(|one| crate::fairness::estimate::is_enough(one)).count();
    let verdict = |one: &Series| {
        let found = Estimate::new(one, compared, cpu_turn_ns(1));
        (found.map_or(Verdict::Void, |found| found.verdict()), one.seconds)
    };
    series.iter().map(verdict).collect()
}

fn awake(groups: &[Group]) -> impl Iterator<Item = usize> + '_ {
    (0..groups.len()).filter(|at| groups[*at].wakes.is_none())
}

fn virtual_time(groups: &[Group]) -> f64 {
    awake(groups).map(|at| groups[at].virtual_time).fold(f64::INFINITY, f64::min)
}

/// A host of two to five groups, of which some sleep. `bias` is what the first group's weight is multiplied by in truth.
fn host(random: &mut Random, bias: f64, are_hogs: bool) -> Vec<Group> {
    let count = 2 + (random.next() % 4) as usize;
    (0..count)
        .map(|at| {
            let promised = random.one_of(&[50.0, 100.0, 100.0, 200.0, 300.0, 400.0]);
            let is_hog = are_hogs || random.next().is_multiple_of(3);
            Group {
                weight: if at == 0 { promised * bias } else { promised },
                promised,
                work: if is_hog { f64::INFINITY } else { random.within(1.0, 300.0) },
                sleep: random.within(1.0, 400.0),
                left: 1.0,
                wakes: Some(random.within(0.0, 100.0)),
                virtual_time: 0.0,
                came: f64::INFINITY,
                got: 0.0,
            }
        })
        .collect()
}

/// Of this many hosts: how many have a group that was called broken, and how many something to say about.
fn count(hosts: usize, bias: f64, are_hogs: bool, seed: u64) -> (usize, usize) {
    let mut random = Random(seed);
    let (mut broken, mut judged) = (0, 0);
    for _ in 0..hosts {
        let mut groups = host(&mut random, bias, are_hogs);
        let verdicts = run(&mut groups, 20.0, &mut random);
        judged += usize::from(verdicts.iter().any(|(verdict, _)| *verdict != Verdict::Void));
        broken += usize::from(verdicts.iter().any(|(verdict, _)| *verdict == Verdict::Broken));
    }
    (broken, judged)
}

#[test]
fn weights_that_are_obeyed_are_hardly_ever_called_broken() {
    let (broken, judged) = count(400, 1.0, false, 0x9e37_79b9);
    assert!(judged > 150, "{judged} of 400 hosts contended");
    assert!(broken <= judged / 100 + 1, "{broken} of {judged} broken");
}

#[test]
fn a_halved_weight_is_found_where_groups_contend() {
    let (broken, judged) = count(200, 0.5, true, 0x1234_5678);
    assert_eq!(judged, 200);
    assert!(broken >= 190, "{broken} of {judged}");
}

#[test]
#[ignore = "takes minutes"]
fn the_rate_of_false_accusations_among_many_hosts() {
    let (broken, judged) = count(20_000, 1.0, false, 0x0bad_cafe);
    let (found, halved) = count(2_000, 0.5, true, 0x5eed_5eed);
    let figures = format!(
        "{broken} of {judged} hosts falsely broken; {found} of {halved} halved weights found"
    );
    writeln!(std::io::stderr(), "{figures}").unwrap();
    assert!(broken * 100 <= judged && found * 100 >= halved * 95, "{figures}");
}
