//! Settings of systemd's units that do not stand in the files of their groups.

use assay_host::facts::owner::{Owner, unit_of_system};

use crate::finding::Class;
use crate::found::Became;
use crate::fulfilment::installed;
use crate::rule::{Find, Found, Host, Rule, Scope};
use crate::tree::Node;

pub(super) static RULES: &[Rule] = &[
    Rule {
        code: "A-V1-SIDE",
        class: Class::NoEffect,
        condition: "the files of a unit set what systemd writes on cgroup2 only (`MemoryMin=`, `MemoryLow=`, `MemoryHigh=`, \
                    `MemorySwapMax=`, `MemoryZSwapMax=`, `AllowedCPUs=`, `AllowedMemoryNodes=`, `IOReadIOPSMax=`, `IOWriteIOPSMax=`) \
                    to something else than a new group has, and its controller is on a v1 hierarchy",
        versions: "v1 and hybrid, systemd before v258",
        meaning: "systemd accepts the setting and writes it nowhere",
        remedy: "boot with systemd.unified_cgroup_hierarchy=1, or use what v1 has: MemoryMax=, CPUWeight=, IOReadBandwidthMax=",
        source: "systemd src/core/cgroup.c (cgroup_context_apply); systemd.resource-control(5)",
        find: Find::Host(|host| of(host, Became::NeverApplied)),
    },
    Rule {
        code: "A-STARTUP",
        class: Class::MeansElse,
        condition: "a file of a group says what a `Startup...=` of its unit's files asks for, and not what they ask for besides, or what a \
                    new group has",
        versions: "v1 and v2",
        meaning: "this number is for while systemd starts or stops, and the group gets another one afterwards",
        remedy: "none needed while `systemctl is-system-running` says starting or stopping; if it stays, a job does not end \
                 (`systemctl list-jobs`), or somebody else wrote the file",
        source: "systemd.resource-control(5), \"StartupCPUWeight=\"; systemd src/core/cgroup.c (manager_state)",
        find: Find::Host(|host| of(host, Became::AtStartup)),
    },
    Rule {
        code: "A-DRIFT",
        class: Class::MeansElse,
        condition: "a file of a group says something else than the files of its unit and their drop-ins ask for, by more than \
                    rounding, or does not exist since its controller is not enabled for the group; `IODeviceWeight=`, limits of \
                    I/O by the path of a file, and `TasksMax=` and `Memory...=` in percent are not compared, nor \
                    `CPUShares=` and `MemoryLimit=` where the file says what a new group's does",
        versions: "v1 and v2",
        meaning: "either the unit's files were changed and systemd has not read them since, or somebody else than systemd wrote the \
                  group's file; the next daemon-reload or start of the unit may undo that",
        remedy: "`systemctl show UNIT` has what systemd knows; `systemctl daemon-reload` if the unit's files are what you want; \
                 `assay audit watch` names who writes the group's file",
        source: "systemd.resource-control(5), systemd.unit(5); systemd src/core/cgroup.c",
        find: Find::Host(|host| of(host, Became::Differs)),
    },
    Rule {
        code: "A-CONTROLLER-OFF",
        class: Class::NoEffect,
        condition: "the files of a unit set something of a controller that is off in /proc/cgroups, or that the root's `cgroup.controllers` lacks",
        versions: "all",
        meaning: "systemd accepts the setting, and the kernel has no file for it",
        remedy: "boot without cgroup_disable=; a Raspberry Pi needs cgroup_enable=memory",
        source: "kernel-parameters.txt, \"cgroup_disable\"; systemd src/core/cgroup.c; raspberrypi/linux#5933",
        find: Find::Host(|host| of(host, Became::Off)),
    },
    Rule {
        code: "A-LAUNCHER",
        class: Class::Weakened,
        condition: "a unit has a limit of CPU or memory, and is docker.service or containerd.service with containers elsewhere, or starts \
                    `docker run` and the like (unless `--cgroup-parent` or `--cgroups=split` is given)",
        versions: "all",
        meaning: "its limits hold for the daemon, or the client, alone: containers are in groups elsewhere",
        remedy: "limit containers themselves (--memory, --cpus), or a slice that --cgroup-parent names",
        source: "docker-run(1), --cgroup-parent; coreos/bugs#242, containerd#11545",
        find: Find::Host(launchers),
    },
];

const LIMITS: [&str; 5] =
    ["memory.max", "memory.limit_in_bytes", "memory.high", "cpu.max", "cpu.cfs_quota_us"];

fn launchers(host: &Host) -> Vec<Found> {
    const DAEMONS: [&str; 2] = ["docker.service", "containerd.service"];
    let outside = |own: &str| {
        let all = host.owned().iter().filter(|one| {
            let is_own = one.path.starts_with(&format!("{own}/"));
            matches!(one.owner.said().0, Owner::Container(_)) && !is_own
        });
        all.count()
    };
    let one = |node: Node| {
        let (path, unit) = (node.path(), unit_of_system(node.path())?);
        let file = node.first_set(&LIMITS).filter(|_| path.ends_with(unit))?;
        let files = host.snapshot.units.get(unit).into_iter().flatten();
        let start =
            files.flat_map(|file| &file.settings).rfind(|line| line.starts_with("ExecStart="));
        let who = match start {
            Some(line) => format!("the client alone ({line})"),
            None if DAEMONS.contains(&unit) => match outside(path) {
                0 => return None,
                number => format!("the daemon alone: {number} containers are in other groups"),
            },
            None => return None,
        };
        Some(Found::new(node, &[file], format!("{file} holds for {who}")))
    };
    ["memory", "cpu"]
        .into_iter()
        .flat_map(|name| host.groups(Scope::Of(name)).filter_map(one).collect::<Vec<_>>())
        .fold(Vec::new(), |mut all: Vec<Found>, found| {
            if all.iter().all(|own| own.group != found.group) {
                all.push(found);
            }
            all
        })
}

fn of(host: &Host, became: Became) -> Vec<Found> {
    let all = host.installed(installed).iter().filter(|(one, _)| *one == became);
    all.map(|(_, found)| found.clone()).collect()
}

#[cfg(test)]
mod tests {
    use assay_host::facts::owner::Claimant;

    use crate::fake::Fake;

    const UNIT: &str = "a.service";

    /// A host on which the unit's group has these files.
    fn host(settings: &[&str], files: &[(&str, &str)]) -> Fake {
        Fake::v2()
            .group_of("/system.slice", 0, &[])
            .group("/system.slice/a.service", files)
            .also("cgroup.controllers", "cpu memory")
            .unit(UNIT, settings)
    }

    #[test]
    fn a_file_that_differs_from_the_unit_file_is_named_with_both() {
        let found = host(&["CPUWeight=400"], &[("cpu.weight", "100")]).only("A-DRIFT");
        assert_eq!(
            found.sentence,
            "cpu.weight 100 differs from its unit file: CPUWeight=400 would be 400"
        );
        assert_eq!(found.readings[1].file, "/etc/systemd/system/a.service");
        assert_eq!(found.readings[1].value, "CPUWeight=400");
        host(&["CPUWeight=400"], &[("cpu.weight", "400")]).silent("A-DRIFT");
        host(&["CPUWeight=400", "CPUWeight=100"], &[("cpu.weight", "100")]).silent("A-DRIFT");
        host(&["CPUWeight=400", "CPUWeight="], &[("cpu.weight", "100")]).silent("A-DRIFT");
    }

    #[test]
    fn an_idle_weight_and_what_systemd_rounds_is_no_drift() {
        let idle = [("cpu.weight", "1"), ("cpu.idle", "1")];
        host(&["CPUWeight=idle"], &idle).silent("A-DRIFT");
        host(&["CPUWeight=400"], &idle).only("A-DRIFT");
        // `systemctl set-property x CPUQuota=12.4%` keeps 12% in its file.
        host(&["CPUQuota=12%"], &[("cpu.max", "12400 100000")]).silent("A-DRIFT");
        host(&["CPUQuota=12%"], &[("cpu.max", "24000 100000")]).only("A-DRIFT");
        // Of which memory is not known: a balloon in the machine changes it.
        host(&["MemoryMax=10%"], &[("memory.max", "1610612736")]).silent("A-DRIFT");
        host(&["MemoryMax=1G"], &[("memory.max", "1073676288")]).silent("A-DRIFT");
        host(&["MemoryMax=1G"], &[("memory.max", "1073610752")]).only("A-DRIFT");
        host(&["TasksMax=33%"], &[("pids.max", "9000")]).silent("A-DRIFT");
        let on_v1 = |quota: &str| {
            let files = [("cpu.cfs_quota_us", quota), ("cpu.cfs_period_us", "100000")];
            Fake::v1("cpu").group("/a.service", &files).unit(UNIT, &["CPUQuota=12%"])
        };
        on_v1("12400").silent("A-DRIFT");
        on_v1("24000").only("A-DRIFT");
        let io = |bfq: &str| {
            let weights = [("io.bfq.weight", bfq), ("io.weight", "default 666")];
            host(&["IOWeight=666"], &weights)
        };
        // As systemd from v250, of v247 to v249, and of before translates it.
        ["151", "67", "666"].into_iter().for_each(|bfq| io(bfq).silent("A-DRIFT"));
        io("300").only("A-DRIFT");
    }

    #[test]
    fn a_setting_whose_controller_is_not_enabled_stands_nowhere() {
        let found = host(&["IOWeight=200"], &[]).only("A-DRIFT");
        assert_eq!(
            found.sentence,
            "IOWeight=200 of its unit file stands nowhere: io is not enabled for the group"
        );
        for new in
            [["TasksMax=infinity"], ["MemoryMax=infinity"], ["IOWeight=100"], ["CPUShares=9"]]
        {
            let host = host(&new, &[]).also("cgroup.controllers", "cpuset");
            host.silent("A-DRIFT");
        }
        // A kernel without the file.
        host(&["MemoryZSwapMax=1G"], &[]).silent("A-DRIFT");
    }

    #[test]
    fn only_the_group_that_systemd_itself_made_is_compared() {
        let at = |path: &str| {
            let above = path.rsplit_once('/').unwrap().0;
            let parents = above.match_indices('/').skip(1).map(|(at, _)| &above[..at]);
            let all = parents.chain([above].into_iter().filter(|path| !path.is_empty()));
            let fake = all.fold(Fake::v2(), |fake, path| fake.group_of(path, 0, &[]));
            fake.group(path, &[("cpu.weight", "100")]).unit(UNIT, &["CPUWeight=400"])
        };
        at("/system.slice/a.service").only("A-DRIFT");
        at("/a.service").only("A-DRIFT");
        at("/user.slice/user-1.slice/user@1.service/app.slice/a.service").silent("A-DRIFT");
        at("/machine.slice/x.scope/system.slice/a.service").silent("A-DRIFT");
        // A user's group of this name hides nothing.
        at("/system.slice/a.service")
            .group("/jobs.slice", &[])
            .group("/jobs.slice/a.service", &[("cpu.weight", "400")])
            .change(|host| _ = host.delegated.insert("/jobs.slice".to_owned(), Claimant::Uid(7)))
            .only("A-DRIFT");
        // Of two groups one was made by somebody else.
        at("/system.slice/a.service")
            .group("/a.service", &[("cpu.weight", "100")])
            .silent("A-DRIFT");
    }

    #[test]
    fn a_weight_for_the_start_is_named_where_it_stands() {
        let unit = ["CPUWeight=100", "StartupCPUWeight=500"];
        let found = host(&unit, &[("cpu.weight", "500")]).only("A-STARTUP");
        assert!(found.sentence.ends_with("its unit has CPUWeight=100 otherwise"), "{found:?}");
        host(&unit, &[("cpu.weight", "500")]).silent("A-DRIFT");
        host(&unit, &[("cpu.weight", "100")]).silent("A-STARTUP");
        host(&unit, &[("cpu.weight", "300")]).only("A-DRIFT");
        let alone = ["StartupCPUWeight=500"];
        host(&alone, &[("cpu.weight", "500")]).only("A-STARTUP");
        host(&alone, &[("cpu.weight", "100")]).silent("A-STARTUP");
        host(&["StartupCPUWeight=100"], &[("cpu.weight", "100")]).silent("A-STARTUP");
    }

    #[test]
    fn what_systemd_writes_on_v2_only_was_never_applied_on_v1() {
        let v1 = |settings: &[&str]| {
            let files = [("memory.limit_in_bytes", "1073741824")];
            Fake::v1("memory").group("/a.service", &files).unit(UNIT, settings)
        };
        let found = v1(&["MemoryLow=512M", "MemoryMax=1G"]).only("A-V1-SIDE");
        assert_eq!(
            found.sentence,
            "MemoryLow=512M of its unit was never applied: memory is on a v1 hierarchy here, where systemd does not write it"
        );
        v1(&["MemoryMax=1G"]).silent("A-V1-SIDE");
        v1(&["MemoryHigh=infinity", "MemorySwapMax=infinity", "MemoryLow=0"]).silent("A-V1-SIDE");
        v1(&["MemoryHigh=10%"]).only("A-V1-SIDE");
        host(&["MemoryLow=512M"], &[("memory.low", "536870912")]).silent("A-V1-SIDE");
    }

    #[test]
    fn of_the_limits_of_a_device_the_last_counts() {
        let limit = |first: &str, read: &str| {
            host(&[first, "IOReadBandwidthMax=/dev/sda 20M"], &[("io.max", read)])
                .disk("sda", "8:0", "[none]")
        };
        let first = "IOReadBandwidthMax=/dev/sda 10M";
        limit(first, "8:0 rbps=20000000 wbps=max").silent("A-DRIFT");
        let found = limit(first, "8:0 rbps=10000000 wbps=max").only("A-DRIFT");
        assert!(found.sentence.contains("IOReadBandwidthMax=/dev/sda 20M would be"), "{found:?}");
        let other = "IOReadBandwidthMax=/dev/sdb 10M";
        let both = "8:0 rbps=20000000\n8:16 rbps=5";
        limit(other, both).disk("sdb", "8:16", "[none]").only("A-DRIFT");
        // Which disk holds a file is not known.
        limit("IOWriteBandwidthMax=/var 1M", "8:0 rbps=20000000 wbps=5")
            .change(|host| host.disks[0].mounted = vec!["/var".to_owned()])
            .silent("A-DRIFT");
    }

    #[test]
    fn what_systemd_no_longer_applies_is_no_drift_in_a_new_group() {
        host(&["CPUShares=2048"], &[("cpu.weight", "100")]).silent("A-DRIFT");
        host(&["CPUShares=2048"], &[("cpu.weight", "300")]).only("A-DRIFT");
        host(&["MemoryLimit=1G"], &[("memory.max", "max")]).silent("A-DRIFT");
        let found = host(&["MemoryLimit=1G"], &[("memory.max", "2147483648")]).only("A-DRIFT");
        assert!(found.sentence.contains("MemoryLimit=1G would be"), "{found:?}");
        assert_eq!(found.readings[1].file, "/etc/systemd/system/a.service");
        host(&["MemoryLimit=1G", "MemoryMax=2G"], &[("memory.max", "2147483648")])
            .silent("A-DRIFT");
    }

    /// raspberrypi/linux#5933.
    #[test]
    fn what_was_asked_of_a_controller_that_is_off_was_never_applied() {
        let host = |controllers: &[&str]| {
            host(&["MemoryMax=512M"], &[]).also("cgroup.controllers", "cpu").change(|host| {
                host.hierarchies[0].controllers =
                    controllers.iter().map(ToString::to_string).collect();
            })
        };
        let found = host(&["cpu"]).only("A-CONTROLLER-OFF");
        assert!(
            found.sentence.starts_with("MemoryMax=512M of its unit was never applied"),
            "{found:?}"
        );
        host(&["cpu", "memory"]).silent("A-CONTROLLER-OFF");
    }

    /// coreos/bugs#242.
    #[test]
    fn a_limit_of_a_launcher_does_not_hold_its_containers() {
        let host = |unit: &str, max: &str, settings: &[&str]| {
            Fake::v2()
                .group_of("/system.slice", 0, &[])
                .group(&format!("/system.slice/{unit}"), &[("memory.max", max)])
                .group("/system.slice/docker-5a5b5a5b5a5b.scope", &[("memory.max", "max")])
                .unit(unit, settings)
        };
        let found = host("docker.service", "4096", &[]).only("A-LAUNCHER");
        assert_eq!(
            found.sentence,
            "memory.max holds for the daemon alone: 1 containers are in other groups"
        );
        let client = ["ExecStart=docker run"];
        assert!(host("a.service", "4096", &client).only("A-LAUNCHER").sentence.contains("client"));
        host("docker.service", "max", &[]).silent("A-LAUNCHER");
        host("a.service", "4096", &["CPUWeight=1"]).silent("A-LAUNCHER");
    }

    /// systemd#22211.
    #[test]
    fn a_limit_below_the_use_that_v1_refuses_has_its_own_remedy() {
        let found = |used: &str| {
            let files = [("memory.limit_in_bytes", "32436649984"), ("memory.usage_in_bytes", used)];
            let host = Fake::v1("memory").group("/a.service", &files);
            host.unit(UNIT, &["MemoryMax=15G"]).only("A-DRIFT")
        };
        let above = found("23407560704");
        assert!(above.sentence.contains("memory.usage_in_bytes") && above.remedy.contains("EBUSY"));
        assert!(!found("4096").remedy.contains("EBUSY"));
    }

    #[test]
    fn a_group_above_that_disables_controllers_is_the_cause() {
        let found = host(&["IOWeight=200"], &[]).unit("system.slice", &["DisableControllers=io"]);
        let found = found.only("A-DRIFT");
        assert!(found.remedy.contains("DisableControllers="), "{found:?}");
    }

    #[test]
    fn a_list_with_a_specifier_is_unknown() {
        host(&["AllowedCPUs=%i"], &[("cpuset.cpus", "3")]).silent("A-DRIFT");
        host(&["AllowedCPUs=2"], &[("cpuset.cpus", "3")]).only("A-DRIFT");
    }
}
