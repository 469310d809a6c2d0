//! Settings of swap, and what becomes of memory without any.

use crate::finding::{Class, Reading};
use crate::rule::{Find, Found, Host, Rule, Scope};
use crate::rules::protection::amount;
use crate::tree::Node;

pub(super) static RULES: &[Rule] = &[
    Rule {
        code: "A-SWAP-NONE",
        class: Class::NotNow,
        condition: "`memory.swap.max`, `memory.swap.high` or `memory.zswap.max` is set, above 0, and `SwapTotal` is 0; or the last of \
                    them, and zswap is off (`/sys/module/zswap/parameters/enabled`)",
        versions: "v2",
        meaning: "there is no swap, or no zswap, to limit; container runtimes set the limit beside each one of memory",
        remedy: "none needed; the limit acts as soon as there is",
        source: "cgroup-v2.rst, \"memory.swap.max\", \"memory.zswap.max\"; mm/zswap.c (zswap_store)",
        find: Find::Host(no_swap),
    },
    Rule {
        code: "A-HIGH-NO-SWAP",
        class: Class::Risk,
        condition: "`memory.high` is set, the group may not swap, and its anonymous memory is at least 0.9 of it",
        versions: "v2",
        meaning: "anonymous memory cannot be reclaimed, so that a group above `memory.high` is slowed by up to 2 s \
                  for each batch of pages, and never killed",
        remedy: "set memory.max to end it instead, or allow swap",
        source: "mm/memcontrol.c (mem_cgroup_handle_over_high); Containarium#1454",
        find: Find::Each(Scope::V2Of("memory"), slowed),
    },
    Rule {
        code: "A-SWAP-ALONE",
        class: Class::MeansElse,
        condition: "`memory.swap.max` of a group that is no unit of systemd is set, above 0, and neither the group nor one above has `memory.max` or `memory.high`",
        versions: "v2",
        meaning: "it limits swap alone; on v1 `memory.memsw.limit_in_bytes` limited memory as well",
        remedy: "set memory.max besides, if memory is meant",
        source: "cgroup-v2.rst, \"memory.swap.max\"; nsjail#342",
        find: Find::Each(Scope::V2Of("memory"), swap_alone),
    },
    Rule {
        code: "A-SOFT-LIMIT",
        class: Class::Weakened,
        condition: "`memory.soft_limit_in_bytes` is set",
        versions: "v1",
        meaning: "it is a hint for reclaim while the whole machine is short of memory, and no limit",
        remedy: "memory.limit_in_bytes for a limit; memory.low on v2 for protection",
        source: "cgroup-v1/memory.rst, \"Soft limits\"",
        find: Find::Each(Scope::V1Of("memory"), soft_limit),
    },
];

fn total(host: &Host) -> Option<(u64, Reading)> {
    let swap = *host.snapshot.machine.swap.value()?;
    Some((swap, Reading::new("/proc/meminfo", format!("SwapTotal: {} kB", swap / 1024))))
}

fn no_swap(host: &Host) -> Vec<Found> {
    const ENABLED: &str = "/sys/module/zswap/parameters/enabled";
    const FILES: [&str; 3] = ["memory.swap.max", "memory.swap.high", "memory.zswap.max"];
    // What zswap compresses has its place in swap too.
    let no_swap = total(host).filter(|(swap, _)| *swap == 0);
    let no_zswap = host.file(ENABLED).filter(|text| *text == "N");
    let (files, why, reading) = match (no_swap, no_zswap) {
        (Some((_, reading)), _) => (&FILES[..], "this machine has no swap", reading),
        (None, Some(text)) => (&FILES[2..], "zswap is off", Reading::new(ENABLED, text)),
        (None, None) => return Vec::new(),
    };
    host.groups(Scope::V2Of("memory"))
        .filter_map(|node| {
            let limits = |file: &&str| node.is_set(file) && node.number(file) != Some(0);
            let file = files.iter().copied().find(limits)?;
            let sentence = format!("{file} limits nothing: {why}");
            Some(Found::new(node, &[file], sentence).and(reading.clone()))
        })
        .collect()
}

fn slowed(host: &Host, node: Node) -> Option<Found> {
    let high = node.number("memory.high").filter(|high| *high > 0)?;
    let anonymous = node.keyed("memory.stat", "anon")?;
    let refused = node.with_ancestors().find(|group| group.number("memory.swap.max") == Some(0));
    let (swap, machine) = total(host)?;
    let reading = match refused {
        Some(group) => group.reading("memory.swap.max"),
        None if swap == 0 => machine,
        None => return None,
    };
    let sentence = format!(
        "if its {} of anonymous memory pass memory.high ({}), it is slowed to a standstill, not killed",
        amount(anonymous),
        amount(high)
    );
    (anonymous as f64 >= 0.9 * high as f64).then(|| {
        let stat = Reading { value: format!("anon {anonymous}"), ..node.reading("memory.stat") };
        Found::new(node, &["memory.high"], sentence).and(stat).and(reading)
    })
}

fn swap_alone(_: &Host, node: Node) -> Option<Found> {
    const FILE: &str = "memory.swap.max";
    // A user who writes `MemorySwapMax=` means swap.
    let limit = node.limit(FILE).filter(|limit| *limit > 0 && !node.is_unit())?;
    let has_limit = |node: Node| node.first_set(&["memory.max", "memory.high"]).is_some();
    let sentence = format!("memory.swap.max {} limits swap; memory has no limit", amount(limit));
    (!node.with_ancestors().any(has_limit))
        .then(|| Found::new(node, &[FILE, "memory.max"], sentence))
}

fn soft_limit(_: &Host, node: Node) -> Option<Found> {
    let file = node.first_set(&["memory.soft_limit_in_bytes"])?;
    let sentence = "the soft limit acts only while the whole machine is short of memory".to_owned();
    Some(Found::new(node, &[file], sentence))
}

#[cfg(test)]
mod tests {
    use assay_host::facts::Available;

    use crate::fake::Fake;

    fn with_swap(fake: Fake, bytes: u64) -> Fake {
        fake.change(|snapshot| snapshot.machine.swap = Available::Value(bytes))
    }

    #[test]
    fn a_limit_of_swap_needs_swap() {
        let host = || Fake::v2().group("/g", &[("memory.swap.max", "1048576")]);
        with_swap(host(), 0).only("A-SWAP-NONE");
        with_swap(host(), 1 << 30).silent("A-SWAP-NONE");
        let none = Fake::v2().group("/g", &[("memory.swap.max", "0")]);
        with_swap(none, 0).silent("A-SWAP-NONE");
    }

    #[test]
    fn memory_high_without_swap_is_a_risk_when_it_is_near() {
        let host = |anon: &str, swap: &str| {
            Fake::v2().group(
                "/g",
                &[("memory.high", "104857600"), ("memory.stat", anon), ("memory.swap.max", swap)],
            )
        };
        let found = host("anon 99614720\nfile 0", "0").only("A-HIGH-NO-SWAP");
        assert!(found.sentence.starts_with("if its 95 MiB of anonymous memory"), "{found:?}");
        host("anon 1048576\nfile 0", "0").silent("A-HIGH-NO-SWAP");
        host("anon 99614720\nfile 0", "max").silent("A-HIGH-NO-SWAP");
    }

    /// google/nsjail#342.
    #[test]
    fn a_limit_of_swap_alone_limits_no_memory() {
        let host = |swap: &str, above: &str| {
            let files = [("memory.swap.max", swap), ("memory.max", "max")];
            Fake::v2().group("/p", &[("memory.max", above)]).group("/p/g", &files)
        };
        let sentence = host("67108864", "max").only("A-SWAP-ALONE").sentence;
        assert_eq!(sentence, "memory.swap.max 64 MiB limits swap; memory has no limit");
        host("67108864", "1073741824").silent("A-SWAP-ALONE");
        host("0", "max").silent("A-SWAP-ALONE");
        host("max", "max").silent("A-SWAP-ALONE");
    }

    #[test]
    fn a_soft_limit_is_only_a_hint() {
        let host =
            |limit: &str| Fake::v1("memory").group("/g", &[("memory.soft_limit_in_bytes", limit)]);
        host("1048576").only("A-SOFT-LIMIT");
        host("9223372036854771712").silent("A-SOFT-LIMIT");
    }

    #[test]
    fn a_limit_of_zswap_needs_zswap() {
        let host = |enabled: &str, limit: &str| {
            Fake::v2()
                .host_file("/sys/module/zswap/parameters/enabled", enabled)
                .group("/g", &[("memory.zswap.max", limit)])
        };
        assert!(host("N\n", "1048576").only("A-SWAP-NONE").sentence.contains("zswap is off"));
        host("Y\n", "1048576").silent("A-SWAP-NONE");
        host("N\n", "0").silent("A-SWAP-NONE");
    }
}
