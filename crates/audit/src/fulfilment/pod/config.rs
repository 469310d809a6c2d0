//! The kubelet's configuration, as far as it decides what is written for a pod.

use crate::fulfilment::quantity::kubernetes;
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
    /// `podPidsLimit`, if there is one.
    pub(super) pids: Option<u64>,
    /// `singleProcessOOMKill`, where it is set: the default depends on the version.
    pub(super) kills_one: Option<bool>,
    /// `memorySwap.swapBehavior`.
    pub(super) swap: Option<SwapBehavior>,
    /// Groups that it limits to what is reserved for them.
    pub(super) reserved: Vec<Reserved>,
    /// What it enforces and is not compared.
    pub(super) not_compared: Vec<String>,
}

/// What containers may swap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SwapBehavior {
    No,
    /// Burstable ones by their part of the memory.
    Limited,
}

/// A group with what is reserved for it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reserved {
    /// `systemReserved`.
    pub(super) key: &'static str,
    pub(super) group: String,
    pub(super) cpu: Option<u64>,
    pub(super) memory: Option<u64>,
    pub(super) pids: Option<u64>,
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
        let pids = document.text("podPidsLimit").filter(|text| *text != "-1");
        let pids = pids.map(|text| text.parse().map_err(|_| wrong("podPidsLimit", text)));
        let swap = match document.text("memorySwap.swapBehavior") {
            None | Some("") => None,
            Some("NoSwap") => Some(SwapBehavior::No),
            Some("LimitedSwap") => Some(SwapBehavior::Limited),
            Some(other) => return Err(wrong("memorySwap.swapBehavior", other)),
        };
        let (reserved, not_compared) = reserved(document)?;
        Ok(Self {
            pids: pids.transpose()?,
            kills_one: document.text("singleProcessOOMKill").map(|text| text == "true"),
            swap,
            reserved,
            not_compared,
            has_memory_qos: !is_off("featureGates.MemoryQoS"),
            reservation,
            factor,
            has_quota: !is_off("cpuCFSQuota"),
            period,
            gives_cpus: document.text("cpuManagerPolicy") == Some("static"),
        })
    }

    /// Whether it limits groups of the node by itself.
    pub(in crate::fulfilment) const fn asks_for_groups(&self) -> bool {
        !self.reserved.is_empty()
    }

    pub(super) fn reserves(&self) -> bool {
        self.has_memory_qos && self.reservation == Reservation::Tiered
    }
}

/// The groups of `enforceNodeAllocatable` (enforceNodeAllocatableCgroups, pkg/kubelet/cm/node_container_manager_linux.go), and what of it is
/// not compared.
fn reserved(document: &Yaml) -> Result<(Vec<Reserved>, Vec<String>), String> {
    const GROUPS: [(&str, &str, &str); 2] = [
        ("system-reserved", "systemReserved", "systemReservedCgroup"),
        ("kube-reserved", "kubeReserved", "kubeReservedCgroup"),
    ];
    let (mut groups, mut rest) = (Vec::new(), Vec::new());
    for item in document.list("enforceNodeAllocatable") {
        let Yaml::Scalar(word) = item else { continue };
        let name = word.strip_suffix("-compressible").unwrap_or(word);
        let Some((_, key, of)) = GROUPS.iter().find(|(known, ..)| *known == name) else {
            rest.push(format!("enforceNodeAllocatable: {word}"));
            continue;
        };
        let group = document.text(of).ok_or_else(|| format!("{word} without {of}"))?;
        let amount = |resource: &str, parts: u64| {
            let Some(text) = document.text(&format!("{key}.{resource}")) else { return Ok(None) };
            let wrong = || format!("KubeletConfiguration: {key}.{resource} `{text}` is no amount");
            kubernetes(text, parts).map(Some).ok_or_else(wrong)
        };
        let is_whole = name == word;
        groups.push(Reserved {
            key,
            group: format!("/{}", group.trim_matches('/')),
            cpu: amount("cpu", 1000)?,
            memory: amount("memory", 1)?.filter(|_| is_whole),
            pids: amount("pid", 1)?.filter(|_| is_whole),
        });
    }
    Ok((groups, rest))
}
