//! The measures that are drawn for every group of a trial: which, their values, and their axes.

use assay_record::terms::Measure;

use crate::counters::Curve;
use crate::number::Unit;
use crate::trial::Trial;

/// The rate of a measure between two instants, or its mean for a gauge.
pub(crate) fn value(measure: Measure, curve: &Curve, from_ns: u64, to_ns: u64) -> Option<f64> {
    if measure.is_gauge() { curve.mean(from_ns, to_ns) } else { curve.rate(from_ns, to_ns) }
}

/// `bandwidth, MB/s`; the unit of requests is self-explanatory.
pub(crate) fn axis_title(measure: Measure, suffix: &str, unit: Unit) -> String {
    let title = measure.info().title;
    if unit.label.ends_with(title) {
        format!("{}{suffix}", unit.label)
    } else {
        format!("{}{suffix}, {}", uncapitalised(title), unit.label)
    }
}

/// `Memory held` within a sentence; `CPU time` is unchanged.
pub(crate) fn uncapitalised(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().into_iter();
    match letters.clone().next() {
        Some(second) if second.is_lowercase() => {
            first.flat_map(char::to_lowercase).chain(letters).collect()
        }
        _ => word.to_owned(),
    }
}

/// Measures shown for a trial: bandwidth and requests if it has a disk, and the measures of its
/// promises.
pub(crate) fn shown(trial: &Trial<'_>) -> Vec<Measure> {
    let promised = |measure: Measure| trial.promise(measure.name()).is_some();
    let has_disk = !trial.record.disks.is_empty();
    let of_others = Measure::ALL.into_iter().filter(|measure| !measure.is_io());
    let mut shown: Vec<Measure> = of_others.filter(|measure| promised(*measure)).collect();
    let of_memory = promised(Measure::MemoryCurrent) || promised(Measure::MemoryRefaults);
    if of_memory && !promised(Measure::MemoryRefaults) {
        shown.push(Measure::MemoryRefaults);
    }
    let of_io = promised(Measure::IoBytes) || promised(Measure::IoIos);
    if of_io || (has_disk && !of_memory) || shown.is_empty() {
        shown.extend([Measure::IoBytes, Measure::IoIos]);
    }
    shown
}
