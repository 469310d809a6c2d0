//! Display styles of measures drawn for every group: names, counters and units.

use crate::counters::Curve;
use crate::number::Unit;
use crate::trial::Trial;

/// The display style of a measure.
pub(crate) struct MeasureStyle {
    /// Its name in promises.
    pub(crate) measure: &'static str,
    /// Its display name.
    pub(crate) word: &'static str,
    /// The source of its counters.
    pub(crate) source: &'static str,
    /// The counters that are summed.
    pub(crate) columns: &'static [&'static str],
    /// Whether they are gauges and not cumulative counters.
    pub(crate) gauge: bool,
    /// Factor from the raw count to the unit of the measure.
    pub(crate) scale: f64,
    /// Name of the bars in the page.
    pub(crate) bars: &'static str,
    /// Name of the curves in the page.
    pub(crate) curves: &'static str,
}

impl MeasureStyle {
    /// Its rate between two instants, or its mean for a gauge.
    pub(crate) fn value(&self, curve: &Curve, from_ns: u64, to_ns: u64) -> Option<f64> {
        if self.gauge { curve.mean(from_ns, to_ns) } else { curve.rate(from_ns, to_ns) }
    }

    /// `bandwidth, MB/s`; the unit of requests is self-explanatory.
    pub(crate) fn axis_title(&self, suffix: &str, unit: Unit) -> String {
        if unit.label.ends_with(self.word) {
            format!("{}{suffix}", unit.label)
        } else {
            format!("{}{suffix}, {}", uncapitalised(self.word), unit.label)
        }
    }
}

/// `Memory held` within a sentence; `CPU time` is unchanged.
fn uncapitalised(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().into_iter();
    match letters.clone().next() {
        Some(second) if second.is_lowercase() => {
            first.flat_map(char::to_lowercase).chain(letters).collect()
        }
        _ => word.to_owned(),
    }
}

/// Bytes per second.
pub(crate) const BANDWIDTH: MeasureStyle = MeasureStyle {
    measure: "io.bytes",
    word: "Bandwidth",
    source: "io",
    columns: &["read_bytes", "write_bytes"],
    gauge: false,
    scale: 1.0,
    bars: "bandwidth",
    curves: "bandwidth-over-time",
};

/// Requests per second.
pub(crate) const IOS: MeasureStyle = MeasureStyle {
    measure: "io.ios",
    word: "IOPS",
    source: "io",
    columns: &["read_ios", "write_ios"],
    gauge: false,
    scale: 1.0,
    bars: "iops",
    curves: "iops-over-time",
};

/// CPU seconds per second.
pub(crate) const CPU: MeasureStyle = MeasureStyle {
    measure: "cpu.time",
    word: "CPU time",
    source: "cpu",
    columns: &["usage_ns"],
    gauge: false,
    scale: 1e-9,
    bars: "cpu-time",
    curves: "cpu-time-over-time",
};

/// Bytes held.
pub(crate) const MEMORY: MeasureStyle = MeasureStyle {
    measure: "memory.current",
    word: "Memory held",
    source: "memory",
    columns: &["current_bytes"],
    gauge: true,
    scale: 1.0,
    bars: "memory",
    curves: "memory-over-time",
};

/// Bytes waiting for writeback.
pub(crate) const DIRTY: MeasureStyle = MeasureStyle {
    measure: "memory.dirty",
    word: "Dirty memory",
    source: "memory",
    columns: &["dirty_bytes", "writeback_bytes"],
    gauge: true,
    scale: 1.0,
    bars: "dirty",
    curves: "dirty-over-time",
};

/// Reclaimed pages that were faulted back in.
pub(crate) const REFAULTS: MeasureStyle = MeasureStyle {
    measure: "memory.refaults",
    word: "Refaults",
    source: "memory",
    columns: &["refault_anon_pages", "refault_file_pages"],
    gauge: false,
    scale: 1.0,
    bars: "refaults",
    curves: "refaults-over-time",
};

/// Measures shown for a trial: bandwidth and requests if it has a disk, and the measures of its
/// promises.
pub(crate) fn shown(trial: &Trial<'_>) -> Vec<&'static MeasureStyle> {
    let promised = |quantity: &MeasureStyle| trial.promise(quantity.measure).is_some();
    let has_disk = !trial.record.disks.is_empty();
    let mut shown: Vec<&MeasureStyle> = [&CPU, &MEMORY, &DIRTY, &REFAULTS]
        .into_iter()
        .filter(|quantity| promised(quantity))
        .collect();
    let of_memory = promised(&MEMORY) || promised(&REFAULTS);
    if of_memory && !promised(&REFAULTS) {
        shown.push(&REFAULTS);
    }
    let of_io = promised(&BANDWIDTH) || promised(&IOS);
    if of_io || (has_disk && !of_memory) || shown.is_empty() {
        shown.extend([&BANDWIDTH, &IOS]);
    }
    shown
}
