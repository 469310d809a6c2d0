//! What can be promised, and where its counters stand in the samples.

/// A measure that the sampler records for every group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Measure {
    /// Bytes read and written on the scratch disk.
    IoBytes,
    /// Requests read and written on the scratch disk.
    IoIos,
    /// CPU time, in seconds.
    CpuTime,
}

impl Measure {
    /// The measure of that name in a study.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        match name {
            "io.bytes" => Some(Self::IoBytes),
            "io.ios" => Some(Self::IoIos),
            "cpu.time" => Some(Self::CpuTime),
            _ => None,
        }
    }

    /// The table that holds its counters.
    pub(crate) const fn source(self) -> &'static str {
        match self {
            Self::IoBytes | Self::IoIos => "io",
            Self::CpuTime => "cpu",
        }
    }

    /// The counters whose sum it is.
    pub(crate) const fn columns(self) -> &'static [&'static str] {
        match self {
            Self::IoBytes => &["read_bytes", "write_bytes"],
            Self::IoIos => &["read_ios", "write_ios"],
            Self::CpuTime => &["usage_ns"],
        }
    }

    /// What one count of a counter is in units of the measure.
    pub(crate) const fn scale(self) -> f64 {
        match self {
            Self::IoBytes | Self::IoIos => 1.0,
            Self::CpuTime => 1e-9,
        }
    }

    /// Whether the disk, and not the CPU, is what the groups share.
    pub(crate) const fn is_io(self) -> bool {
        matches!(self, Self::IoBytes | Self::IoIos)
    }
}
