//! How long a case may take.

use std::time::Duration;

use assay_facts::HostFacts;

/// Times from the start of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    /// From then on no more windows are read for a result that is undecided.
    pub(crate) windows: Duration,
    /// From then on its processes are killed.
    pub(crate) end: Duration,
}

impl Limits {
    /// The limits on this machine, longer by `patience`. What a few windows of an emulated CPU do not decide,
    /// more of them rarely do: it waits for the CPUs of its host, and dozens of cases wait one after the
    /// other.
    pub(crate) fn new(facts: &HostFacts, patience: f64) -> Self {
        let (windows, end) = if facts.is_emulated() { (10, 30) } else { (40, 40) };
        let long = |seconds| Duration::from_secs(seconds).mul_f64(patience);
        Self { windows: long(windows), end: long(end) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_emulated_machine_gives_up_sooner_on_what_is_undecided() {
        let facts = assay_test_support::hosts::host(true);
        let of = |machine: &str, patience| {
            let facts = HostFacts { virtual_machine: Some(machine.to_owned()), ..facts.clone() };
            let limits = Limits::new(&facts, patience);
            (limits.windows.as_secs(), limits.end.as_secs())
        };
        assert_eq!(of("KVM", 1.0), (40, 40));
        assert_eq!(of("QEMU", 3.0), (30, 90));
        assert_eq!(of("QEMU", 6.0), (60, 180));
    }
}
