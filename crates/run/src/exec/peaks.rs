//! Peaks sampled while the command runs, where the kernel keeps none.

use std::time::Duration;

use assay_host::facts::Available;
use serde::Serialize;

use crate::exec::counters::{Counters, then};

/// Sampling period. A peak between two samples is missed, which is why sampled peaks are marked.
pub(crate) const PERIOD: Duration = Duration::from_millis(50);

/// A sampled value, with the file in which the kernel may keep the peak.
struct Watch {
    controller: &'static str,
    current: &'static str,
    key: Option<&'static str>,
    largest: Option<u64>,
}

/// The peaks so far.
pub(crate) struct Peaks {
    memory: Option<Watch>,
    swap: Option<Watch>,
    processes: Option<Watch>,
}

impl Peaks {
    /// Selects the values to sample: those without a peak file of their own.
    pub(crate) fn new(counters: &Counters, has_swap: bool) -> Self {
        let lacks = |controller, file: &str| counters.text(controller, file).value().is_none();
        let watch =
            |controller, current, key| Some(Watch { controller, current, key, largest: None });
        let on_v1 = !lacks("memory", "memory.max_usage_in_bytes");
        let memory = (lacks("memory", "memory.peak") && !on_v1)
            .then(|| watch("memory", "memory.current", None));
        let swap = (has_swap && lacks("memory", "memory.swap.peak")).then(|| {
            if on_v1 {
                watch("memory", "memory.stat", Some("total_swap"))
            } else {
                watch("memory", "memory.swap.current", None)
            }
        });
        let processes = lacks("pids", "pids.peak").then(|| watch("pids", "pids.current", None));
        Self { memory: memory.flatten(), swap: swap.flatten(), processes: processes.flatten() }
    }

    /// Whether anything has to be sampled.
    pub(crate) fn any(&self) -> bool {
        self.memory.is_some() || self.swap.is_some() || self.processes.is_some()
    }

    /// Takes one sample.
    pub(crate) fn sample(&mut self, counters: &Counters) {
        for watch in [&mut self.memory, &mut self.swap, &mut self.processes].into_iter().flatten() {
            let now = match watch.key {
                Some(key) => counters.keyed(watch.controller, watch.current, key),
                None => counters.number(watch.controller, watch.current),
            };
            watch.largest = watch.largest.max(now.value().copied());
        }
    }

    pub(crate) fn memory(&self, counters: &Counters) -> Available<Peak> {
        kernel_peak(counters, "memory", "memory.peak")
            .or_else(|| kernel_peak(counters, "memory", "memory.max_usage_in_bytes"))
            .map_or_else(
                || sampled(counters, self.memory.as_ref(), "memory.peak"),
                Available::Value,
            )
    }

    pub(crate) fn swap(&self, counters: &Counters, has_swap: bool) -> Available<Peak> {
        if !has_swap {
            return Available::NotAvailable("this host has no swap".to_owned());
        }
        kernel_peak(counters, "memory", "memory.swap.peak").map_or_else(
            || sampled(counters, self.swap.as_ref(), "memory.swap.peak"),
            Available::Value,
        )
    }

    pub(crate) fn processes(&self, counters: &Counters) -> Available<Peak> {
        kernel_peak(counters, "pids", "pids.peak").map_or_else(
            || sampled(counters, self.processes.as_ref(), "pids.peak"),
            Available::Value,
        )
    }
}

fn kernel_peak(counters: &Counters, controller: &str, file: &str) -> Option<Peak> {
    let available = counters.number(controller, file);
    available.value().map(|value| Peak { value: *value, sampled: false })
}

fn sampled(counters: &Counters, watch: Option<&Watch>, file: &str) -> Available<Peak> {
    match watch.and_then(|watch| watch.largest) {
        Some(value) => Available::Value(Peak { value, sampled: true }),
        // Report why the kernel's own file could not be read.
        None => {
            let controller = watch.map_or("memory", |watch| watch.controller);
            then(counters.text(controller, file), file, |_| None)
        }
    }
}

/// A maximum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Peak {
    /// The value.
    pub value: u64,
    /// Whether it is the largest of samples, because this kernel keeps no peak: the true one may have
    /// been larger.
    pub sampled: bool,
}
