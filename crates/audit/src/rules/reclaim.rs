//! How the kernel takes memory from groups when the whole machine is short of it.

use crate::finding::{Class, Reading};
use crate::known::LOW_LRU_GEN;
use crate::protection::set;
use crate::rule::{Find, Found, Host, Rule, Scope};

pub(super) static RULES: &[Rule] = &[Rule {
    code: "A-LOW-LRU-GEN",
    class: Class::Weakened,
    condition: "`memory.low` is set, `memory.min` is lower, the multi-generational LRU is on \
                (`/sys/kernel/mm/lru_gen/enabled` is odd), the kernel is 6.3 or newer and older than 6.17, and `/proc/kallsyms` has no \
                `apply_proportional_protection`",
    versions: "v2, Linux 6.3 to 6.16 (seen on 6.12 and 6.16; 6.1, 6.17, 6.18, 7.2 and 7.3 keep it)",
    meaning: "while the whole machine is short of memory, the kernel passes over a group below `memory.low` once, and then \
              takes from it as from others; `memory.low` holds only against limits of groups above",
    remedy: "`memory.min` for what must stay (here and above), which the kernel would rather kill for than reclaim; or `echo n > /sys/kernel/mm/lru_gen/enabled`, for the whole \
             machine",
    source: "mm/vmscan.c (shrink_one), e4dde56cd208; mended by \"mm: vmscan: apply proportional reclaim pressure for memcg when MGLRU is \
             enabled\" (6.17); docs/findings/memory-low-lru-gen",
    find: Find::Host(low),
}];

const SWITCH: &str = "/sys/kernel/mm/lru_gen/enabled";

fn low(host: &Host) -> Vec<Found> {
    let Some(text) = host.file(SWITCH).filter(|text| is_on(text)) else { return Vec::new() };
    let Some(kernel) = LOW_LRU_GEN.reading(&host.snapshot.machine) else { return Vec::new() };
    // What is protected by memory.min as well loses nothing below that.
    let asks = |file, node| set(node, file).unwrap_or(0);
    let protected = host
        .groups(Scope::V2Of("memory"))
        .filter(|node| !node.is_top() && asks("memory.low", *node) > asks("memory.min", *node));
    protected
        .map(|node| {
            let sentence = "memory.low does not hold while the whole machine is short of memory: the multi-generational \
                            LRU takes from this group, too";
            Found::new(node, &["memory.low", "memory.min"], sentence.to_owned())
                .and_all([Reading::new(SWITCH, text), kernel.clone()])
        })
        .collect()
}

/// Whether the lowest bit is set, which switches the whole mechanism (admin-guide/mm/multigen_lru.rst).
fn is_on(text: &str) -> bool {
    let digits = text.trim().trim_start_matches("0x");
    u32::from_str_radix(digits, 16).is_ok_and(|bits| bits & 1 == 1)
}

#[cfg(test)]
mod tests {
    use assay_host::facts::Available;

    use super::*;
    use crate::fake::Fake;

    fn host(switch: &str, release: &str, files: &[(&str, &str)]) -> Fake {
        let release = release.to_owned();
        Fake::v2()
            .host_file(SWITCH, switch)
            .group("/g", files)
            .change(|host| host.machine.kernel = Available::Value(release))
    }

    const LOW: [(&str, &str); 2] = [("memory.low", "1073741824"), ("memory.min", "0")];

    #[test]
    fn memory_low_is_weak_under_the_multi_generational_lru() {
        let found = host("0x0007", "6.12.117+deb12-amd64", &LOW).only("A-LOW-LRU-GEN");
        assert_eq!(found.group, "/g");
        assert!(found.readings.iter().any(|reading| reading.file == SWITCH));
        let both = [("memory.low", "1073741824"), ("memory.min", "1073741824")];
        let none = [("memory.low", "0"), ("memory.min", "0")];
        for silent in [
            host("0x0000", "6.12.117", &LOW),
            host("0x0006", "6.12.117", &LOW),
            host("0x0007", "6.1.0-56-amd64", &LOW),
            host("0x0007", "6.17.13+deb13-amd64", &LOW),
            host("0x0007", "6.12.117", &both),
            host("0x0007", "6.12.117", &none),
        ] {
            silent.silent("A-LOW-LRU-GEN");
        }
    }
}
