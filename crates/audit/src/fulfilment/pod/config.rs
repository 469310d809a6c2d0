//! The kubelet's configuration, as far as it decides what is written for a pod.

use crate::yaml::Yaml;

/// `memoryReservationPolicy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::fulfilment) enum Reservation {
    None,
    Tiered,
}

/// A KubeletConfiguration.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::fulfilment) struct KubeletConfig {
    /// The feature gate MemoryQoS, on by default since 1.37.
    pub(super) has_memory_qos: bool,
    pub(super) reservation: Reservation,
    /// `memoryThrottlingFactor`.
    pub(super) factor: Option<f64>,
    /// `cpuCFSQuota`.
    pub(super) has_quota: bool,
    /// `cpuCFSQuotaPeriod`, in microseconds.
    pub(super) period: u64,
    /// Whether the CPU manager gives CPUs to guaranteed pods alone.
    pub(super) gives_cpus: bool,
}

impl KubeletConfig {
    pub(in crate::fulfilment) fn read(document: &Yaml) -> Result<Self, String> {
        let is_off = |path: &str| document.text(path) == Some("false");
        let wrong =
            |key: &str, text: &str| format!("KubeletConfiguration: {key} `{text}` is unknown");
        let reservation = match document.text("memoryReservationPolicy") {
            None | Some("None") => Reservation::None,
            Some("TieredReservation") => Reservation::Tiered,
            Some(other) => return Err(wrong("memoryReservationPolicy", other)),
        };
        let factor = match document.text("memoryThrottlingFactor") {
            None => None,
            Some(text) => {
                let number: Option<f64> = text.parse().ok().filter(|one| (0.0..=1.0).contains(one));
                Some(number.ok_or_else(|| wrong("memoryThrottlingFactor", text))?)
            }
        };
        let period = match document.text("cpuCFSQuotaPeriod") {
            None => 100_000,
            Some(text) => assay_sys::units::parse_duration(text)
                .ok()
                .and_then(|period| u64::try_from(period.as_micros()).ok())
                .ok_or_else(|| wrong("cpuCFSQuotaPeriod", text))?,
        };
        Ok(Self {
            has_memory_qos: !is_off("featureGates.MemoryQoS"),
            reservation,
            factor,
            has_quota: !is_off("cpuCFSQuota"),
            period,
            gives_cpus: document.text("cpuManagerPolicy") == Some("static"),
        })
    }

    pub(super) fn reserves(&self) -> bool {
        self.has_memory_qos && self.reservation == Reservation::Tiered
    }
}
