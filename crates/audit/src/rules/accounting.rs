//! What is not counted where one would expect it.

use crate::finding::{Class, Reading};
use crate::rule::{Find, Found, Host, Rule, Scope};
use crate::rules::protection::amount;
use crate::tree::Node;

pub(super) static RULES: &[Rule] = &[
    Rule {
        code: "A-PSI-OFF",
        class: Class::Risk,
        condition: "`cgroup.pressure` is 0, and the group has threads in it or below; or there is no /proc/pressure",
        versions: "v2; for a group Linux 6.1",
        meaning: "no pressure is counted; what acts by it, such as systemd-oomd, is blind",
        remedy: "echo 1 > cgroup.pressure",
        source: "cgroup-v2.rst, \"cgroup.pressure\"; accounting/psi.rst; systemd-oomd.service(8)",
        find: Find::Host(no_pressure),
    },
    Rule {
        code: "A-HUGETLB",
        class: Class::MeansElse,
        condition: "`memory.max` is set, a `hugetlb.*.current` of the group is above 0, and the mount lacks \
                    `memory_hugetlb_accounting`",
        versions: "v2",
        meaning: "huge pages of hugetlbfs do not count as memory of the group",
        remedy: "limit them by hugetlb.SIZE.max, or mount -o remount,memory_hugetlb_accounting (Linux 6.7)",
        source: "cgroup-v2.rst, \"memory_hugetlb_accounting\"",
        find: Find::Each(Scope::V2Of("memory"), outside),
    },
];

fn no_pressure(host: &Host) -> Vec<Found> {
    let of_group = |node: Node| {
        let sentence = "pressure of the group is not counted: what acts by it sees none".to_owned();
        (node.text("cgroup.pressure") == Some("0") && node.is_populated())
            .then(|| Found::new(node, &["cgroup.pressure"], sentence))
    };
    let groups = host.groups(Scope::V2).filter_map(of_group);
    of_machine(host).into_iter().chain(groups).collect()
}

/// Of the whole machine, where the command line was read besides: older snapshots lack both.
fn of_machine(host: &Host) -> Option<Found> {
    const CMDLINE: &str = "/proc/cmdline";
    let options = host.file(CMDLINE)?;
    let is_there =
        |name: &&str| host.snapshot.machine.files.contains_key(&format!("/proc/pressure/{name}"));
    if ["cpu", "io", "memory"].iter().any(is_there) {
        return None;
    }
    let top = host.groups(Scope::V2).next()?;
    let asks = |line: &String| line.starts_with("ManagedOOM") && line.ends_with("=kill");
    let units = host.snapshot.units.iter();
    let mut blind =
        units.filter(|(_, files)| files.iter().any(|file| file.settings.iter().any(asks)));
    let blind =
        blind.next().map(|(name, _)| format!("; ManagedOOM...=kill of {name} does nothing"));
    let sentence =
        format!("the kernel counts no pressure (no /proc/pressure){}", blind.unwrap_or_default());
    let remedy = "boot with psi=1, a kernel with CONFIG_PSI";
    let found = Found::new(top, &[], sentence).and(Reading::new(CMDLINE, options));
    Some(found.remedied(Some(remedy)))
}

fn outside(_: &Host, node: Node) -> Option<Found> {
    if node.tree.has_option("memory_hugetlb_accounting") {
        return None;
    }
    let is_count = |name: &&String| name.starts_with("hugetlb.") && name.ends_with("B.current");
    let counts: Vec<(&str, u64)> = node
        .group()
        .files
        .keys()
        .filter(is_count)
        .filter_map(|name| Some((name.as_str(), node.number(name).filter(|bytes| *bytes > 0)?)))
        .collect();
    let all = counts.iter().fold(0_u64, |sum, (_, bytes)| sum.saturating_add(*bytes));
    let sentence = format!("{} of huge pages are outside of memory.max", amount(all));
    (all > 0 && node.is_set("memory.max")).then(|| {
        let readings = counts.iter().map(|(name, _)| node.reading(name));
        Found::new(node, &["memory.max"], sentence).and_all(readings)
    })
}

#[cfg(test)]
mod tests {
    use crate::fake::Fake;

    #[test]
    fn a_group_without_pressure_is_named() {
        let host = |threads: u64, text: &str| {
            Fake::v2().group_of("/g", threads, &[("cgroup.pressure", text)])
        };
        host(1, "0").only("A-PSI-OFF");
        host(1, "1").silent("A-PSI-OFF");
        host(0, "0").silent("A-PSI-OFF");
    }

    /// microsoft/WSL#11147.
    #[test]
    fn a_machine_without_pressure_is_named_with_a_unit_that_needs_it() {
        let host = |options: Option<&str>| {
            let host = Fake::v2().unit("app.slice", &["ManagedOOMMemoryPressure=kill"]);
            options.into_iter().fold(host, |host, text| host.host_file("/proc/cmdline", text))
        };
        let found = host(Some("psi=0")).only("A-PSI-OFF");
        assert!(found.sentence.ends_with("=kill of app.slice does nothing"), "{found:?}");
        assert!(found.remedy.contains("psi=1"));
        host(None).silent("A-PSI-OFF");
        host(Some("")).host_file("/proc/pressure/memory", "some").silent("A-PSI-OFF");
    }

    #[test]
    fn huge_pages_are_outside_of_the_limit() {
        let host = |max: &str, pages: &str| {
            let files =
                [("memory.max", max), ("hugetlb.2MB.current", pages), ("hugetlb.1GB.current", "0")];
            Fake::v2().group("/g", &files)
        };
        let found = host("1073741824", "4194304").only("A-HUGETLB");
        assert_eq!(found.sentence, "4 MiB of huge pages are outside of memory.max");
        assert_eq!(found.readings.len(), 2);
        host("1073741824", "0").silent("A-HUGETLB");
        host("max", "4194304").silent("A-HUGETLB");
        host("1073741824", "4194304").option("memory_hugetlb_accounting").silent("A-HUGETLB");
    }
}
