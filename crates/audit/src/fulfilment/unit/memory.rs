//! Limits and protection of memory.

use super::{Unit, V2_ONLY, unknown};
use crate::fulfilment::quantity::{percent, systemd_bytes};
use crate::fulfilment::wanted::Wanted;
use crate::fulfilment::{Asked, Target};
use crate::rule::Host;

/// Settings with their files on cgroup2 and on v1.
const FILES: [(&str, &str, Option<&str>); 7] = [
    ("MemoryMin", "memory.min", None),
    ("MemoryLow", "memory.low", None),
    ("MemoryHigh", "memory.high", None),
    ("MemoryMax", "memory.max", Some(ON_V1)),
    ("MemoryLimit", "memory.max", Some(ON_V1)),
    ("MemorySwapMax", "memory.swap.max", None),
    ("MemoryZSwapMax", "memory.zswap.max", None),
];
const ON_V1: &str = "memory.limit_in_bytes";

impl Unit {
    pub(super) fn memory(&self, host: &Host) -> Vec<Asked> {
        let machine = host.snapshot.machine.memory.value().copied();
        // The former name counts only without the present one.
        let counts = |key: &str| key != "MemoryLimit" || self.last("MemoryMax").is_none();
        let known = FILES.into_iter().filter(|(key, ..)| counts(key));
        known
            .filter_map(|(key, v2, v1)| {
                let text = self.last(key)?;
                let setting = format!("{key}={text}");
                let Some((wanted, how)) = bytes(text, machine) else {
                    return Some(unknown(setting, "memory"));
                };
                let v1 = v1.map_or(Target::Nowhere(V2_ONLY), |name| {
                    Target::file(name, wanted.clone(), how)
                });
                Some(Asked { setting, controller: "memory", v2: Target::file(v2, wanted, how), v1 })
            })
            .collect()
    }
}

/// Bytes, a part of the machine's memory, or no limit.
fn bytes(text: &str, machine: Option<u64>) -> Option<(Wanted, &'static str)> {
    const WHOLE: u128 = 10_000;
    if text == "infinity" {
        return Some((Wanted::Unlimited, ""));
    }
    if let Some(part) = percent(text) {
        let bytes = u128::from(machine?) * u128::from(part) / WHOLE;
        return Some((Wanted::Bytes(u64::try_from(bytes).ok()?), "of MemTotal"));
    }
    systemd_bytes(text).map(|bytes| (Wanted::Bytes(bytes), ""))
}
