//! Limits that others reach first: groups above, or the machine.

use assay_host::knob::bandwidth;

use crate::finding::{Class, Reading};
use crate::rule::{Find, Found, Host, Rule, Scope};
use crate::rules::protection::amount;
use crate::tree::{Node, cpu_count};

pub(super) static RULES: &[Rule] = &[
    Rule {
        code: "A-ABOVE-ANCESTOR",
        class: Class::NoEffect,
        condition: "a limit (`memory.max`, `memory.swap.max`, `pids.max`) is above that of a group above, where on v1 `memory.use_hierarchy` \
                    is not 0 in between; or `cpu.max` is not below what a group above can give in one period: its quota for each of its \
                    periods that the period of the group can touch (twice where both are equal), and its burst",
        versions: "v2; memory and pids on v1 too, where the kernel refuses such a quota of CPU",
        meaning: "the group above reaches its limit first; equal limits act, since the kernel charges a group before those above it. A quota \
                  of CPU that is higher only in part acts in single periods, since periods of groups begin at different times",
        remedy: "lower it, or raise that of the group above",
        source: "mm/page_counter.c (page_counter_try_charge); kernel/cgroup/pids.c (pids_try_charge); kernel/sched/core.c \
                 (tg_cfs_schedulable_down); kernel/sched/fair.c (init_cfs_bandwidth: periods begin at random offsets); mm/memcontrol.c of 5.10 \
                 (mem_cgroup_css_alloc: counters have a parent where use_hierarchy is on); cgroup-v2.rst, \"Limits\"",
        find: Find::Host(above_ancestor),
    },
    Rule {
        code: "A-ABOVE-HOST",
        class: Class::NoEffect,
        condition: "`cpu.max` allows more CPUs than the group may run on, by more than a slice of 5 ms for each, or `memory.max` is not below `MemTotal`; in a \
                    container it must be above, since an equal one may be what lxcfs shows as `MemTotal`",
        versions: "all",
        meaning: "the machine has no more than that to give; a quota of just as many CPUs can still throttle, since slices are left over on \
                  CPUs where the group does not run",
        remedy: "lower it, or remove it to say that there is none",
        source: "cgroup-v2.rst, \"Limits\"; scheduler/sched-bwc.rst, \"CFS Bandwidth Quota Caveats\"",
        find: Find::Host(above_host),
    },
];

const NUMBERS: [(&str, &str); 4] = [
    ("memory", "memory.max"),
    ("memory", "memory.limit_in_bytes"),
    ("pids", "pids.max"),
    ("memory", "memory.swap.max"),
];

fn above_ancestor(host: &Host) -> Vec<Found> {
    let mut found = Vec::new();
    for (controller, file) in NUMBERS {
        let nodes = host.groups(Scope::Of(controller));
        found.extend(nodes.filter_map(|node| number_above(node, file)));
    }
    found.extend(host.groups(Scope::V2Of("cpu")).filter_map(quota_above));
    found
}

fn number_above(node: Node, file: &str) -> Option<Found> {
    let own = node.limit(file)?;
    let nests = |above: &Node| !file.starts_with("memory.") || above.has_hierarchy();
    let nested = node.ancestors().take_while(nests);
    let limits = nested.filter_map(|above| Some((above.limit(file)?, above)));
    let (tightest, above) = limits.min_by_key(|(limit, _)| *limit)?;
    let shown = |number: u64| match file {
        "pids.max" => number.to_string(),
        _ => amount(number),
    };
    let sentence = format!(
        "{file} {} has no effect: {} above it has {}",
        shown(own),
        above.path(),
        shown(tightest)
    );
    (own > tightest).then(|| Found::new(node, &[file], sentence).and(above.reading(file)))
}

fn quota_above(node: Node) -> Option<Found> {
    let (quota, period) = bandwidth(node.text("cpu.max")?)?;
    let most = node.ancestors().filter_map(|above| Some((most_in(period, above)?, above)));
    let (most, above) = most.min_by_key(|(most, _)| *most)?;
    let sentence = format!(
        "cpu.max ({} CPUs) has no effect: {} above it has {}",
        cpus(node.quota()?.1),
        above.path(),
        cpus(above.quota()?.1)
    );
    (quota? >= most).then(|| Found::new(node, &["cpu.max"], sentence).and(above.reading("cpu.max")))
}

/// The most CPU time that a group can have within so many microseconds that begin at any moment.
fn most_in(time: u64, node: Node) -> Option<u64> {
    let (quota, period) = bandwidth(node.text("cpu.max")?)?;
    let touched = time.div_ceil(period).checked_add(1)?;
    quota?.checked_mul(touched)?.checked_add(node.number("cpu.max.burst").unwrap_or(0))
}

fn above_host(host: &Host) -> Vec<Found> {
    let cpus = host.groups(Scope::Of("cpu"));
    let cpus = cpus.filter_map(|node| more_than_the_cpus(host, node));
    let memory = host.groups(Scope::Of("memory"));
    cpus.chain(memory.filter_map(|node| more_than_the_memory(host, node))).collect()
}

fn more_than_the_cpus(host: &Host, node: Node) -> Option<Found> {
    let (file, own) = node.quota()?;
    let online = || {
        let text = host.snapshot.machine.cpus.value()?;
        Some((cpu_count(text)?, Reading::new("/sys/devices/system/cpu/online", text)))
    };
    let nearest = node.with_ancestors().find_map(Node::allowed_cpus);
    let (number, reading) = nearest.or_else(online)?;
    let sentence =
        format!("{file} ({} CPUs) has no effect: the group may run on {number}", cpus(own));
    (own > number as f64 * (1.0 + SLICE)).then(|| Found::new(node, &[file], sentence).and(reading))
}

/// Of the usual period, what each CPU may have left over from the one before (sched_cfs_bandwidth_slice_us).
const SLICE: f64 = 0.05;

fn more_than_the_memory(host: &Host, node: Node) -> Option<Found> {
    let memory = *host.snapshot.machine.memory.value()?;
    let file = node.first_set(&["memory.max", "memory.limit_in_bytes"])?;
    let own = node.limit(file)?;
    let sentence =
        format!("{file} {} has no effect: the machine has {}", amount(own), amount(memory));
    let reading = Reading::new("/proc/meminfo", format!("MemTotal: {} kB", memory / 1024));
    // What /proc/meminfo of a container calls the memory of the machine may be this very limit.
    let most = if node.tree.hierarchy.is_whole { memory } else { memory.saturating_add(1) };
    (own >= most).then(|| Found::new(node, &[file], sentence).and(reading))
}

/// A number of CPUs with as many digits as it needs, at most two.
pub(crate) fn cpus(number: f64) -> String {
    let text = format!("{number:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use crate::fake::Fake;

    fn below(file: &str, above: &str, own: &str) -> Fake {
        Fake::v2().group("/p", &[(file, above)]).group("/p/q", &[]).group("/p/q/g", &[(file, own)])
    }

    #[test]
    fn a_limit_above_that_of_a_group_above_cannot_act() {
        let cpu = below("cpu.max", "200000 100000", "400000 100000").only("A-ABOVE-ANCESTOR");
        assert_eq!(cpu.sentence, "cpu.max (4 CPUs) has no effect: /p above it has 2");
        let memory = below("memory.max", "1048576", "2097152").only("A-ABOVE-ANCESTOR");
        assert_eq!(memory.sentence, "memory.max 2 MiB has no effect: /p above it has 1 MiB");
        below("pids.max", "10", "11").only("A-ABOVE-ANCESTOR");
        below("cpu.max", "20000 100000", "40000 10000").only("A-ABOVE-ANCESTOR");
        let burst = |own: &str| {
            let above = [("cpu.max", "200000 100000"), ("cpu.max.burst", "50000")];
            Fake::v2().group("/p", &above).group("/p/g", &[("cpu.max", own)])
        };
        burst("449000 100000").silent("A-ABOVE-ANCESTOR");
        burst("450000 100000").only("A-ABOVE-ANCESTOR");
        for (file, above, own) in [
            ("cpu.max", "200000 100000", "10000 10000"),
            // Its period can touch two of the group above.
            ("cpu.max", "200000 100000", "399000 100000"),
            // One of 10 ms lies in one or two of 100 ms, which may give all that they have within it.
            ("cpu.max", "50000 100000", "90000 10000"),
            ("cpu.max", "max 100000", "400000 100000"),
            ("memory.max", "2097152", "1048576"),
            ("pids.max", "10", "9"),
            // The kernel charges from the group upwards: of equal limits the group's own is reached.
            ("cpu.max", "200000 100000", "200000 100000"),
            ("memory.max", "268435456", "268435456"),
            ("memory.swap.max", "0", "0"),
            ("pids.max", "10", "10"),
        ] {
            below(file, above, own).silent("A-ABOVE-ANCESTOR");
        }
    }

    /// As on v1 up to Linux 5.10, where nobody has switched the hierarchy on.
    #[test]
    fn limits_of_memory_without_a_hierarchy_do_not_nest() {
        let host = |switch: &str| {
            let above = [("memory.limit_in_bytes", "4096"), ("memory.use_hierarchy", switch)];
            Fake::v1("memory")
                .group("/p", &above)
                .group("/p/g", &[("memory.limit_in_bytes", "8192")])
        };
        host("1").only("A-ABOVE-ANCESTOR");
        host("0").silent("A-ABOVE-ANCESTOR");
    }

    #[test]
    fn a_limit_above_what_the_machine_has_cannot_act() {
        let host = |quota: &str| {
            Fake::v2().group("/g", &[("cpu.max", quota), ("cpuset.cpus.effective", "0-3")])
        };
        let found = host("450000 100000").only("A-ABOVE-HOST");
        assert_eq!(found.sentence, "cpu.max (4.5 CPUs) has no effect: the group may run on 4");
        host("410000 100000").silent("A-ABOVE-HOST");
        host("350000 100000").silent("A-ABOVE-HOST");
        let v1 = |quota: &str| {
            Fake::v1("cpu")
                .group("/g", &[("cpu.cfs_quota_us", quota), ("cpu.cfs_period_us", "100000")])
        };
        assert!(v1("1600000").only("A-ABOVE-HOST").sentence.contains("(16 CPUs)"));
        v1("-1").silent("A-ABOVE-HOST");
        let memory = |bytes: &str| Fake::v2().group("/g", &[("memory.max", bytes)]);
        assert!(memory("34359738368").only("A-ABOVE-HOST").sentence.contains("has 16 GiB"));
        memory("8589934592").silent("A-ABOVE-HOST");
    }

    /// As under lxcfs, which shows the limit of the container as the memory of the machine.
    #[test]
    fn in_a_container_memory_that_equals_the_limit_is_that_limit() {
        let inside = |bytes: &str| {
            let fake = Fake::v2().top("memory.max", bytes);
            fake.change(|host| host.hierarchies[0].is_whole = false)
        };
        inside("17179869184").silent("A-ABOVE-HOST");
        inside("17179869185").only("A-ABOVE-HOST");
    }
}
