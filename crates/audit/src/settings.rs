//! Which files of a group say something else than those of a new group, by the table of interface files.

use std::sync::LazyLock;

use assay_host::facts::owner;
use assay_host::knob::{is_of_new_group, setting_files, settings, weight};

use crate::conversion::systemd;
use crate::tree::Node;

/// Files whose changes are told, by name: settings, and the one that says which of them the groups below have.
pub static WATCHED: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let mut names: Vec<&str> = setting_files().iter().map(String::as_str).collect();
    names.push("cgroup.subtree_control");
    names.sort_unstable();
    names
});

/// Settings that are amounts, with their controllers.
pub static AMOUNTS: LazyLock<Vec<(&'static str, &'static str)>> = LazyLock::new(|| {
    let amounts = settings().iter().filter(|knob| knob.is_amount() && !knob.is_pattern());
    amounts.map(|knob| (knob.name, knob.controller)).collect()
});

/// Files of the host that a snapshot has, and whether their texts are settings: others change by themselves.
pub const HOST_FILES: [(&str, bool); 21] = [
    ("/proc/cgroups", false),
    ("/proc/pressure/cpu", false),
    ("/proc/pressure/io", false),
    ("/proc/pressure/memory", false),
    ("/proc/self/cgroup", false),
    ("/proc/swaps", false),
    ("/proc/sys/kernel/pid_max", true),
    ("/proc/sys/kernel/sched_autogroup_enabled", true),
    ("/proc/sys/kernel/sched_schedstats", true),
    ("/proc/sys/vm/overcommit_memory", true),
    ("/proc/sys/vm/swappiness", true),
    ("/proc/sys/vm/zone_reclaim_mode", true),
    ("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", true),
    ("/sys/devices/system/cpu/isolated", true),
    ("/sys/kernel/mm/lru_gen/enabled", false),
    ("/sys/kernel/mm/transparent_hugepage/enabled", true),
    ("/sys/kernel/sched_ext/root/ops", true),
    ("/sys/kernel/sched_ext/state", true),
    ("/sys/kernel/sched_ext/switch_all", false),
    ("/sys/module/zswap/parameters/enabled", true),
    (CPU_STATE, false),
];

/// Which CPUs the kubelet has given to containers alone.
pub(crate) const CPU_STATE: &str = "/var/lib/kubelet/cpu_manager_state";

/// Words of /proc/cmdline that decide about groups. No others are kept: they may be secret.
pub(crate) const OPTIONS: [&str; 8] = [
    "cgroup_disable=",
    "cgroup_enable=",
    "cgroup_no_v1=",
    "isolcpus=",
    "nohz_full=",
    "psi=",
    "swapaccount=",
    "systemd.unified_cgroup_hierarchy=",
];

/// Those whose texts are settings.
pub fn host_settings() -> impl Iterator<Item = &'static str> {
    HOST_FILES.into_iter().filter(|(_, is_setting)| *is_setting).map(|(file, _)| file)
}

impl Node<'_> {
    /// Whether a file of a group exists and differs from that of a new group. Idle groups read a weight of
    /// their own, which nobody has set, and a set of CPUs on v1 is copied from the parent.
    pub(crate) fn is_set(self, file: &str) -> bool {
        let Some(text) = self.text(file).filter(|_| !self.is_root()) else { return false };
        let is_own = match file {
            "cpu.weight" => self.text("cpu.idle") != Some("1"),
            "cpuset.cpus" | "cpuset.mems" => self.tree.hierarchy.is_v2,
            // systemd and the kernel write these without being asked.
            "cgroup.subtree_control" | "cgroup.clone_children" | "notify_on_release" => false,
            "blkio.bfq.weight" | "blkio.bfq.weight_device" => !self.is_usual_of_systemd(text),
            _ => true,
        };
        is_own && is_of_new_group(file, text) == Some(false)
    }

    /// The first of these files that is set.
    pub(crate) fn first_set<'f>(self, files: &[&'f str]) -> Option<&'f str> {
        files.iter().copied().find(|file| self.is_set(file))
    }

    /// On v1 systemd writes a weight for each unit beside one with `IOWeight=`: the usual one of 100, translated twice.
    fn is_usual_of_systemd(self, text: &str) -> bool {
        let is_usual = weight(text) == Some(systemd::blkio_bfq_weight(100));
        is_usual && text.lines().count() == 1 && self.is_unit()
    }

    /// Whether the last name of its path is that of a unit of systemd which has a group.
    pub(crate) fn is_unit(self) -> bool {
        self.path().rsplit('/').next().is_some_and(owner::is_unit)
    }

    /// The settings that are set, of whatever kind.
    pub(crate) fn all_settings(self) -> impl Iterator<Item = &'static str> {
        WATCHED.iter().copied().filter(move |name| self.is_set(name))
    }

    /// The files of amounts that are set.
    pub(crate) fn settings(self) -> impl Iterator<Item = &'static str> {
        AMOUNTS.iter().map(|(name, _)| *name).filter(move |name| self.is_set(name))
    }
}

#[cfg(test)]
mod tests {
    use crate::fake::Fake;
    use crate::tree::Tree;

    #[test]
    fn in_a_container_the_top_is_a_group_like_others() {
        let top = Fake::v2().top("memory.max", "4096").snapshot();
        let first = |snapshot: &crate::Snapshot| {
            let tree = Tree::new(&snapshot.hierarchies[0]);
            tree.top().unwrap().settings().count()
        };
        assert_eq!(first(&top), 0);
        let inside = Fake::v2().top("memory.max", "4096").change(|snapshot| {
            snapshot.hierarchies[0].is_whole = false;
        });
        assert_eq!(first(&inside.snapshot()), 1);
    }

    /// As systemd 252 leaves every unit on v1 where one has `IOWeight=` (crates/audit/tests/fixtures/systemd-252-v1).
    #[test]
    fn the_usual_weight_of_a_unit_on_v1_is_no_setting() {
        let count = |path: &str, weight: &str, device: &str| {
            let files = [("blkio.bfq.weight", weight), ("blkio.bfq.weight_device", device)];
            let snapshot = Fake::v1("io").group(path, &files).snapshot();
            let tree = Tree::new(&snapshot.hierarchies[0]);
            tree.nodes().map(|node| node.settings().count()).sum::<usize>()
        };
        assert_eq!(count("/web.slice", "136", "default 136"), 0);
        assert_eq!(count("/web.slice", "136", "default 136\n8:0 200"), 1);
        assert_eq!(count("/web.slice", "181", "default 181"), 2);
        assert_eq!(count("/web", "136", "default 136"), 2);
    }

    #[test]
    fn a_new_group_has_no_settings() {
        let new = [
            ("cpu.weight", "100"),
            ("cpu.max", "max 100000"),
            ("io.weight", "default 100"),
            ("memory.low", "0"),
            ("memory.limit_in_bytes", "9223372036854771712"),
            ("cpu.uclamp.min", "0.00"),
            ("cpuset.cpus", ""),
            ("blkio.bfq.weight_device", "default 100"),
            ("io.max", ""),
        ];
        let set = [
            ("cpu.weight", "200"),
            ("cpu.max", "50000 100000"),
            ("io.weight", "default 100\n8:0 200"),
            ("memory.low", "4096"),
            ("memory.limit_in_bytes", "67108864"),
            ("cpu.uclamp.min", "10.00"),
            ("cpuset.cpus", "0"),
            ("io.max", "8:0 rbps=1"),
        ];
        let idle = [("cpu.weight", "1"), ("cpu.idle", "1")];
        let snapshot =
            Fake::v2().group("/new", &new).group("/set", &set).group("/idle", &idle).snapshot();
        let tree = Tree::new(&snapshot.hierarchies[0]);
        let counts: Vec<usize> = tree.nodes().map(|node| node.settings().count()).collect();
        assert_eq!(counts, [0, 0, set.len(), 1]);
    }
}
