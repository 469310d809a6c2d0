//! Maps sample counters to OpenMetrics names, base units and types.

use assay_sys::escape::is_metric_name;

/// An OpenMetrics metric for a counter.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Metric {
    /// Name such as `assay_io_read_bytes`, without the `_total` suffix of its samples.
    pub(crate) name: String,
    /// `bytes`, `seconds`; empty if the name has no base unit.
    pub(crate) unit: &'static str,
    /// Whether it is a cumulative counter and not a gauge.
    pub(crate) counter: bool,
    /// Factor from the raw count to the unit.
    pub(crate) scale: f64,
}

/// Sources whose counters are useful in a monitor. Tables of threads, pages and free blocks have
/// thousands of rows and belong in a notebook.
const EXPORTED: [&str; 7] = ["io", "disk", "cpu", "host_cpu", "memory", "throttle", "pressure"];

/// The metric of a counter; `None` for other sources and for invalid metric names, which
/// OpenMetrics cannot escape.
pub(crate) fn metric(source: &str, counter: &str) -> Option<Metric> {
    if !EXPORTED.contains(&source) || !is_metric_name(counter) {
        return None;
    }
    const UNITS: [(&str, &str, &str, f64); 5] = [
        ("_ns", "_seconds", "seconds", 1e-9),
        ("_us", "_seconds", "seconds", 1e-6),
        ("_ms", "_seconds", "seconds", 1e-3),
        ("_bytes", "_bytes", "bytes", 1.0),
        // /sys/block/X/stat counts sectors of 512 bytes, regardless of the disk's sector size.
        ("_sectors", "_bytes", "bytes", 512.0),
    ];
    let suffix = UNITS.iter().find(|(end, ..)| counter.ends_with(end));
    let (name, unit, scale) = match suffix {
        Some((end, base, unit, scale)) => {
            (format!("{}{base}", counter.trim_end_matches(end)), *unit, *scale)
        }
        None => (counter.to_owned(), "", 1.0),
    };
    let amount = counter == "in_flight" || (source == "memory" && counter.ends_with("_bytes"));
    Some(Metric { name: format!("assay_{source}_{name}"), unit, counter: !amount, scale })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_get_base_units_and_types() {
        for (source, counter, name, unit, is_counter, scale) in [
            ("io", "read_bytes", "assay_io_read_bytes", "bytes", true, 1.0),
            ("cpu", "usage_ns", "assay_cpu_usage_seconds", "seconds", true, 1e-9),
            ("disk", "read_sectors", "assay_disk_read_bytes", "bytes", true, 512.0),
            ("disk", "in_flight", "assay_disk_in_flight", "", false, 1.0),
            ("memory", "current_bytes", "assay_memory_current_bytes", "bytes", false, 1.0),
            ("pressure", "io_some_us", "assay_pressure_io_some_seconds", "seconds", true, 1e-6),
        ] {
            let metric = metric(source, counter).unwrap();
            assert_eq!(
                (metric.name.as_str(), metric.unit, metric.counter, metric.scale),
                (name, unit, is_counter, scale)
            );
        }
        assert_eq!(metric("threads", "usage_ns"), None);
        assert_eq!(metric("io", "x 1\nevil 6\n#"), None, "a name that would inject a line");
    }
}
