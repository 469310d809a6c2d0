//! What is drawn for every group: measures with their words, counters and units.

use crate::counters::Curve;
use crate::number::Unit;
use crate::trial::Trial;

/// Something that is drawn for every group.
pub(crate) struct Quantity {
    /// What promises call it.
    pub(crate) measure: &'static str,
    /// What people call it.
    pub(crate) word: &'static str,
    /// The source that has it.
    pub(crate) source: &'static str,
    /// The counters that are summed.
    pub(crate) columns: &'static [&'static str],
    /// Whether they are amounts at an instant and not sums since the beginning.
    pub(crate) gauge: bool,
    /// What one count is in units of the measure.
    pub(crate) scale: f64,
    /// Name of the bars in the page.
    pub(crate) bars: &'static str,
    /// Name of the curves in the page.
    pub(crate) curves: &'static str,
}

impl Quantity {
    /// Its rate between two instants, or its mean where it is an amount.
    pub(crate) fn of(&self, curve: &Curve, from_ns: u64, to_ns: u64) -> Option<f64> {
        if self.gauge { curve.mean(from_ns, to_ns) } else { curve.rate(from_ns, to_ns) }
    }

    /// `bandwidth, MB/s`; the unit of requests says what it counts by itself.
    pub(crate) fn axis_title(&self, of_whom: &str, unit: Unit) -> String {
        if unit.label.ends_with(self.word) {
            format!("{}{of_whom}", unit.label)
        } else {
            format!("{}{of_whom}, {}", uncapitalised(self.word), unit.label)
        }
    }
}

/// `Memory held` within a sentence; `CPU time` stays.
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
pub(crate) const BANDWIDTH: Quantity = Quantity {
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
pub(crate) const IOS: Quantity = Quantity {
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
pub(crate) const CPU: Quantity = Quantity {
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
pub(crate) const MEMORY: Quantity = Quantity {
    measure: "memory.current",
    word: "Memory held",
    source: "memory",
    columns: &["current_bytes"],
    gauge: true,
    scale: 1.0,
    bars: "memory",
    curves: "memory-over-time",
};

/// Bytes that wait to be written back.
pub(crate) const DIRTY: Quantity = Quantity {
    measure: "memory.dirty",
    word: "Dirty memory",
    source: "memory",
    columns: &["dirty_bytes", "writeback_bytes"],
    gauge: true,
    scale: 1.0,
    bars: "dirty",
    curves: "dirty-over-time",
};

/// Pages that were taken and came back.
pub(crate) const REFAULTS: Quantity = Quantity {
    measure: "memory.refaults",
    word: "Refaults",
    source: "memory",
    columns: &["refault_anon_pages", "refault_file_pages"],
    gauge: false,
    scale: 1.0,
    bars: "refaults",
    curves: "refaults-over-time",
};

/// What the figures of a trial show: bandwidth and requests where it has a disk, and what its
/// promises are about.
pub(crate) fn shown(trial: &Trial<'_>) -> Vec<&'static Quantity> {
    let promised = |quantity: &Quantity| trial.promise(quantity.measure).is_some();
    let has_disk = !trial.record.disks.is_empty();
    let mut shown: Vec<&Quantity> = [&CPU, &MEMORY, &DIRTY, &REFAULTS]
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
