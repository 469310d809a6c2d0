//! How long a group that wants to run goes without any CPU time, from readings of its counter; and the
//! longest wait that a fair scheduler may impose on it.

/// A reading of a counter of CPU time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reading {
    /// When it was read, in seconds.
    pub at_s: f64,
    /// CPU time used so far, in seconds.
    pub used_s: f64,
}

/// The longest time without progress that readings allow.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Stall {
    /// At least this long: from the first to the last of equal readings.
    pub least_s: f64,
    /// At most this long: with the time that was not used between the readings beside them.
    pub most_s: f64,
    /// When the longest of equal readings began; 0 where no two readings are equal.
    pub began_s: f64,
}

/// The longest time without progress of a group that runs on up to `cpus` CPUs at once.
///
/// Between two readings that differ by `u`, at least one CPU was used for `u / cpus`, so that the wait
/// beside them lasted for the rest of that time at most.
#[must_use]
pub fn longest_stall(readings: &[Reading], cpus: f64) -> Stall {
    let mut longest = Stall::default();
    // Where the current wait may have begun, the equal readings in it, and when these began.
    let (mut unused_before, mut equal, mut began) = (0.0, 0.0, 0.0);
    for pair in readings.windows(2) {
        let [first, second] = pair else { continue };
        let length = second.at_s - first.at_s;
        let used = second.used_s - first.used_s;
        if used > 0.0 {
            let unused = (length - used / cpus).max(0.0);
            longest.most_s = longest.most_s.max(unused_before + equal + unused);
            (unused_before, equal) = (unused, 0.0);
            continue;
        }
        if equal == 0.0 {
            began = first.at_s;
        }
        equal += length;
        longest.most_s = longest.most_s.max(unused_before + equal);
        if equal > longest.least_s {
            (longest.least_s, longest.began_s) = (equal, began);
        }
    }
    longest
}

/// What a scheduler that divides a CPU by weights may let a group wait for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lag {
    /// The longest slice that it gives to anybody, in seconds.
    pub slice_s: f64,
    /// The time between two ticks, by which a slice may be exceeded, in seconds.
    pub tick_s: f64,
}

impl Lag {
    /// The longest of current kernels: a slice of 24 ms, sched_latency of CFS with eight CPUs or more
    /// (6 ms times 1 + log2 8; EEVDF has 0.7 ms times that), and a tick of 10 ms (HZ = 100).
    pub const LONGEST: Self = Self { slice_s: 0.024, tick_s: 0.010 };

    /// The longest wait of a group for its first CPU time. `ratios` has, for each level of the hierarchy
    /// from the top, the weights of all that compete there over the weight of the group or of its
    /// parent. In `T` a level hands down `T / ratio` less a lag of one slice and one tick (EEVDF: the lag
    /// of an entity is at most one slice, and it is noticed at a tick), so that with two levels
    /// `T = r1 (lag + r2 lag)`. `throttled_s` is the longest time that a quota may stop it, which
    /// adds to that.
    #[must_use]
    pub fn longest_wait(self, ratios: &[f64], throttled_s: f64) -> f64 {
        let lag = self.slice_s + self.tick_s;
        let mut product = 1.0;
        let waits = ratios.iter().map(|ratio| {
            product *= ratio;
            product * lag
        });
        waits.sum::<f64>() + throttled_s
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readings(values: &[(f64, f64)]) -> Vec<Reading> {
        values.iter().map(|(at_s, used_s)| Reading { at_s: *at_s, used_s: *used_s }).collect()
    }

    #[test]
    fn equal_readings_are_a_wait_and_unused_time_beside_them_may_be() {
        let seen = readings(&[(0.0, 0.0), (0.1, 0.06), (0.2, 0.06), (0.4, 0.06), (0.5, 0.08)]);
        let stall = longest_stall(&seen, 1.0);
        assert!((stall.least_s - 0.3).abs() < 1e-9, "{stall:?}");
        assert!((stall.most_s - (0.04 + 0.3 + 0.08)).abs() < 1e-9, "{stall:?}");
        assert!((stall.began_s - 0.1).abs() < 1e-9);
    }

    #[test]
    fn progress_between_all_readings_bounds_the_wait() {
        let stall = longest_stall(&readings(&[(0.0, 0.0), (0.1, 0.1), (0.2, 0.15)]), 1.0);
        assert_eq!(stall.least_s, 0.0);
        assert!((stall.most_s - 0.05).abs() < 1e-9, "{stall:?}");
        // On two CPUs the same time was used in half of that.
        let stall = longest_stall(&readings(&[(0.0, 0.0), (0.1, 0.1)]), 2.0);
        assert!((stall.most_s - 0.05).abs() < 1e-9, "{stall:?}");
    }

    #[test]
    fn a_wait_that_reaches_the_end_counts() {
        let stall = longest_stall(&readings(&[(0.0, 0.0), (0.1, 0.09), (0.9, 0.09)]), 1.0);
        assert!((stall.least_s - 0.8).abs() < 1e-9 && (stall.most_s - 0.81).abs() < 1e-9);
        assert_eq!(longest_stall(&[], 1.0), Stall::default());
    }

    #[test]
    fn the_longest_wait_grows_with_the_weights_of_the_others() {
        let lag = Lag { slice_s: 0.003, tick_s: 0.001 };
        assert!((lag.longest_wait(&[2.0], 0.0) - 0.008).abs() < 1e-9);
        assert!((lag.longest_wait(&[2.0, 3.0], 0.0) - 0.032).abs() < 1e-9);
        assert!((lag.longest_wait(&[2.0], 0.08) - 0.088).abs() < 1e-9);
    }
}
