//! Metrics reported by workloads: `WORKLOAD.METRIC`.

/// The metrics of fio without latencies, whose names have a pattern: `read_mean_ns`,
/// `write_p99.9_ns`.
const FIO_METRICS: &[&str] = &[
    "read_bytes",
    "write_bytes",
    "read_ios",
    "write_ios",
    "read_iops",
    "write_iops",
    "user_cpu_percent",
    "system_cpu_percent",
];

/// The names of fio's metrics, without latencies.
#[must_use]
pub const fn fio_metrics() -> &'static [&'static str] {
    FIO_METRICS
}

/// A measure that a workload reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Metric<'m> {
    /// The workload's name in the study.
    pub(crate) workload: &'m str,
    /// The metric's name, with its unit in it.
    pub(crate) name: &'m str,
}

impl<'m> Metric<'m> {
    /// Splits `reader.read_iops`. Names of workloads have no dot, those of metrics may.
    #[must_use]
    pub(crate) fn parse(measure: &'m str) -> Option<Self> {
        let (workload, name) = measure.split_once('.')?;
        (!workload.is_empty() && !name.is_empty()).then_some(Self { workload, name })
    }
}

/// Whether fio reports this metric.
pub(crate) fn is_fio_metric(name: &str) -> bool {
    FIO_METRICS.contains(&name) || is_latency(name)
}

/// `read_mean_ns`, `write_p99.9_ns`.
fn is_latency(name: &str) -> bool {
    let metric = name.strip_prefix("read_").or_else(|| name.strip_prefix("write_"));
    let Some(which) = metric.and_then(|rest| rest.strip_suffix("_ns")) else { return false };
    let percentile = which.strip_prefix('p').and_then(|number| number.parse::<f64>().ok());
    which == "mean" || percentile.is_some_and(|number| number > 0.0 && number < 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_follows_the_first_dot() {
        let metric = Metric::parse("reader.read_p99.9_ns").unwrap();
        assert_eq!((metric.workload, metric.name), ("reader", "read_p99.9_ns"));
        assert_eq!(Metric::parse("reader"), None);
        assert_eq!(Metric::parse("reader."), None);
        assert_eq!(Metric::parse(".teps"), None);
    }

    #[test]
    fn fio_latencies_are_means_and_percentiles_of_a_direction() {
        for name in ["read_iops", "read_mean_ns", "write_p99_ns", "read_p99.99_ns"] {
            assert!(is_fio_metric(name), "{name}");
        }
        for name in ["teps", "read_p100_ns", "trim_mean_ns", "read_px_ns", "read_ns"] {
            assert!(!is_fio_metric(name), "{name}");
        }
    }
}
