//! Cumulative counters of all groups, resampled onto a common time grid.
//!
//! The sampler reads one group after the other, so no two readings share a time. Linear
//! interpolation of *cumulative* counters keeps every byte: it only moves a request within the
//! interval in which it was counted.

use crate::series::Series;

/// Default distance of two rows in nanoseconds. Coarser samples get a coarser grid, since rows
/// between two readings would be invented.
const STEP_NS: u64 = 100_000_000;

/// Cumulative counters of all groups at equidistant times. Row-major in time, so that a span of
/// time touches two contiguous rows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Grid {
    /// Time of row 0.
    pub start_ns: u64,
    /// Distance of two rows.
    pub step_ns: u64,
    /// Number of steps; there is one row more.
    pub steps: usize,
    /// Number of groups.
    pub width: usize,
    /// `(steps + 1) * width` cumulative values, in units of the measure, 0 in row 0.
    pub sums: Vec<f64>,
    /// The longest time without a reading of some group in the requested range, seconds.
    pub longest_gap_s: f64,
    /// Seconds in that range in which some group was not read as often as planned.
    pub missing_s: f64,
}

/// Limit of interpolated rows, enough for a day.
const MOST_INVENTED: usize = 1 << 20;

/// A gap is this many times the usual distance between two readings.
const GAP: f64 = 2.5;

impl Grid {
    /// Resamples cumulative series of at least two readings onto one grid, as far as all of them
    /// reach between two times; values are multiplied by `scale`. Missing parts count as gaps.
    pub fn of_series(all: &[Series], scale: f64, from_ns: u64, to_ns: u64) -> Result<Self, String> {
        let first = all.iter().filter_map(|series| series.first()).map(|first| first.0).max();
        let last = all.iter().filter_map(|series| series.last()).map(|last| last.0).min();
        let (Some(first), Some(last)) = (first, last) else {
            return Err("no group is measured".to_owned());
        };
        let (start_ns, end_ns) = (from_ns.max(first), to_ns.min(last));
        // Readings after the end must not decide the resolution.
        let seen =
            all.iter().map(|series| &series[..series.partition_point(|one| one.0 <= end_ns)]);
        let step_ns = STEP_NS.max(seen.map(typical_interval_ns).max().unwrap_or(0));
        let steps = (end_ns.saturating_sub(start_ns) / step_ns) as usize;
        if steps == 0 {
            return Err("the samples do not cover the common window".to_owned());
        }
        // A single damaged or invented time would produce rows for years.
        let readings = all.iter().map(Vec::len).max().unwrap_or(0);
        if steps > MOST_INVENTED && steps / 16 > readings {
            return Err(format!(
                "its readings are too far apart: {steps} steps would rest on {readings} of them"
            ));
        }
        let width = all.len();
        let mut grid = Self {
            start_ns,
            step_ns,
            steps,
            width,
            sums: vec![0.0; (steps + 1) * width],
            ..Self::default()
        };
        for series in all {
            let (longest_s, missing_s) = gaps(series, step_ns, (from_ns, to_ns));
            grid.longest_gap_s = grid.longest_gap_s.max(longest_s);
            grid.missing_s = grid.missing_s.max(missing_s);
        }
        for (group, series) in all.iter().enumerate() {
            grid.fill(group, series, scale);
        }
        Ok(grid)
    }

    /// Fills one group's column. Rows and readings are in order of time, so one pass over each is
    /// enough.
    fn fill(&mut self, group: usize, series: &Series, scale: f64) {
        let mut next = 1;
        let mut base = None;
        for row in 0..=self.steps {
            let time = self.start_ns + row as u64 * self.step_ns;
            while next + 1 < series.len() && series[next].0 < time {
                next += 1;
            }
            let ((t0, v0), (t1, v1)) = (series[next - 1], series[next]);
            let part = (time.saturating_sub(t0)) as f64 / (t1 - t0).max(1) as f64;
            let value = (v0 + (v1 - v0) * part.min(1.0)) * scale;
            let base = *base.get_or_insert(value);
            self.sums[row * self.width + group] = value - base;
        }
    }

    /// The grid without the first steps.
    pub fn cut(&self, steps: usize) -> Self {
        let steps = steps.min(self.steps.saturating_sub(1));
        let base = self.row(steps).to_vec();
        let mut sums = self.sums[steps * self.width..].to_vec();
        for row in sums.chunks_mut(self.width) {
            row.iter_mut().zip(&base).for_each(|(value, base)| *value -= base);
        }
        Self {
            start_ns: self.start_ns + steps as u64 * self.step_ns,
            steps: self.steps - steps,
            sums,
            ..*self
        }
    }

    /// Cumulative values of all groups at one time.
    pub fn row(&self, row: usize) -> &[f64] {
        &self.sums[row * self.width..(row + 1) * self.width]
    }

    /// The amount of each group over the whole grid.
    pub fn totals(&self) -> &[f64] {
        self.row(self.steps)
    }

    /// The amount of one group in each step.
    pub fn increments(&self, group: usize) -> Vec<f64> {
        let value = |row: usize| self.sums[row * self.width + group];
        (0..self.steps).map(|row| value(row + 1) - value(row)).collect()
    }

    /// All groups combined into one.
    pub fn together(&self) -> Self {
        let sums = (0..=self.steps).map(|row| self.row(row).iter().sum()).collect();
        Self { width: 1, sums, ..*self }
    }

    /// The largest amount of any group in one step: the granularity of the resource, as far as the
    /// samples show it.
    pub fn largest_increment(&self) -> f64 {
        let last = self.steps * self.width;
        let pairs = self.sums[..last].iter().zip(&self.sums[self.width..]);
        pairs.map(|(before, after)| after - before).fold(0.0, f64::max)
    }

    /// Time of the last row.
    pub fn end_ns(&self) -> u64 {
        self.start_ns + self.steps as u64 * self.step_ns
    }

    /// Length in seconds.
    pub fn seconds(&self) -> f64 {
        (self.steps as u64 * self.step_ns) as f64 / 1e9
    }

    /// Length of a step in seconds.
    pub fn step_s(&self) -> f64 {
        self.step_ns as f64 / 1e9
    }
}

/// The median distance of two readings, less a twentieth: a planned 100 ms that is really 100.01 ms
/// must not coarsen the grid.
fn typical_interval_ns(series: &[(u64, f64)]) -> u64 {
    let mut gaps: Vec<u64> = series.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    let middle = gaps.len() / 2;
    if gaps.is_empty() {
        return 0;
    }
    let (_, median, _) = gaps.select_nth_unstable(middle);
    *median - *median / 20
}

/// The longest time without a reading in a range, its ends included, and the sum of all gaps.
fn gaps(series: &Series, step_ns: u64, (from_ns, to_ns): (u64, u64)) -> (f64, f64) {
    let times = std::iter::once(from_ns).chain(series.iter().map(|one| one.0)).chain([to_ns]);
    let times: Vec<u64> = times.map(|time| time.clamp(from_ns, to_ns)).collect();
    let lengths = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64 * 1e-9);
    lengths.fold((0.0, 0.0), |(longest, missing), one| {
        let gap = if one > GAP * step_ns as f64 * 1e-9 { one } else { 0.0 };
        (f64::max(longest, one), missing + gap)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Group `a` at 1 core and group `b` at half a core, read at different times.
    fn two_groups() -> [Series; 2] {
        let times = (0..=20_u64).map(|round| round * 100_000_000);
        let a = times.clone().map(|time| (time, time as f64)).collect();
        let b = times.map(|time| (time + 7_000_000, (time + 7_000_000) as f64 / 2.0)).collect();
        [a, b]
    }

    #[test]
    fn brings_groups_that_are_read_at_different_times_onto_one_clock() {
        let grid = Grid::of_series(&two_groups(), 1e-9, 50_000_000, 1_850_000_000).unwrap();
        assert_eq!((grid.steps, grid.step_ns, grid.start_ns), (18, STEP_NS, 50_000_000));
        assert!((grid.totals()[0] - 1.8).abs() < 1e-9 && (grid.totals()[1] - 0.9).abs() < 1e-9);
        assert!(grid.increments(1).iter().all(|step| (step - 0.05).abs() < 1e-9));
    }

    #[test]
    fn one_time_that_is_years_away_makes_no_rows_for_years() {
        let year = 365 * 86_400 * 1_000_000_000;
        let series = vec![vec![(0, 0.0), (1_000_000_000, 1.0), (2_000_000_000, 2.0), (year, 3.0)]];
        let error = Grid::of_series(&series, 1.0, 0, year).unwrap_err();
        assert!(error.contains("too far apart"), "{error}");
    }

    #[test]
    fn cutting_the_beginning_starts_again_from_zero() {
        let grid = Grid::of_series(&two_groups(), 1e-9, 0, 2_000_000_000).unwrap();
        let cut = grid.cut(5);
        assert_eq!(cut.steps, grid.steps - 5);
        assert_eq!(cut.row(0), &[0.0, 0.0]);
        assert!((cut.totals()[0] - (grid.totals()[0] - 0.5)).abs() < 1e-9);
    }

    #[test]
    fn samples_at_one_hertz_get_a_grid_of_about_a_second() {
        let series = (0..30_u64).map(|second| (second * 1_000_000_000, second as f64)).collect();
        let grid = Grid::of_series(&[series], 1.0, 0, 29_000_000_000).unwrap();
        assert_eq!(grid.step_ns, 950_000_000);
    }
}
