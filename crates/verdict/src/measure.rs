//! Measures of promises, and their counters in the samples.

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

impl Measure {
    /// The measure of this name in a study.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "io.bytes" => Some(Self::IoBytes),
            "io.ios" => Some(Self::IoIos),
            "cpu.time" => Some(Self::CpuTime),
            "memory.current" => Some(Self::MemoryCurrent),
            "memory.dirty" => Some(Self::MemoryDirty),
            "memory.refaults" => Some(Self::MemoryRefaults),
            _ => None,
        }
    }

    /// Its name in a study.
    pub const fn name(self) -> &'static str {
        match self {
            Self::IoBytes => "io.bytes",
            Self::IoIos => "io.ios",
            Self::CpuTime => "cpu.time",
            Self::MemoryCurrent => "memory.current",
            Self::MemoryDirty => "memory.dirty",
            Self::MemoryRefaults => "memory.refaults",
        }
    }

    /// The table that holds its counters.
    pub const fn source(self) -> &'static str {
        match self {
            Self::IoBytes | Self::IoIos => "io",
            Self::CpuTime => "cpu",
            Self::MemoryCurrent | Self::MemoryDirty | Self::MemoryRefaults => "memory",
        }
    }

    /// The counters whose sum it is.
    pub const fn columns(self) -> &'static [&'static str] {
        match self {
            Self::IoBytes => &["read_bytes", "write_bytes"],
            Self::IoIos => &["read_ios", "write_ios"],
            Self::CpuTime => &["usage_ns"],
            Self::MemoryCurrent => &["current_bytes"],
            Self::MemoryDirty => &["dirty_bytes", "writeback_bytes"],
            Self::MemoryRefaults => &["refault_anon_pages", "refault_file_pages"],
        }
    }

    /// Factor from counts to units of the measure.
    pub const fn scale(self) -> f64 {
        match self {
            Self::CpuTime => 1e-9,
            _ => 1.0,
        }
    }

    /// Whether readings are amounts at an instant, whose mean over time counts, instead of
    /// cumulative sums.
    pub const fn is_gauge(self) -> bool {
        matches!(self, Self::MemoryCurrent | Self::MemoryDirty)
    }

    /// Whether the groups share the disk.
    pub const fn is_io(self) -> bool {
        matches!(self, Self::IoBytes | Self::IoIos)
    }

    /// Whether the groups share CPU time.
    pub const fn is_cpu(self) -> bool {
        matches!(self, Self::CpuTime)
    }

    /// Whether the groups share memory.
    pub const fn is_memory(self) -> bool {
        matches!(self, Self::MemoryCurrent | Self::MemoryDirty | Self::MemoryRefaults)
    }
}
