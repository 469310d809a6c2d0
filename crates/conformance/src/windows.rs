//! Counters read over several short windows.

/// Growth of counters in one window.
#[derive(Debug, Clone, PartialEq)]
pub struct Window {
    /// Duration in seconds, by the wall clock.
    pub seconds: f64,
    /// Growth of each counter.
    pub grew: Vec<f64>,
}

impl Window {
    /// From two readings of the same counters.
    #[must_use]
    pub fn between(seconds: f64, before: &[u64], after: &[u64]) -> Self {
        let grew = before.iter().zip(after).map(|(old, new)| new.saturating_sub(*old) as f64);
        Self { seconds, grew: grew.collect() }
    }

    /// Each counter's share of their sum; `None` if nothing grew.
    #[must_use]
    pub fn shares(&self) -> Option<Vec<f64>> {
        let sum: f64 = self.grew.iter().sum();
        (sum > 0.0).then(|| self.grew.iter().map(|grew| grew / sum).collect())
    }

    /// Total growth of nanosecond counters per second: 1.0 is one busy CPU.
    #[must_use]
    pub fn busy(&self) -> f64 {
        self.grew.iter().sum::<f64>() / 1e9 / self.seconds
    }
}

/// The first counter's share of all in each window in which any grew.
pub(crate) fn first_shares(windows: &[Window]) -> Vec<f64> {
    windows.iter().filter_map(|window| Some(window.shares()?[0])).collect()
}

/// Mean of [`Window::busy`].
pub(crate) fn mean_busy(windows: &[Window]) -> f64 {
    windows.iter().map(Window::busy).sum::<f64>() / windows.len().max(1) as f64
}

/// Eight windows of a second in which each group used this many CPUs, for the tests of cases.
#[cfg(test)]
pub(crate) fn of_cpus(used: &[f64]) -> Vec<Window> {
    let window = Window { seconds: 1.0, grew: used.iter().map(|cpus| cpus * 1e9).collect() };
    vec![window; 8]
}

/// Six windows of half a second in which each counter grew by this much, for the tests of cases.
#[cfg(test)]
pub(crate) fn of_counts(grew: &[f64]) -> Vec<Window> {
    vec![Window { seconds: 0.5, grew: grew.to_vec() }; 6]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_use_come_from_counter_growth() {
        let window = Window::between(0.5, &[100, 0], &[100_000_100, 300_000_000]);
        assert_eq!(window.shares().unwrap(), [0.25, 0.75]);
        assert!((window.busy() - 0.8).abs() < 1e-9);
        assert_eq!(Window::between(0.5, &[7], &[7]).shares(), None);
    }
}
