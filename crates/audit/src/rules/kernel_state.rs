//! What the kernel itself has in the way of weights: schedulers by BPF, and a known defect.

use crate::finding::{Class, Reading};
use crate::known::REWEIGHT;
use crate::rule::{Found, Host, Rule};
use crate::settings::settings;

pub(super) static RULES: &[Rule] = &[
    Rule {
        code: "A-SCHED-EXT",
        class: Class::CannotAct,
        condition: "`/sys/kernel/sched_ext/state` is `enabled`, `switch_all` is 1, and the scheduler in `root/ops` is not \
                    known to implement weights of groups",
        versions: "Linux 6.12",
        meaning: "the kernel leaves weights and quotas of groups to the loaded scheduler, and enforces none itself",
        remedy: "load a scheduler with cgroup_set_weight (scx_flatcg, scx_flash), or none",
        source: "kernel/sched/ext.c; sched-ext/scx#3549, #800",
        find: sched_ext,
    },
    Rule {
        code: "A-KERNEL-REWEIGHT",
        class: Class::Risk,
        condition: "the kernel is 6.13 to 6.18.44, 6.19 or 7.0, and some group with a weight is nested two deep or more; \
                    distributions may have mended theirs",
        versions: "Linux 6.13 to 7.0",
        meaning: "a nested group with tens of thousands of wake-ups a second can starve the others whatever the weights",
        remedy: "Linux 6.18.45 or 7.1",
        source: "introduced by 6d71a9c61604, reverted by 101f3498b4bd; fcvm#940",
        find: reweight,
    },
];

/// Schedulers that divide by weights of groups, as of August 2026. A hint by name, which ages.
const WITH_WEIGHTS: [&str; 5] = ["flatcg", "flash", "forge", "cidland", "qmap"];

fn sched_ext(host: &Host) -> Vec<Found> {
    const STATE: &str = "/sys/kernel/sched_ext/state";
    const ALL: &str = "/sys/kernel/sched_ext/switch_all";
    const NAME: &str = "/sys/kernel/sched_ext/root/ops";
    if host.file(STATE) != Some("enabled") || host.file(ALL) != Some("1") {
        return Vec::new();
    }
    let name = host.file(NAME).unwrap_or("unknown");
    if WITH_WEIGHTS.iter().any(|known| name.contains(known)) {
        return Vec::new();
    }
    let Some(tree) = host.tree_of("cpu") else { return Vec::new() };
    let readings = [STATE, ALL, NAME].map(|file| Reading::new(file, host.file(file).unwrap_or("")));
    tree.nodes()
        .filter_map(|node| {
            let file = settings(node).find(|file| ["cpu.weight", "cpu.shares"].contains(file))?;
            let sentence = format!(
                "{file} is ignored: the loaded scheduler, {name}, takes no weights of groups"
            );
            Some(Found::new(node, &[file], sentence).and_all(readings.clone()))
        })
        .collect()
}

fn reweight(host: &Host) -> Vec<Found> {
    let release = host.snapshot.machine.kernel.value().map_or("", String::as_str);
    let Some(tree) = host.tree_of("cpu").filter(|_| REWEIGHT.affects(release)) else {
        return Vec::new();
    };
    let is_nested = |path: &str| path.matches('/').count() >= 2;
    let mut nested = tree.nodes().filter(|node| is_nested(node.path()) && node.is_populated());
    let (Some(first), Some(top)) = (nested.next(), tree.top()) else { return Vec::new() };
    let sentence = format!(
        "on Linux {release} a nested group with many wake-ups can starve the others whatever the \
         weights; {} groups are nested, {} is the first",
        nested.count() + 1,
        first.path()
    );
    vec![Found::new(top, &[], sentence).and(Reading::new("/proc/sys/kernel/osrelease", release))]
}

#[cfg(test)]
mod tests {
    use crate::fake::Fake;
    use assay_facts::Available;

    #[test]
    fn a_scheduler_without_weights_ignores_them() {
        let host = |state: &str, name: &str| {
            Fake::v2()
                .host_file("/sys/kernel/sched_ext/state", state)
                .host_file("/sys/kernel/sched_ext/switch_all", "1")
                .host_file("/sys/kernel/sched_ext/root/ops", name)
                .group("/g", &[("cpu.weight", "400")])
                .group("/h", &[("cpu.weight", "100")])
        };
        let found = host("enabled", "lavd_1.0.17").only("A-SCHED-EXT");
        assert_eq!(found.group, "/g");
        assert!(found.sentence.contains("lavd_1.0.17, takes no weights"));
        host("enabled", "flatcg").silent("A-SCHED-EXT");
        host("disabled", "lavd").silent("A-SCHED-EXT");
    }

    #[test]
    fn a_nested_group_on_a_kernel_that_may_starve_is_named() {
        let host = |release: &str| {
            Fake::v2()
                .group("/a", &[("cpu.weight", "100")])
                .group("/a/b", &[("cpu.weight", "100")])
                .change(|snapshot| snapshot.machine.kernel = Available::Value(release.to_owned()))
        };
        assert!(host("6.18.44").only("A-KERNEL-REWEIGHT").sentence.contains("1 groups are nested"));
        host("6.12.1").silent("A-KERNEL-REWEIGHT");
    }
}
