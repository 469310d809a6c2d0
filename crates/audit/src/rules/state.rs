//! What the kernel says has happened to a group, or holds for it now.

use crate::finding::{Class, Reading};
use crate::rule::{Find, Found, Host, Rule, Scope};
use crate::tree::Node;

pub(super) static RULES: &[Rule] = &[
    Rule {
        code: "A-FROZEN",
        class: Class::Risk,
        condition: "`cgroup.freeze` is 1, or `freezer.state` is not THAWED by the group's own doing, and the group has threads in it or \
                    below",
        versions: "all",
        meaning: "nothing in it runs, in groups below neither, although their own files say 0",
        remedy: "echo 0 > cgroup.freeze (v1: echo THAWED > freezer.state), or unpause the container",
        source: "cgroup-v2.rst, \"cgroup.freeze\"; cgroup-v1/freezer-subsystem.rst",
        find: Find::Host(frozen),
    },
    Rule {
        code: "A-REFUSED",
        class: Class::Risk,
        condition: "`pids.events.local` (before Linux 6.11 `pids.events`), or `hugetlb.*.events`, counts more than 0 refusals, and the \
                    group has that limit",
        versions: "all",
        meaning: "the limit has refused forks (EAGAIN), or huge pages (SIGBUS), since the group was made",
        remedy: "raise the limit, or look for what needs so many",
        source: "kernel/cgroup/pids.c (pids_event); mm/hugetlb_cgroup.c; cgroup-v2.rst, \"pids.events\"",
        find: Find::Host(refused),
    },
    Rule {
        code: "A-DYING",
        class: Class::Risk,
        condition: "`nr_dying_descendants` in `cgroup.stat` of the root is 1000 or more, and above the number of groups",
        versions: "v2, Linux 4.14",
        meaning: "removed groups still hold memory, and make reading `memory.stat` above them slow",
        remedy: "reclaim what they hold: echo 2 > /proc/sys/vm/drop_caches, or memory.reclaim of the groups above",
        source: "cgroup-v2.rst, \"cgroup.stat\"; systemd#36827",
        find: Find::Host(dying),
    },
    Rule {
        code: "A-RT-BUDGET",
        class: Class::NotNow,
        condition: "`cpu.rt_runtime_us` is 0 in groups with threads",
        versions: "v1, with CONFIG_RT_GROUP_SCHED",
        meaning: "no thread in them can become real-time: sched_setscheduler fails with EPERM, for root too",
        remedy: "give the group, and those above, cpu.rt_runtime_us; or boot a kernel without CONFIG_RT_GROUP_SCHED",
        source: "scheduler/sched-rt-group.rst; kernel/sched/syscalls.c (__sched_setscheduler)",
        find: Find::Host(real_time),
    },
];

fn frozen(host: &Host) -> Vec<Found> {
    let of_v2 = host.groups(Scope::V2).filter(|node| node.text("cgroup.freeze") == Some("1"));
    let of_v1 = host.groups(Scope::All).filter(|node| {
        let is_frozen =
            |node: &Node| node.text("freezer.state").is_some_and(|text| text != "THAWED");
        is_frozen(node) && !node.parent().is_some_and(|above| is_frozen(&above))
    });
    let all =
        of_v2.map(|node| (node, "cgroup.freeze")).chain(of_v1.map(|node| (node, "freezer.state")));
    all.filter(|(node, _)| node.is_populated())
        .map(|(node, file)| {
            let threads =
                node.threads_below().map_or("its".to_owned(), |number| number.to_string());
            let sentence =
                format!("the group is frozen: {threads} threads in it and below do not run");
            Found::new(node, &[file], sentence)
        })
        .collect()
}

fn refused(host: &Host) -> Vec<Found> {
    let mut found: Vec<Found> = host.groups(Scope::Of("pids")).filter_map(forks).collect();
    found.extend(host.groups(Scope::Of("hugetlb")).filter_map(huge_pages));
    found
}

/// How often, by a file of events.
fn times(node: Node, file: &str) -> Option<u64> {
    node.keyed(file, "max").filter(|number| *number > 0)
}

fn forks(node: Node) -> Option<Found> {
    const MOST: &str = "pids.max";
    const LOCAL: &str = "pids.events.local";
    let limit = node.limit(MOST)?;
    let (file, by) = match node.text(LOCAL) {
        Some(_) => (LOCAL, "it"),
        None => ("pids.events", "it, or a limit above,"),
    };
    let number = times(node, file)?;
    let used = node.number("pids.current").map(|used| format!("; {used} are there now"));
    let used = used.unwrap_or_default();
    let sentence = format!("pids.max {limit}: {by} has refused {number} forks{used}");
    Some(Found::new(node, &[MOST, file, "pids.current"], sentence))
}

fn huge_pages(node: Node) -> Option<Found> {
    let events = node
        .group()
        .files
        .keys()
        .filter(|file| file.starts_with("hugetlb.") && file.ends_with(".events"));
    let mut refused = events.filter_map(|file| Some((file, times(node, file)?)));
    let (file, number) = refused.next()?;
    let limit = format!("{}.max", file.trim_end_matches(".events"));
    let sentence = format!("{number} huge pages or reservations were refused here or below");
    Some(Found::new(node, &[&limit, file], sentence))
}

fn dying(host: &Host) -> Vec<Found> {
    const FILE: &str = "cgroup.stat";
    const MANY: u64 = 1000;
    let tops = host.trees.iter().filter(|tree| tree.hierarchy.is_v2).filter_map(|tree| {
        let top = tree.top()?;
        let number = top.keyed(FILE, "nr_dying_descendants")?;
        let groups = tree.hierarchy.groups.len() as u64;
        let sentence =
            format!("{number} removed groups still hold memory; {groups} groups are there");
        let reading =
            Reading { value: format!("nr_dying_descendants {number}"), ..top.reading(FILE) };
        (number >= MANY && number > groups).then(|| Found::new(top, &[], sentence).and(reading))
    });
    tops.collect()
}

fn real_time(host: &Host) -> Vec<Found> {
    const FILE: &str = "cpu.rt_runtime_us";
    let is_without =
        |node: &Node| node.text(FILE) == Some("0") && node.threads().is_some_and(|own| own > 0);
    let groups: Vec<Node> =
        host.groups(Scope::V1Of("cpu")).filter(|node| !node.is_top() && is_without(node)).collect();
    let Some(first) = groups.first() else { return Vec::new() };
    let asks = |name: &&String| {
        let files = host.snapshot.units.get(*name).into_iter().flatten();
        let mut settings = files.flat_map(|file| &file.settings);
        settings.any(|line| {
            ["rr", "fifo"]
                .iter()
                .any(|policy| line.strip_prefix("CPUSchedulingPolicy=") == Some(*policy))
        })
    };
    let units: Vec<&str> =
        host.snapshot.units.keys().filter(asks).take(8).map(String::as_str).collect();
    let asked = match units.is_empty() {
        true => String::new(),
        false => format!("; CPUSchedulingPolicy= of {} asks for it", units.join(", ")),
    };
    let sentence = format!("no thread of {} groups can become real-time{asked}", groups.len());
    let Some(top) = first.tree.top() else { return Vec::new() };
    vec![Found::new(top, &[], sentence).and(first.reading(FILE))]
}

#[cfg(test)]
mod tests {
    use crate::fake::Fake;

    /// containers/crun#2243.
    #[test]
    fn a_frozen_group_is_named_once_and_not_those_below() {
        let host = |freeze: &str, threads: u64| {
            Fake::v2().group_of("/a.scope", 0, &[("cgroup.freeze", freeze)]).group_of(
                "/a.scope/container",
                threads,
                &[("cgroup.freeze", "0")],
            )
        };
        let found = host("1", 3).only("A-FROZEN");
        assert_eq!(found.sentence, "the group is frozen: 3 threads in it and below do not run");
        assert_eq!(found.group, "/a.scope");
        host("0", 3).silent("A-FROZEN");
        host("1", 0).silent("A-FROZEN");
        let v1 = |own: &str, above: &str| {
            let files = |state| [("freezer.state", state)];
            Fake::v1("freezer").group_of("/p", 0, &files(above)).group("/p/g", &files(own))
        };
        assert_eq!(v1("FROZEN", "FROZEN").only("A-FROZEN").group, "/p");
        assert_eq!(v1("FREEZING", "THAWED").only("A-FROZEN").group, "/p/g");
        v1("THAWED", "THAWED").silent("A-FROZEN");
    }

    /// lxc/lxcfs#729.
    #[test]
    fn the_limit_that_refused_forks_is_named() {
        let host = |local: &str, events: &str| {
            let files = [("pids.max", "30"), ("pids.current", "30"), ("pids.events", events)];
            let host = Fake::v2().group("/a.service", &files);
            if local.is_empty() { host } else { host.also("pids.events.local", local) }
        };
        let sentence = host("max 17", "max 99").only("A-REFUSED").sentence;
        assert_eq!(sentence, "pids.max 30: it has refused 17 forks; 30 are there now");
        assert!(
            host("", "max 5")
                .only("A-REFUSED")
                .sentence
                .contains("or a limit above, has refused 5")
        );
        host("max 0", "max 99").silent("A-REFUSED");
        host("", "max 0").silent("A-REFUSED");
    }

    #[test]
    fn refused_huge_pages_are_counted() {
        let host = |events: &str| {
            let files = [("hugetlb.2MB.max", "4194304"), ("hugetlb.2MB.events", events)];
            let host = Fake::v2().group("/g", &files);
            host.change(|host| host.hierarchies[0].controllers.push("hugetlb".to_owned()))
        };
        assert!(host("max 3").only("A-REFUSED").sentence.starts_with("3 huge pages"));
        host("max 0").silent("A-REFUSED");
    }

    /// systemd#36827.
    #[test]
    fn removed_groups_that_hold_memory_are_counted_where_they_are_many() {
        let host = |number: &str| {
            let text = format!("nr_descendants 95\nnr_dying_descendants {number}");
            Fake::v2().top("cgroup.stat", &text)
        };
        let sentence = host("41777").only("A-DYING").sentence;
        assert_eq!(sentence, "41777 removed groups still hold memory; 1 groups are there");
        host("999").silent("A-DYING");
    }

    /// amazon-linux-2023#315.
    #[test]
    fn groups_without_a_budget_for_real_time_are_counted_with_the_units_that_ask() {
        let host = |runtime: &str| {
            Fake::v1("cpu")
                .top("cpu.rt_runtime_us", "950000")
                .group("/a.service", &[("cpu.rt_runtime_us", runtime)])
                .unit("a.service", &["CPUSchedulingPolicy=rr"])
        };
        let sentence = host("0").only("A-RT-BUDGET").sentence;
        assert!(sentence.ends_with(
            "1 groups can become real-time; CPUSchedulingPolicy= of a.service asks for it"
        ));
        host("5000").silent("A-RT-BUDGET");
    }
}
