//! The curve of latency against the bandwidth used by other threads, and its knee.

/// One setting of the aggressors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    /// Computing steps after each line; `None` if the aggressors are idle.
    pub(super) delay: Option<u64>,
    /// Bandwidth of the aggressors in bytes per second: median of the samples.
    pub(super) load_bytes_per_s: f64,
    /// Latency of the victim's loads in nanoseconds of CPU time: minimum, median and maximum.
    pub(super) least_ns: f64,
    pub(super) median_ns: f64,
    pub(super) most_ns: f64,
    /// Median by wall-clock time: higher if others used the victim's CPU.
    pub(super) wall_ns: f64,
}

/// One sample of a point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sample {
    pub(super) own_ns: f64,
    pub(super) wall_ns: f64,
    pub(super) bytes_per_s: f64,
}

impl Point {
    /// A point of at least one sample.
    pub(super) fn from_samples(delay: Option<u64>, samples: &[Sample]) -> Self {
        let sorted = |value: fn(&Sample) -> f64| {
            let mut values: Vec<f64> = samples.iter().map(value).collect();
            values.sort_by(f64::total_cmp);
            values
        };
        let own = sorted(|sample| sample.own_ns);
        let at = |place: Option<&f64>| place.copied().unwrap_or(f64::NAN);
        Self {
            delay,
            load_bytes_per_s: median(&sorted(|sample| sample.bytes_per_s)),
            least_ns: at(own.first()),
            median_ns: median(&own),
            most_ns: at(own.last()),
            wall_ns: median(&sorted(|sample| sample.wall_ns)),
        }
    }
}

fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    match sorted {
        [] => f64::NAN,
        _ if sorted.len() % 2 == 1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

/// The point beyond which latency grows more than bandwidth: the maximum ratio of bandwidth to
/// latency (Kleinrock's power, ICC 1979). Or why there is none.
pub(super) fn knee(points: &[Point]) -> Result<Point, &'static str> {
    let loaded = || points.iter().filter(|point| point.delay.is_some());
    let by = |value: fn(&Point) -> f64| {
        loaded().copied().max_by(|one, other| value(one).total_cmp(&value(other)))
    };
    let (Some(most), Some(knee)) =
        (by(|point| point.load_bytes_per_s), by(|point| point.load_bytes_per_s / point.median_ns))
    else {
        return Err("no point with aggressors was measured");
    };
    if knee == most {
        return Err("the aggressors do not saturate the memory: at their highest setting \
                    bandwidth still grows more than latency");
    }
    Ok(knee)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(delay: Option<u64>, bytes_per_s: f64, ns: f64) -> Point {
        let sample = Sample { own_ns: ns, wall_ns: ns, bytes_per_s };
        Point::from_samples(delay, &[sample])
    }

    /// A queue that saturates at 100: latency is 80 / (1 - load / 101).
    #[test]
    fn the_knee_of_a_queue_is_at_half_of_its_capacity() {
        let mut points = vec![point(None, 0.0, 80.0)];
        for load in 1..=10 {
            let load = f64::from(load) * 10.0;
            points.push(point(Some(load as u64), load, 80.0 / (1.0 - load / 101.0)));
        }
        assert_eq!(knee(&points).unwrap().delay, Some(50));
    }

    #[test]
    fn a_latency_that_does_not_rise_has_no_knee() {
        let points = [point(Some(9), 10.0, 80.0), point(Some(0), 20.0, 82.0)];
        assert!(knee(&points).unwrap_err().contains("do not saturate"));
        assert!(knee(&[point(None, 0.0, 80.0)]).is_err());
    }

    #[test]
    fn a_point_has_the_median_and_the_extremes_of_its_samples() {
        let samples = [(90.0, 95.0, 1.0), (80.0, 99.0, 3.0), (100.0, 97.0, 2.0)]
            .map(|(own_ns, wall_ns, bytes_per_s)| Sample { own_ns, wall_ns, bytes_per_s });
        let point = Point::from_samples(Some(4), &samples);
        assert_eq!((point.least_ns, point.median_ns, point.most_ns), (80.0, 90.0, 100.0));
        assert_eq!((point.wall_ns, point.load_bytes_per_s), (97.0, 2.0));
    }
}
