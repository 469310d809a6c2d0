//! Weights of CPU: with whom a group competes, and whether the number is used.

use std::collections::BTreeSet;

use assay_host::knob::{WEIGHT_MODE_FILE, WeightMode};

use crate::finding::{Class, Reading};
use crate::rule::{Find, Found, Host, Rule, Scope};
use crate::rules::translated::is_container_of_pod;
use crate::tree::{Node, Tree, cpu_count};
use crate::worth::Law;

pub(super) static RULES: &[Rule] = &[
    Rule {
        code: "A-NOT-ENABLED",
        class: Class::Weakened,
        condition: "a slice, or the top of a container, has a weight of cpu or io, or a protection of memory, offers the controller in \
                    `cgroup.controllers`, does not name it in `cgroup.subtree_control`, and two groups below have threads",
        versions: "v2",
        meaning: "the groups below have neither weights nor limits of this controller; for cpu their threads compete one by one",
        remedy: "echo +NAME > cgroup.subtree_control; for systemd a setting of the controller on a unit below, or \
                 CPUAccounting=, MemoryAccounting=, IOAccounting=yes",
        source: "cgroup-v2.rst, \"Enabling and Disabling\"",
        find: Find::Each(Scope::V2, not_enabled),
    },
    Rule {
        code: "A-ALONE",
        class: Class::NotNow,
        condition: "a weight of CPU is set, no sibling has threads in it or below, the group above has none of its own, and \
                    the group is not that of a pod's only container, nor one in a container that repeats its weight",
        versions: "all",
        meaning: "a weight divides among siblings, and there is none",
        remedy: "set the weight where the competitors are, on a group above",
        source: "cgroup-v2.rst, \"Weights\"",
        find: Find::Each(Scope::Of("cpu"), alone),
    },
    Rule {
        code: "A-EMPTY",
        class: Class::NotNow,
        condition: "a group has settings, and no thread is in it or below; the `pids.max` that systemd gives every unit does not count: that of mounts, \
                    swaps and sockets, and of services if another unit has the same",
        versions: "all",
        meaning: "its settings wait for processes; an empty group is not protected either",
        remedy: "none needed",
        source: "cgroup-v2.rst, \"memory.min\"; systemd-system.conf(5), \"DefaultTasksMax=\"; systemd.service(5), \"RemainAfterExit=\"",
        find: Find::Host(empty),
    },
    Rule {
        code: "A-IDLE",
        class: Class::MeansElse,
        condition: "`cpu.idle` is 1; `cpu.weight` then reads 0, and 1 since Linux 6.12",
        versions: "v1 and v2, Linux 5.15",
        meaning: "an idle group weighs 3 of the 1024 shares of a default one, and its weight is not used",
        remedy: "echo 0 > cpu.idle, then write the weight: leaving idle sets it to 100",
        source: "kernel/sched/fair.c (sched_group_set_idle)",
        find: Find::Each(Scope::Of("cpu"), idle),
    },
    Rule {
        code: "A-OUTWEIGHED",
        class: Class::Weakened,
        condition: "`kubepods` weighs less against its busy siblings than the CPUs that its pods may request are of the \
                    machine, by a factor of 1.2 or more",
        versions: "v2; kernels that count each weight once: before Linux 7.3, and with `cgroup_mode` smp",
        meaning: "the kubelet's linear formula makes all pods together weigh less than on v1",
        remedy: "raise CPUWeight= of kubepods.slice in proportion, or lower that of the siblings; take it back before an \
                 update to Linux 7.3, which multiplies by runnable threads as well",
        source: "kubernetes#139790, #125409; pkg/kubelet/cm/cgroup_manager_linux.go",
        find: Find::Each(Scope::V2Of("cpu"), outweighed),
    },
    Rule {
        code: "A-WEIGHT-MODE",
        class: Class::MeansElse,
        condition: "`/sys/kernel/debug/sched/cgroup_mode` is not `smp` (where it cannot be read: the kernel is 7.3 or later, whose \
                    default is `concur`), and a group with a weight of CPU that is set has a busy sibling",
        versions: "Linux 7.3",
        meaning: "a weight counts once for each thread that the group has runnable, up to its CPUs (`concur`), and no longer once \
                  for the whole group",
        remedy: "divide weights that were set by size by the CPUs that each group keeps busy; or, until the next boot: echo smp > \
                 /sys/kernel/debug/sched/cgroup_mode",
        source: "kernel/sched/fair.c of 7.3 (calc_concur_shares, tg_tasks); kernel/sched/debug.c; cgroup-v2.rst, \"Weights\", still \
                 promises the ratio of weights; docs/findings/cpu-weight-threads",
        find: Find::Host(counted_by_threads),
    },
];

/// Settings of a controller that is to be divided among the groups below. Limits bind them all together.
const DIVIDED: [(&str, [&str; 2]); 3] = [
    ("cpu", ["cpu.weight", "cpu.idle"]),
    ("memory", ["memory.min", "memory.low"]),
    ("io", ["io.weight", "io.bfq.weight"]),
];

fn not_enabled(_: &Host, node: Node) -> Option<Found> {
    const FILES: [&str; 2] = ["cgroup.subtree_control", "cgroup.controllers"];
    let [enabled, offered] = FILES;
    // systemd enables a controller only where a unit has a setting of it: where nobody set anything, nothing is lost.
    let divided = DIVIDED.iter().filter(|(_, files)| node.first_set(files).is_some());
    let is_missing = |name: &&str| {
        node.lists(offered, name) == Some(true) && node.lists(enabled, name) == Some(false)
    };
    let missing: Vec<&str> = divided.map(|(name, _)| *name).filter(is_missing).collect();
    let below = node.children().filter(|child| child.has_threads());
    let (groups, threads) = below.fold((0, 0), |(groups, all), one| {
        (groups + 1, one.threads_below().unwrap_or(0).saturating_add(all))
    });
    // Threads of one program in several groups below a unit are the program's own affair.
    if missing.is_empty() || groups < 2 || !is_shared(node) {
        return None;
    }
    let sentence = format!(
        "{} {} not enabled for its {groups} groups: their {threads} threads are not divided",
        missing.join(", "),
        if missing.len() == 1 { "is" } else { "are" }
    );
    Some(Found::new(node, &FILES, sentence))
}

/// Whether a group holds the units or containers of several owners: the top, and slices.
fn is_shared(node: Node) -> bool {
    node.is_top() || node.path().ends_with(".slice")
}

fn alone(_: &Host, node: Node) -> Option<Found> {
    let file = node.weight_file();
    let parent = node.parent()?;
    let has_rivals = node.has_populated_sibling() || parent.threads().is_none_or(|own| own > 0);
    if !node.is_set(file) || !node.is_populated() || has_rivals || is_container_of_pod(node) {
        return None;
    }
    if parent.text(file) == node.text(file) && is_of_crun(node) {
        return None;
    }
    let value = node.text(file)?;
    let sentence =
        format!("{file} {value} divides nothing: no other group in {} has threads", parent.path());
    Some(Found::new(node, &[file], sentence))
}

fn empty(host: &Host) -> Vec<Found> {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut found = Vec::new();
    let usual = usual_tasks(host);
    for node in host.groups(Scope::All) {
        let names: Vec<&str> = node.settings().collect();
        let is_usual = names == [TASKS] && node.text(TASKS).is_some_and(|own| usual.contains(own));
        if names.is_empty() || node.threads_below() != Some(0) || is_usual && is_unit_of_tasks(node)
        {
            continue;
        }
        if !seen.insert(node.path()) {
            continue;
        }
        let wait = if names.len() == 1 { "waits" } else { "wait" };
        let sentence = format!("the group is empty: {} {wait} for processes", names.join(", "));
        found.push(Found::new(node, &names, sentence));
    }
    found
}

/// Whether it is the group in a scope, of podman or containerd, in which crun repeats what it has asked systemd for.
fn is_of_crun(node: Node) -> bool {
    node.path().ends_with(".scope/container")
}

const TASKS: &str = "pids.max";

/// systemd limits the processes of each unit by `DefaultTasksMax=`, also of those that have any only for a moment. Its value stands in no file: it is
/// that of a unit which is not a service, or of several units.
fn usual_tasks<'h>(host: &'h Host) -> BTreeSet<&'h str> {
    let mut once: BTreeSet<&str> = BTreeSet::new();
    let mut usual = BTreeSet::new();
    let units = host.groups(Scope::All).filter(|node| is_unit_of_tasks(*node));
    for (node, limit) in units.filter_map(|node| Some((node, node.text(TASKS)?))) {
        if !node.path().ends_with(".service") || !once.insert(limit) {
            usual.insert(limit);
        }
    }
    usual
}

fn is_unit_of_tasks(node: Node) -> bool {
    const KINDS: [&str; 4] = [".mount", ".swap", ".socket", ".service"];
    KINDS.iter().any(|kind| node.path().ends_with(kind))
}

fn idle(_: &Host, node: Node) -> Option<Found> {
    let sentence = "the group is of idle class: it weighs 3/1024 of a default group, and its \
                    weight is not used";
    (node.text("cpu.idle")? == "1")
        .then(|| Found::new(node, &["cpu.idle", node.weight_file()], sentence.to_owned()))
}

/// Of the machine's CPUs, and of the weights of the top level.
///
/// Silent where weights count by threads: pods that use the CPUs which they request have as many runnable threads, and their
/// weight counts that often. Raising it would give them the machine.
fn outweighed(host: &Host, node: Node) -> Option<Found> {
    let is_pods = ["/kubepods", "/kubepods.slice"].contains(&node.path());
    let top = node.parent().filter(|top| is_pods && top.is_root())?;
    let law = Law::of(host);
    if law.mode != WeightMode::Smp {
        return None;
    }
    let weight = node.number("cpu.weight")?;
    let (_, asked) = crate::conversion::runtime::Formula::Linear.shares(weight)?;
    let machine = cpu_count(host.snapshot.machine.cpus.value()?)? as f64;
    let cpus = (asked as f64 / 1024.0).min(machine);
    let all = law.competitors(top);
    let own = node.cpu_shares()?;
    let (share, others) = (own / all, all - own);
    let on_v1 = asked as f64 / (asked as f64 + others);
    let sentence = format!(
        "with all siblings busy, all pods together get {:.0} % of the CPUs; the {} CPUs that they may \
         request are {:.0} %, and v1 gave {:.0} %",
        share * 100.0,
        super::limits::cpus(cpus),
        cpus / machine * 100.0,
        on_v1 * 100.0
    );
    (others > 0.0 && share * 1.2 <= cpus / machine).then(|| {
        let siblings = node.siblings().filter(|one| one.is_populated());
        Found::new(node, &["cpu.weight"], sentence)
            .and_all(siblings.map(|one| one.reading(one.weight_file())))
    })
}

/// One finding for a host: what each weight is worth is in the table.
fn counted_by_threads(host: &Host) -> Vec<Found> {
    let law = Law::of(host);
    let is_divided =
        |node: &Node| node.has_weight_set() && node.is_populated() && node.has_populated_sibling();
    let groups = host.groups(Scope::Of("cpu")).filter(is_divided).count();
    let Some(top) = host.tree_of("cpu").and_then(Tree::top) else { return Vec::new() };
    if law.mode == WeightMode::Smp || groups == 0 {
        return Vec::new();
    }
    let times = match law.mode {
        WeightMode::Up => "on each CPU on which the group has a runnable thread",
        WeightMode::Max => "for each CPU that the group may use",
        WeightMode::Tasks => "for each runnable thread",
        _ => "for each runnable thread, up to the CPUs that the group may use",
    };
    let which = if groups == 1 { "1 group".to_owned() } else { format!("{groups} groups") };
    let sentence = format!(
        "the mode is `{}`: the weight of {which} beside busy siblings counts {times}",
        law.mode
    );
    let machine = &host.snapshot.machine;
    let reading = match law.is_known {
        true => Reading::new(WEIGHT_MODE_FILE, law.mode.name()),
        false => {
            Reading::new("/proc/sys/kernel/osrelease", machine.kernel.value().map_or("", |one| one))
        }
    };
    vec![Found::new(top, &[], sentence).and(reading)]
}

#[cfg(test)]
mod tests {
    use crate::fake::Fake;

    #[test]
    fn a_controller_that_a_slice_does_not_hand_down_divides_nothing() {
        let host = |enabled: &str, weight: &str| {
            let files = [
                ("cgroup.controllers", "cpu memory"),
                ("cgroup.subtree_control", enabled),
                ("cpu.weight", weight),
            ];
            Fake::v2()
                .group_of("/system.slice", 0, &files)
                .group_of("/system.slice/a.service", 40, &[])
                .group("/system.slice/b.service", &[])
        };
        let found = host("memory", "300").only("A-NOT-ENABLED");
        assert_eq!(
            found.sentence,
            "cpu is not enabled for its 2 groups: their 41 threads are not divided"
        );
        host("cpu memory", "300").silent("A-NOT-ENABLED");
        // As systemd leaves system.slice where no unit has a setting.
        host("memory", "100").silent("A-NOT-ENABLED");
        host("cpu", "300").silent("A-NOT-ENABLED");
    }

    #[test]
    fn io_is_missed_only_below_a_weight_of_it() {
        let host = |weight: &str| {
            let files = [
                ("cgroup.controllers", "io"),
                ("cgroup.subtree_control", ""),
                ("io.weight", weight),
            ];
            Fake::v2()
                .group_of("/web.slice", 0, &files)
                .group("/web.slice/a.service", &[])
                .group("/web.slice/b.service", &[])
        };
        assert!(
            host("default 300").only("A-NOT-ENABLED").sentence.starts_with("io is not enabled")
        );
        host("default 100").silent("A-NOT-ENABLED");
    }

    #[test]
    fn the_weight_of_an_only_child_divides_nothing() {
        let host = |threads: u64, beside: u64| {
            Fake::v2()
                .group_of("/p", threads, &[("cpu.weight", "100")])
                .group("/p/g", &[("cpu.weight", "400")])
                .group_of("/p/h", beside, &[("cpu.weight", "100")])
        };
        assert!(host(0, 0).only("A-ALONE").sentence.contains("cpu.weight 400 divides nothing"));
        host(1, 0).silent("A-ALONE");
        let pod = "/kubepods/pod7f-01";
        Fake::v2()
            .group_of("/kubepods", 0, &[])
            .group_of(pod, 0, &[("cpu.weight", "100")])
            .group(&format!("{pod}/1a2b3c4d5e6f"), &[("cpu.weight", "400")])
            .silent("A-ALONE");
        host(0, 1).silent("A-ALONE");
    }

    /// As crun 1.8.1 makes them for podman with systemd (crates/audit/tests/fixtures/podman-4.3-systemd).
    #[test]
    fn a_weight_that_repeats_that_of_its_container_is_not_alone() {
        let host = |scope: &str, inner: &str| {
            let path = "/machine.slice/libpod-1a2b3c4d5e6f.scope";
            Fake::v2()
                .group_of("/machine.slice", 0, &[])
                .group_of("/machine.slice/other.scope", 1, &[("cpu.weight", "100")])
                .group_of(path, 0, &[("cpu.weight", scope)])
                .group(&format!("{path}/container"), &[("cpu.weight", inner)])
        };
        host("79", "79").silent("A-ALONE");
        host("100", "79").only("A-ALONE");
    }

    #[test]
    fn settings_of_an_empty_group_wait() {
        let host = |threads: u64| {
            Fake::v2().group_of("/g", threads, &[("cpu.weight", "400"), ("pids.max", "5")])
        };
        let found = host(0).only("A-EMPTY");
        assert_eq!(found.sentence, "the group is empty: cpu.weight, pids.max wait for processes");
        host(1).silent("A-EMPTY");
        Fake::v2().group_of("/g", 0, &[("cpu.weight", "100")]).silent("A-EMPTY");
    }

    /// As every host with systemd has them.
    #[test]
    fn the_usual_limit_of_a_mount_waits_for_nothing() {
        let host = |path: &str, files: &[(&str, &str)]| Fake::v2().group_of(path, 0, files);
        host("/dev-mqueue.mount", &[("pids.max", "2357")]).silent("A-EMPTY");
        host("/dev-mqueue.mount", &[("pids.max", "2357"), ("cpu.weight", "400")]).only("A-EMPTY");
        host("/a.service", &[("pids.max", "2357")]).only("A-EMPTY");
        // A service that has done its work and stays active (`RemainAfterExit=`).
        let beside = |own: &str| {
            host("/a.service", &[("pids.max", own)]).group("/b.service", &[("pids.max", "2357")])
        };
        beside("2357").silent("A-EMPTY");
        beside("64").only("A-EMPTY");
    }

    #[test]
    fn an_idle_group_is_named() {
        let host = |idle: &str| Fake::v2().group("/g", &[("cpu.idle", idle), ("cpu.weight", "1")]);
        host("1").only("A-IDLE");
        host("0").silent("A-IDLE");
    }

    #[test]
    fn pods_that_weigh_less_than_they_may_request_are_outweighed() {
        let host = |weight: &str| {
            Fake::v2()
                .group("/kubepods.slice", &[("cpu.weight", weight)])
                .group("/system.slice", &[("cpu.weight", "100")])
                .group("/user.slice", &[("cpu.weight", "100")])
        };
        // 8 CPUs: 313 by the linear formula, 800 as on v1.
        let found = host("313").only("A-OUTWEIGHED");
        assert!(found.sentence.contains("get 61 % of the CPUs"), "{found:?}");
        assert!(found.sentence.contains("v1 gave 80 %"), "{found:?}");
        host("2500").silent("A-OUTWEIGHED");
        host("313").weight_mode("smp").only("A-OUTWEIGHED");
        host("313").weight_mode("concur").silent("A-OUTWEIGHED");
    }

    #[test]
    fn weights_that_count_by_threads_are_said_once() {
        let host = |mode: &str, weight: &str| {
            Fake::v2()
                .weight_mode(mode)
                .group("/a", &[("cpu.weight", weight)])
                .group("/b", &[("cpu.weight", "100")])
        };
        let found = host("concur", "400").only("A-WEIGHT-MODE");
        assert_eq!(
            found.sentence,
            "the mode is `concur`: the weight of 1 group beside busy siblings counts for each runnable thread, up to the CPUs \
             that the group may use"
        );
        host("smp", "400").silent("A-WEIGHT-MODE");
        host("concur", "100").silent("A-WEIGHT-MODE");
    }
}
