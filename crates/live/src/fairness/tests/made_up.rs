//! Looks at a made-up host, for tests: two CPUs, and the groups /p with children /p/a, /p/b and /p/c.

use assay_audit::{Reading, WeightSetting};

use crate::fairness::levels::Levels;
use crate::fairness::look::{FIRST_GROUP, Look};

pub(crate) const GROUPS: [&str; 4] = ["/p", "/p/a", "/p/b", "/p/c"];
const SLOTS: usize = FIRST_GROUP + GROUPS.len();
const CELL_NS: u64 = 100_000_000;

/// What a child does on a CPU.
#[derive(Clone, Copy)]
pub(crate) struct Child {
    /// Its place in [`GROUPS`].
    pub(crate) group: usize,
    pub(crate) cpu: usize,
    /// Of each cell.
    pub(crate) ms: u64,
    /// Whether it could have used the CPU all the time.
    pub(crate) is_there: bool,
    /// What the kernel gives to it there, and its weight for the kernel.
    pub(crate) weight: (u64, u64),
}

pub(crate) fn child(group: usize, cpu: usize, ms: u64) -> Child {
    Child { group, cpu, ms, is_there: true, weight: (1024, 1024) }
}

pub(crate) fn setting(group: &str, weight: f64) -> WeightSetting {
    let reading = Reading {
        file: format!("/sys/fs/cgroup{group}/cpu.shares"),
        value: format!("{weight:.0}"),
    };
    WeightSetting { group: group.to_owned(), owner: None, reading, weight }
}

/// So many cells of a host whose children were told these weights.
pub(crate) fn watch(weights: [f64; 3], children: &[Child], cells: u64) -> Levels {
    let groups = GROUPS.map(str::to_owned);
    let mut all = vec![setting("/p", 1024.0)];
    all.extend(weights.iter().zip(&GROUPS[1..]).map(|(weight, group)| setting(group, *weight)));
    let mut levels = Levels::new(&groups, &all);
    for cell in 1..=cells {
        levels.add(&look(children, cell), &look(children, cell + 1));
    }
    levels
}

fn look(children: &[Child], cell: u64) -> Look {
    let mut shares = vec![[0_u64; 5]; 2 * SLOTS];
    for one in children {
        let since = if one.is_there { 1 } else { cell * CELL_NS };
        let (weight, whole) = one.weight;
        shares[one.cpu * SLOTS + FIRST_GROUP + one.group] =
            [since, cell * one.ms * 1_000_000, 0, weight << 10, whole << 10];
    }
    let cpu = [1, u64::MAX, 0, 0, 0, 0, 0, 0, 0, 0];
    Look::parse(cell * CELL_NS, &[cpu, cpu].concat(), &shares.concat()).unwrap()
}
