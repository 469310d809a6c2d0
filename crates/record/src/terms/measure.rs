//! Measures of promises: their counters in the samples, their units and their words.

/// A measure that the sampler records for every group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Bytes read and written on the scratch disk.
    IoBytes,
    /// Requests read and written on the scratch disk.
    IoIos,
    /// CPU time, in seconds.
    CpuTime,
    /// Bytes held, an amount and not a rate.
    MemoryCurrent,
    /// Dirty and writeback bytes, an amount.
    MemoryDirty,
    /// Refaulted pages.
    MemoryRefaults,
}

/// Everything that is known of a measure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasureInfo {
    /// Its name in a study and in documents.
    pub name: &'static str,
    /// The table of samples that holds its counters.
    pub source: &'static str,
    /// The counters whose sum it is.
    pub columns: &'static [&'static str],
    /// Factor from counts to the unit of the measure.
    pub scale: f64,
    /// Whether readings are amounts at an instant, whose mean over time counts, instead of cumulative sums.
    pub is_gauge: bool,
    /// Whether a bound may be an amount of data such as `10 MiB`.
    pub is_in_bytes: bool,
    /// What its groups share.
    pub resource: Resource,
    /// Which way is better.
    pub better: Direction,
    /// Its units in sentences, with this many decimals.
    pub units: (&'static [Scale], usize),
    /// Its units in tables and figures, which choose the decimals.
    pub axis_units: &'static [Scale],
    /// Its title in the report.
    pub title: &'static str,
    /// The anchors of its bars and of its curves on the page.
    pub anchors: (&'static str, &'static str),
}

/// What groups share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resource {
    /// A disk.
    Disk,
    /// CPUs.
    Cpu,
    /// Memory.
    Memory,
}

/// Which way is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// More is better: work done.
    Higher,
    /// Less is better: time waited.
    Lower,
    /// Neither: what one group gains another loses, and CPU time may be work or waste.
    Neither,
}

impl Direction {
    /// Its word in documents.
    #[must_use]
    pub const fn word(self) -> Option<&'static str> {
        match self {
            Self::Higher => Some("higher"),
            Self::Lower => Some("lower"),
            Self::Neither => None,
        }
    }
}

/// A unit for values from some size on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    /// The smallest value that is shown in it.
    pub from: f64,
    /// Base units per unit.
    pub unit: f64,
    /// `MB/s`.
    pub label: &'static str,
}

const fn scale(from: f64, unit: f64, label: &'static str) -> Scale {
    Scale { from, unit, label }
}

const KIB: f64 = 1024.0;
const MIB: f64 = 1024.0 * KIB;
const GIB: f64 = 1024.0 * MIB;

/// Memory is counted by the kernel in powers of two.
const MEMORY_UNITS: &[Scale] =
    &[scale(GIB, GIB, "GiB"), scale(MIB, MIB, "MiB"), scale(0.0, KIB, "KiB")];

const IO_BYTES: MeasureInfo = MeasureInfo {
    name: "io.bytes",
    source: "io",
    columns: &["read_bytes", "write_bytes"],
    scale: 1.0,
    is_gauge: false,
    is_in_bytes: true,
    resource: Resource::Disk,
    better: Direction::Higher,
    units: (&[scale(1e6, 1e6, "MB/s"), scale(0.0, 1e3, "kB/s")], 1),
    axis_units: &[
        scale(1e9, 1e9, "GB/s"),
        scale(1e6, 1e6, "MB/s"),
        scale(1e3, 1e3, "kB/s"),
        scale(0.0, 1.0, "B/s"),
    ],
    title: "Bandwidth",
    anchors: ("bandwidth", "bandwidth-over-time"),
};

const IO_IOS: MeasureInfo = MeasureInfo {
    name: "io.ios",
    source: "io",
    columns: &["read_ios", "write_ios"],
    scale: 1.0,
    is_gauge: false,
    is_in_bytes: false,
    resource: Resource::Disk,
    better: Direction::Higher,
    units: (&[scale(0.0, 1.0, "requests/s")], 1),
    axis_units: &[scale(1e4, 1e3, "kIOPS"), scale(0.0, 1.0, "IOPS")],
    title: "IOPS",
    anchors: ("iops", "iops-over-time"),
};

const CPU_TIME: MeasureInfo = MeasureInfo {
    name: "cpu.time",
    source: "cpu",
    columns: &["usage_ns"],
    scale: 1e-9,
    is_gauge: false,
    is_in_bytes: false,
    resource: Resource::Cpu,
    better: Direction::Neither,
    // CPU seconds per second are busy CPUs.
    units: (&[scale(0.0, 1.0, "CPUs")], 3),
    axis_units: &[scale(0.0, 1.0, "CPUs")],
    title: "CPU time",
    anchors: ("cpu-time", "cpu-time-over-time"),
};

const MEMORY_CURRENT: MeasureInfo = MeasureInfo {
    name: "memory.current",
    source: "memory",
    columns: &["current_bytes"],
    scale: 1.0,
    is_gauge: true,
    is_in_bytes: true,
    resource: Resource::Memory,
    better: Direction::Neither,
    units: (&[scale(0.0, MIB, "MiB")], 1),
    axis_units: MEMORY_UNITS,
    title: "Memory held",
    anchors: ("memory", "memory-over-time"),
};

const MEMORY_DIRTY: MeasureInfo = MeasureInfo {
    name: "memory.dirty",
    source: "memory",
    columns: &["dirty_bytes", "writeback_bytes"],
    scale: 1.0,
    is_gauge: true,
    is_in_bytes: true,
    resource: Resource::Memory,
    better: Direction::Neither,
    units: (&[scale(0.0, MIB, "MiB")], 1),
    axis_units: MEMORY_UNITS,
    title: "Dirty memory",
    anchors: ("dirty", "dirty-over-time"),
};

const MEMORY_REFAULTS: MeasureInfo = MeasureInfo {
    name: "memory.refaults",
    source: "memory",
    columns: &["refault_anon_pages", "refault_file_pages"],
    scale: 1.0,
    is_gauge: false,
    is_in_bytes: false,
    resource: Resource::Memory,
    better: Direction::Lower,
    units: (&[scale(0.0, 1.0, "refaults/s")], 1),
    axis_units: &[scale(0.0, 1.0, "pages/s")],
    title: "Refaults",
    anchors: ("refaults", "refaults-over-time"),
};

impl Measure {
    /// All of them, in the order of the documentation.
    pub const ALL: [Self; 6] = [
        Self::IoBytes,
        Self::IoIos,
        Self::CpuTime,
        Self::MemoryCurrent,
        Self::MemoryDirty,
        Self::MemoryRefaults,
    ];

    /// Its entry in the table.
    #[must_use]
    pub const fn info(self) -> &'static MeasureInfo {
        match self {
            Self::IoBytes => &IO_BYTES,
            Self::IoIos => &IO_IOS,
            Self::CpuTime => &CPU_TIME,
            Self::MemoryCurrent => &MEMORY_CURRENT,
            Self::MemoryDirty => &MEMORY_DIRTY,
            Self::MemoryRefaults => &MEMORY_REFAULTS,
        }
    }

    /// The measure of this name in a study.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|measure| measure.name() == name)
    }

    /// Its name in a study.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.info().name
    }

    /// The table that holds its counters.
    #[must_use]
    pub const fn source(self) -> &'static str {
        self.info().source
    }

    /// The counters whose sum it is.
    #[must_use]
    pub const fn columns(self) -> &'static [&'static str] {
        self.info().columns
    }

    /// Factor from counts to units of the measure.
    #[must_use]
    pub const fn scale(self) -> f64 {
        self.info().scale
    }

    /// Whether readings are amounts at an instant, whose mean over time counts, instead of
    /// cumulative sums.
    #[must_use]
    pub const fn is_gauge(self) -> bool {
        self.info().is_gauge
    }

    /// Whether the groups share the disk.
    #[must_use]
    pub const fn is_io(self) -> bool {
        matches!(self.info().resource, Resource::Disk)
    }

    /// Whether the groups share CPU time.
    #[must_use]
    pub const fn is_cpu(self) -> bool {
        matches!(self.info().resource, Resource::Cpu)
    }

    /// Whether the groups share memory.
    #[must_use]
    pub const fn is_memory(self) -> bool {
        matches!(self.info().resource, Resource::Memory)
    }

    /// A value in words: `52.3 MB/s`.
    #[must_use]
    pub fn in_words(self, value: f64) -> String {
        let (units, decimals) = self.info().units;
        let unit = Scale::choose(units, value);
        format!("{:.decimals$} {}", value / unit.unit, unit.label)
    }
}

impl Scale {
    /// The unit for values up to `largest`, of units that begin with the largest one.
    #[must_use]
    pub fn choose(units: &[Self], largest: f64) -> Self {
        let fits = units.iter().find(|unit| largest >= unit.from).or(units.last());
        fits.copied().unwrap_or(Self { from: 0.0, unit: 1.0, label: "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_measure_is_found_by_its_name() {
        for measure in Measure::ALL {
            assert_eq!(Measure::parse(measure.name()), Some(measure));
            let info = measure.info();
            assert!(!info.columns.is_empty() && info.name.split_once('.').is_some(), "{info:?}");
            for units in [info.units.0, info.axis_units] {
                assert!(units.windows(2).all(|pair| pair[0].from > pair[1].from), "{info:?}");
                assert_eq!(units.last().map(|unit| unit.from), Some(0.0), "{info:?}");
            }
        }
        assert_eq!(Measure::parse("reader.read_iops"), None);
    }

    #[test]
    fn values_are_shown_in_the_unit_of_their_measure() {
        assert_eq!(Measure::IoBytes.in_words(52_345_678.0), "52.3 MB/s");
        assert_eq!(Measure::IoBytes.in_words(300.0), "0.3 kB/s");
        assert_eq!(Measure::CpuTime.in_words(0.5), "0.500 CPUs");
        assert_eq!(Measure::MemoryDirty.in_words(1_048_576.0), "1.0 MiB");
    }
}
