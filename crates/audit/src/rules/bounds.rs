//! Values at the end of their range, and clamps of the CPU's frequency that nobody reads.

use assay_host::knob::weight;

use crate::conversion::systemd;
use crate::finding::{Class, Reading};
use crate::rule::{Find, Found, Host, Rule, Scope};
use crate::tree::Node;

pub(super) static RULES: &[Rule] = &[
    Rule {
        code: "A-CLAMPED",
        class: Class::MeansElse,
        condition: "a weight stands at the upper end of its range: `cpu.weight` and `io.weight` 10000, `io.bfq.weight` and \
                    `blkio.bfq.weight` 1000, `cpu.shares` 262144; or `blkio.bfq.weight` of a unit of systemd at 181, the highest \
                    that it writes on v1",
        versions: "all",
        meaning: "larger requests become the same number, and are then equal",
        remedy: "lower the weights of all siblings in proportion",
        source: "kernel/sched/sched.h (MAX_SHARES); cgroup-v2.rst, \"Weights\"",
        find: Find::Host(clamped),
    },
    Rule {
        code: "A-UCLAMP",
        class: Class::Weakened,
        condition: "`cpu.uclamp.min` or `cpu.uclamp.max` is set, and `scaling_governor` of CPU 0 is not `schedutil`",
        versions: "v2, Linux 5.4",
        meaning: "only the governor schedutil derives the frequency from it; on CPUs of unlike capacity it still chooses the CPU",
        remedy: "echo schedutil > /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
        source: "Documentation/scheduler/sched-util-clamp.rst; kernel/sched/cpufreq_schedutil.c",
        find: Find::Each(Scope::V2Of("cpu"), no_schedutil),
    },
];

const HIGHEST: [(&str, u64); 5] = [
    ("cpu.weight", 10_000),
    ("cpu.shares", 262_144),
    ("io.weight", 10_000),
    ("io.bfq.weight", 1000),
    ("blkio.bfq.weight", 1000),
];

fn clamped(host: &Host) -> Vec<Found> {
    let mut found = Vec::new();
    for node in host.groups(Scope::All) {
        let is_highest = |(file, most): &&(&str, u64)| {
            node.is_set(file) && node.text(file).and_then(weight) == Some(*most)
        };
        // systemd writes both files of I/O for one setting.
        if let Some((file, most)) = HIGHEST.iter().find(is_highest) {
            let sentence =
                format!("{file} {most} is the highest there is: it stands for any larger request");
            found.push(Found::new(node, &[file], sentence));
        }
        found.extend(highest_of_systemd(node));
    }
    found
}

/// On v1 systemd translates `IOWeight=` twice: to that of cfq, which ends at 1000, and from there to that of bfq.
fn highest_of_systemd(node: Node) -> Option<Found> {
    const FILE: &str = "blkio.bfq.weight";
    const FIRST: u64 = 200;
    let own = node.text(FILE).and_then(weight)?;
    let sentence = format!("{FILE} {own} stands for any IOWeight= from {FIRST} to 10000");
    (own == systemd::blkio_bfq_weight(FIRST) && node.is_unit())
        .then(|| Found::new(node, &[FILE], sentence))
}

fn no_schedutil(host: &Host, node: Node) -> Option<Found> {
    const GOVERNOR: &str = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";
    let governor = host.file(GOVERNOR).filter(|name| *name != "schedutil")?;
    let file = node.first_set(&["cpu.uclamp.min", "cpu.uclamp.max"])?;
    let sentence = format!("{file} does not change the frequency: the governor is {governor}");
    Some(Found::new(node, &[file], sentence).and(Reading::new(GOVERNOR, governor)))
}

#[cfg(test)]
mod tests {
    use crate::fake::Fake;

    #[test]
    fn a_weight_at_the_end_of_its_range_is_named() {
        let host = |file: &str, text: &str| Fake::v2().group("/g", &[(file, text)]);
        host("cpu.weight", "10000").only("A-CLAMPED");
        host("io.weight", "default 10000").only("A-CLAMPED");
        host("cpu.weight", "9999").silent("A-CLAMPED");
        host("io.bfq.weight", "100").silent("A-CLAMPED");
    }

    /// As systemd 252 writes IOWeight=800 on v1 (crates/audit/tests/fixtures/systemd-252-v1).
    #[test]
    fn the_highest_weight_that_systemd_writes_on_v1_is_named() {
        let host =
            |path: &str, text: &str| Fake::v1("io").group(path, &[("blkio.bfq.weight", text)]);
        let found = host("/a.service", "181").only("A-CLAMPED");
        assert_eq!(
            found.sentence,
            "blkio.bfq.weight 181 stands for any IOWeight= from 200 to 10000"
        );
        host("/a.service", "180").silent("A-CLAMPED");
        host("/a", "181").silent("A-CLAMPED");
    }

    #[test]
    fn without_schedutil_a_clamp_does_not_change_the_frequency() {
        let host = |governor: &str, most: &str| {
            Fake::v2()
                .host_file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", governor)
                .group("/g", &[("cpu.uclamp.max", most), ("cpu.uclamp.min", "0.00")])
        };
        assert!(host("performance", "50.00").only("A-UCLAMP").sentence.contains("performance"));
        host("schedutil", "50.00").silent("A-UCLAMP");
        host("performance", "max").silent("A-UCLAMP");
        Fake::v2().group("/g", &[("cpu.uclamp.max", "50.00")]).silent("A-UCLAMP");
    }
}
