//! Limits that somebody puts in and takes away at random: what `assay probe` says of each.

use std::env;
use std::fs;
use std::time::{Duration, Instant};

use assay_test_support::Need;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use super::{CONTROLLERS, CPUS, Limited, MEMORY, PIDS, QUOTA, answer, probe};
use crate::bench::Bench;

/// A limit, on v1 and on v2: its file, its value, and where they exist no limit and what a group above may have less.
struct Known {
    controller: &'static str,
    files: [&'static str; 2],
    value: [&'static str; 2],
    none: [&'static str; 2],
    tighter: [&'static str; 2],
    /// The line of a unit that asks for the value.
    asks: &'static str,
}

/// On v1 no group has a quota above that of its parent (tg_cfs_schedulable_down of kernel/sched/core.c).
const ALL: [Known; 5] = [
    Known {
        controller: "memory",
        files: MEMORY,
        value: ["100663296", "100663296"],
        none: ["-1", "max"],
        tighter: ["83886080", "83886080"],
        asks: "MemoryMax=96M\n",
    },
    Known {
        controller: "pids",
        files: PIDS,
        value: ["60", "60"],
        none: ["max", "max"],
        tighter: ["50", "50"],
        asks: "TasksMax=60\n",
    },
    Known {
        controller: "cpu",
        files: QUOTA,
        value: ["60000", "60000 100000"],
        none: ["-1", "max 100000"],
        tighter: ["", "30000 100000"],
        asks: "CPUQuota=60%\n",
    },
    Known {
        controller: "cpu",
        files: ["cpu.shares", "cpu.weight"],
        value: ["300", "300"],
        none: ["", ""],
        tighter: ["", ""],
        asks: "",
    },
    Known {
        controller: "cpuset",
        files: CPUS,
        value: ["0", "0"],
        none: ["", ""],
        tighter: ["", ""],
        asks: "",
    },
];

#[derive(Debug, Clone, Copy, PartialEq)]
enum Fate {
    Right,
    /// The limit stands in the group above, and nobody asked for one of this group.
    Above,
    Removed,
    Tighter,
    /// The group above does not enable the controller any more.
    Off,
    /// The processes are elsewhere.
    Moved,
}

impl Fate {
    fn draw(random: &mut SmallRng, known: &Known, version: usize) -> Self {
        let is_possible = |fate: &Self| match fate {
            Self::Above | Self::Removed => !known.none[version].is_empty(),
            Self::Tighter => !known.tighter[version].is_empty(),
            Self::Off => version == 1 && !known.asks.is_empty(),
            Self::Right | Self::Moved => true,
        };
        let all = [Self::Right, Self::Right, Self::Above, Self::Removed, Self::Tighter, Self::Off];
        let possible: Vec<Self> = all.into_iter().filter(is_possible).collect();
        possible[random.random_range(0..possible.len())]
    }

    fn happen(self, limited: &Limited, known: &Known, version: usize) {
        let set = |group, value: [&str; 2]| limited.set(group, known.files, value[version]);
        set("in", known.value);
        match self {
            Self::Right => {}
            Self::Above => {
                set("in", known.none);
                set("", known.value);
            }
            Self::Removed => set("in", known.none),
            Self::Tighter => set("", known.tighter),
            Self::Off => {
                limited.set("", ["", "cgroup.subtree_control"], &format!("-{}", known.controller));
            }
            Self::Moved => limited.enter(".."),
        }
    }
}

/// `ASSAY_TEST_GROUPS` are so many, drawn from `ASSAY_TEST_SEED`.
#[test]
#[ignore = "some minutes: cargo test -p assay-cli --test assay drawn -- --ignored --nocapture"]
fn of_limits_that_come_and_go_at_random_nothing_wrong_is_said() {
    let Some(bench) = Bench::with("probe: drawn limits", &CONTROLLERS.map(Need::Controller)) else {
        return;
    };
    let number = |name, usual| env::var(name).map_or(usual, |text| text.parse::<u64>().unwrap());
    let (groups, seed) = (number("ASSAY_TEST_GROUPS", 200), number("ASSAY_TEST_SEED", 1));
    let mut random = SmallRng::seed_from_u64(seed);
    let (mut right, mut open, mut longest) = (0, Vec::new(), Duration::ZERO);
    for _ in 0..groups {
        let limited = Limited::new("drawn");
        let version = usize::from(limited.is_v2);
        let first = random.random_range(0..ALL.len());
        let others: Vec<&Known> =
            ALL.iter().filter(|one| one.controller != ALL[first].controller).collect();
        let chosen = [&ALL[first], others[random.random_range(0..others.len())]];
        let is_moved = random.random_bool(0.12);
        let fates = chosen.map(|known| match is_moved {
            true => Fate::Moved,
            false => Fate::draw(&mut random, known, version),
        });
        let mut unit = "[Service]\n".to_owned();
        for (known, fate) in chosen.into_iter().zip(fates) {
            fate.happen(&limited, known, version);
            unit += if fate == Fate::Above { "" } else { known.asks };
        }
        let unit = bench.write("in.service", &unit);
        let only = chosen.map(|known| known.controller).join(",");
        let mut more = vec!["--only", &only];
        if fs::read_to_string(&unit).unwrap().contains('=') {
            more.extend(["--manifest", unit.to_str().unwrap()]);
        }
        let is_right = |fate: Fate| matches!(fate, Fate::Right | Fate::Above);
        let begun = Instant::now();
        let document =
            probe(&bench, &limited.inner(), &more, i32::from(!fates.into_iter().all(is_right)));
        longest = longest.max(begun.elapsed());
        for (known, fate) in chosen.into_iter().zip(fates) {
            let said = answer(&document, known.files);
            let due = if is_right(fate) { "enforced" } else { "not-enforced" };
            match said["verdict"].as_str().unwrap() {
                verdict if verdict == due => right += 1,
                "not-provable" => open.push(format!("{}: {}", said["knob"], said["reason"])),
                _ => panic!("seed {seed}, {} {fate:?}: {document:#}", known.files[version]),
            }
        }
    }
    println!(
        "{open:#?}\n{right} right, {} not provable, 0 wrong of {groups} groups; seed {seed}, longest {longest:?}",
        open.len()
    );
    assert!(right > open.len(), "hardly anything was provable");
}
