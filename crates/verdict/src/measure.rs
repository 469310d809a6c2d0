//! What can be promised, and where its counters stand in the samples.

/// A measure that the sampler records for every group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Bytes read and written on the scratch disk.
    IoBytes,
    /// Requests read and written on the scratch disk.
    IoIos,
    /// CPU time, in seconds.
    CpuTime,
    /// Bytes held, an amount and no rate.
    MemoryCurrent,
    /// Bytes that wait to be written back or are being written, an amount.
    MemoryDirty,
    /// Pages that were taken from a group and came back.
    MemoryRefaults,
}

impl Measure {
    /// The measure of that name in a study.
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

    /// What one count of a counter is in units of the measure.
    pub const fn scale(self) -> f64 {
        match self {
            Self::CpuTime => 1e-9,
            _ => 1.0,
        }
    }

    /// Whether readings are amounts at an instant, of which the mean over time counts, and not
    /// sums since the beginning.
    pub const fn is_gauge(self) -> bool {
        matches!(self, Self::MemoryCurrent | Self::MemoryDirty)
    }

    /// Whether the disk is what the groups share.
    pub const fn is_io(self) -> bool {
        matches!(self, Self::IoBytes | Self::IoIos)
    }

    /// Whether CPU time is what the groups share.
    pub const fn is_cpu(self) -> bool {
        matches!(self, Self::CpuTime)
    }

    /// Whether memory is what the groups share.
    pub const fn is_memory(self) -> bool {
        matches!(self, Self::MemoryCurrent | Self::MemoryDirty | Self::MemoryRefaults)
    }
}
