//! Random instants: some anywhere in the time of a whole work, some before its ledger, some in each phase,
//! the others between two marks of its progress, so that short steps are hit as often as long ones.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use rustix::process::Signal;

use super::progress::Phase;

/// When a work is killed.
#[derive(Debug, Clone)]
pub(super) enum When {
    /// This long after its start.
    Time(Duration),
    /// This long after this number of marks (`progress.rs`).
    After { marks: usize, pause: Duration },
}

/// Who is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Victims {
    /// Only the program; its workloads continue.
    Program,
    /// The program and all workloads.
    AllThatItStarted,
}

/// One kill.
#[derive(Debug, Clone)]
pub(super) struct Round {
    pub(super) when: When,
    /// By SIGTERM the program alone, which then has to restore the host itself.
    pub(super) signal: Signal,
    pub(super) victims: Victims,
    /// When a first restore is killed as well, if so; its marks count from its start.
    pub(super) restore_killed: Option<When>,
}

/// An undisturbed work.
#[derive(Debug, Default)]
pub(super) struct Whole {
    /// The times of its marks and of its end.
    pub(super) times: Vec<Duration>,
    /// Its phases while a ledger exists: the number of marks before each, and its length.
    pub(super) phases: BTreeMap<Phase, (usize, Duration)>,
}

/// Draws rounds for a work.
pub(super) struct Draw {
    random: SmallRng,
    whole: Whole,
    /// Phases without a kill so far.
    missing: BTreeSet<Phase>,
}

/// The seed from the environment, or a new one.
pub(crate) fn seed() -> u64 {
    std::env::var("ASSAY_TEST_SEED").map_or_else(
        |_| {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
            now.as_nanos() as u64 % 1_000_000_007
        },
        |text| text.parse().unwrap(),
    )
}

impl Draw {
    pub(super) fn new(seed: u64, whole: Whole) -> Self {
        let missing = whole.phases.keys().copied().collect();
        Self { random: SmallRng::seed_from_u64(seed), whole, missing }
    }

    /// Records a kill in this phase.
    pub(super) fn hit(&mut self, phase: Phase) {
        self.missing.remove(&phase);
    }

    /// The phases in which this work can be killed but has not been.
    pub(super) fn missing(&self) -> &BTreeSet<Phase> {
        &self.missing
    }

    pub(super) fn round(&mut self) -> Round {
        let changes_nothing = self.whole.phases.is_empty();
        let when = match self.random.random_range(0..12) {
            _ if changes_nothing => self.before(self.whole.times.len() - 1, 0.97),
            0 => self.before(0, 1.0),
            1 | 2 => self.before(self.whole.times.len() - 1, 0.97),
            3..=6 => self.by_phase(),
            _ => self.by_mark(),
        };
        let (signal, victims) = match self.random.random_range(0..8) {
            0 | 1 => (Signal::KILL, Victims::AllThatItStarted),
            2 | 3 => (Signal::TERM, Victims::Program),
            _ => (Signal::KILL, Victims::Program),
        };
        let dies_too = self.random.random_bool(0.4);
        let restore_killed = dies_too.then(|| self.of_restore());
        Round { when, signal, victims, restore_killed }
    }

    /// A random instant in this part of the time before a mark.
    fn before(&mut self, mark: usize, part: f64) -> When {
        When::Time(self.whole.times[mark].mul_f64(self.random.random_range(0.0..part)))
    }

    /// A random instant in one of the missing phases, if any.
    fn by_phase(&mut self) -> When {
        let eligible = |phase: &Phase| self.missing.is_empty() || self.missing.contains(phase);
        let phases = self.whole.phases.iter().filter(|(phase, _)| eligible(phase));
        let all: Vec<(usize, Duration)> = phases.map(|(_, place)| *place).collect();
        let (marks, length) = all[self.random.random_range(0..all.len())];
        When::After { marks, pause: length.mul_f64(self.random.random_range(0.0..0.9)) }
    }

    fn by_mark(&mut self) -> When {
        let times = &self.whole.times;
        let marks = self.random.random_range(1..times.len());
        let length = times[marks].saturating_sub(times[marks - 1]);
        When::After { marks, pause: length.mul_f64(self.random.random_range(0.0..1.0)) }
    }

    /// A restore takes some milliseconds, so most are killed by their progress instead of by time.
    fn of_restore(&mut self) -> When {
        let pause = Duration::from_micros(self.random.random_range(0..2_000));
        match self.random.random_bool(0.25) {
            true => When::Time(pause * 15),
            false => When::After { marks: self.random.random_range(0..4), pause: pause / 10 },
        }
    }
}
