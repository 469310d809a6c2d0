//! Random instants: half of them anywhere in the time that a whole run takes, half of them
//! between two events of the run, so that phases that pass quickly are met as often as long ones.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

/// When a run is killed.
#[derive(Debug, Clone)]
pub(super) enum When {
    /// This long after its start.
    Time(Duration),
    /// This long after so many events were written.
    After { events: usize, pause: Duration },
}

/// Who is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Victims {
    /// The program alone; its workloads go on.
    Program,
    /// The program and all workloads.
    AllThatItStarted,
}

/// One kill.
#[derive(Debug, Clone)]
pub(super) struct Round {
    pub(super) when: When,
    pub(super) victims: Victims,
    /// How long a first restore lives, where that is killed too.
    pub(super) restore_killed_after: Option<Duration>,
}

/// Draws rounds for a study.
pub(super) struct Draw {
    random: SmallRng,
    /// When the events of a whole run came, and its end.
    times: Vec<Duration>,
}

/// The seed from the environment, or a new one.
pub(super) fn seed() -> u64 {
    std::env::var("ASSAY_TEST_SEED").map_or_else(
        |_| {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
            now.as_nanos() as u64 % 1_000_000_007
        },
        |text| text.parse().unwrap(),
    )
}

impl Draw {
    pub(super) fn new(seed: u64, times: Vec<Duration>) -> Self {
        Self { random: SmallRng::seed_from_u64(seed), times }
    }

    pub(super) fn round(&mut self) -> Round {
        let when = if self.random.random_bool(0.5) { self.by_time() } else { self.by_event() };
        let victims = match self.random.random_bool(0.25) {
            true => Victims::AllThatItStarted,
            false => Victims::Program,
        };
        let dies_too = self.random.random_bool(0.3);
        let pause = Duration::from_micros(self.random.random_range(1_000..60_000));
        Round { when, victims, restore_killed_after: dies_too.then_some(pause) }
    }

    fn by_time(&mut self) -> When {
        let whole = self.times[self.times.len() - 1];
        When::Time(whole.mul_f64(self.random.random_range(0.0..0.97)))
    }

    fn by_event(&mut self) -> When {
        let events = self.random.random_range(1..self.times.len());
        let length = self.times[events].saturating_sub(self.times[events - 1]);
        When::After { events, pause: length.mul_f64(self.random.random_range(0.0..1.0)) }
    }
}
