//! What the eBPF programs cost: one event in 64 is timed (`programs/timing.h`).

/// Words of `struct timing`.
pub(crate) const TIMING: usize = 3;

/// Events, and how long those took that were timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timing {
    /// Events.
    pub events: u64,
    /// Events that were timed.
    pub timed: u64,
    /// How long the programs took for these.
    pub timed_ns: u64,
}

impl Timing {
    /// Parses the memory of the programs; missing words are 0.
    #[must_use]
    pub fn parse(words: &[u64]) -> Self {
        let at = |index: usize| words.get(index).copied().unwrap_or(0);
        Self { events: at(0), timed: at(1), timed_ns: at(2) }
    }

    /// Parses those of several CPUs.
    #[must_use]
    pub fn parse_all(words: &[u64]) -> Vec<Self> {
        words.chunks_exact(TIMING).map(Self::parse).collect()
    }

    /// How long all events took, by those that were timed.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        match self.timed {
            0 => 0.0,
            timed => self.timed_ns as f64 / timed as f64 * self.events as f64 * 1e-9,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_events_cost_as_much_as_those_that_were_timed() {
        let [idle, busy] = Timing::parse_all(&[0, 0, 0, 640, 10, 5000])[..] else { panic!() };
        assert_eq!(idle.seconds(), 0.0);
        assert!((busy.seconds() - 640.0 * 500e-9).abs() < 1e-12);
    }
}
