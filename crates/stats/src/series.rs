//! Cumulative counters over time: differences, integrals and values between two readings.

/// `(time_ns, value)` in the order of time; the value is cumulative.
pub type Series = Vec<(u64, f64)>;

/// Rejects a counter that goes back: its group was recreated, or the counter was reset, and every
/// difference across that point would be wrong.
pub fn monotone(subject: &str, series: Series) -> Result<Series, String> {
    let back = series.windows(2).find(|pair| pair[1].1 < pair[0].1 || pair[1].0 < pair[0].0);
    match back {
        None => Ok(series),
        Some(pair) => Err(format!(
            "a counter of `{subject}` went back from {} to {} during the repeat",
            pair[0].1, pair[1].1
        )),
    }
}

/// Time integral of a gauge, in units times seconds, from its first reading on: growth per second
/// is the mean of the gauge, so that an amount is judged like a rate.
pub fn integrated(series: &Series) -> Series {
    let mut sum = 0.0;
    let mut last: Option<(u64, f64)> = None;
    let mut summed = Vec::with_capacity(series.len());
    for &(time, value) in series {
        if let Some((before, held)) = last {
            sum += 0.5 * (held + value) * time.saturating_sub(before) as f64 * 1e-9;
        }
        last = Some((time, value));
        summed.push((time, sum));
    }
    summed
}

/// Undoes one wrap between two readings. Milliseconds of /proc/diskstats are 32 bits wide in the
/// kernel and wrap after 50 days of waiting requests; at 256 requests in flight that is five hours.
pub fn unwrapped(mut series: Series) -> Series {
    const WIDTH: f64 = 4_294_967_296.0;
    let mut added = 0.0;
    let mut last = f64::NEG_INFINITY;
    for (_, value) in &mut series {
        let raw = *value;
        if raw < last && last < WIDTH {
            added += WIDTH;
        }
        last = raw;
        *value = raw + added;
    }
    series
}

/// The value of a cumulative counter at a time, by linear interpolation; `None` outside the
/// readings.
pub fn at(series: &Series, time_ns: u64) -> Option<f64> {
    let next = series.partition_point(|(time, _)| *time < time_ns);
    let &(t1, v1) = series.get(next)?;
    if t1 == time_ns {
        return Some(v1);
    }
    let &(t0, v0) = series.get(next.checked_sub(1)?)?;
    Some(v0 + (v1 - v0) * (time_ns - t0) as f64 / (t1 - t0) as f64)
}

/// Growth of a cumulative counter between two times, and the seconds it covers. Both times are
/// clamped to the readings, so that a sampler that stopped a moment early still gives a rate.
pub fn growth(series: &Series, from_ns: u64, to_ns: u64) -> Option<(f64, f64)> {
    let from = from_ns.max(series.first()?.0);
    let to = to_ns.min(series.last()?.0);
    if to <= from {
        return None;
    }
    Some((at(series, to)? - at(series, from)?, (to - from) as f64 * 1e-9))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpolates_between_two_readings_and_not_beyond_them() {
        let series = vec![(100, 10.0), (200, 30.0)];
        assert_eq!(at(&series, 150), Some(20.0));
        assert_eq!(at(&series, 200), Some(30.0));
        assert_eq!(at(&series, 99), None);
        assert_eq!(at(&series, 201), None);
    }

    #[test]
    fn undoes_the_wrap_of_a_32_bit_counter() {
        let series = unwrapped(vec![(0, 4_294_967_290.0), (1, 4.0), (2, 14.0)]);
        assert_eq!(series[2].1 - series[0].1, 20.0);
    }

    #[test]
    fn refuses_a_counter_that_goes_back() {
        let error = monotone("task1", vec![(0, 5.0), (1, 4.0)]).unwrap_err();
        assert!(error.contains("task1") && error.contains("from 5 to 4"), "{error}");
    }

    #[test]
    fn the_growth_of_an_integrated_gauge_by_time_is_its_mean() {
        let series = integrated(&vec![(0, 4.0), (1_000_000_000, 4.0), (3_000_000_000, 8.0)]);
        assert_eq!(growth(&series, 0, 1_000_000_000), Some((4.0, 1.0)));
        assert_eq!(growth(&series, 1_000_000_000, 3_000_000_000), Some((12.0, 2.0)));
    }

    #[test]
    fn growth_stays_inside_the_readings() {
        let series = vec![(1_000_000_000, 0.0), (3_000_000_000, 8.0)];
        assert_eq!(growth(&series, 0, 9_000_000_000), Some((8.0, 2.0)));
        assert_eq!(growth(&series, 4_000_000_000, 9_000_000_000), None);
    }
}
