//! Requirements of studies on a host: what was observed, and what to do about it.

use crate::facts::{Available, Disk, Hierarchy, HostFacts, Requirement, Tool};

/// The general list; a study may need only a part of it.
#[must_use]
pub fn requirements(facts: &HostFacts) -> Vec<Requirement> {
    let mut list = vec![root(facts)];
    list.extend(["cpu", "cpuset", "io", "memory", "pids"].map(|name| controller(facts, name)));
    list.push(pressure(facts));
    list.push(bfq(facts));
    list.push(loop_devices(facts));
    // Partitions work without sfdisk, so it is not required.
    let needed = facts.tools.iter().filter(|(name, _)| *name != "sfdisk");
    list.extend(needed.map(|(name, program)| tool(name, program)));
    list
}

fn requirement(
    what: impl Into<String>,
    observed: impl Into<String>,
    met: bool,
    remedy: &str,
) -> Requirement {
    Requirement {
        what: what.into(),
        observed: observed.into(),
        met,
        remedy: (!met).then(|| remedy.to_owned()),
    }
}

/// What needs root regardless of delegation. Groups are listed by controller.
fn root(facts: &HostFacts) -> Requirement {
    let (observed, met) = match &facts.root {
        Available::Value(()) => ("root of this machine".to_owned(), true),
        Available::NotAvailable(why) => (why.clone(), false),
    };
    let remedy = "run it with sudo for loop, block and null_blk disks, schedulers, queue settings \
                  and iocost; a disk that is a directory, and knobs of the controllers below that \
                  are met, need no root";
    requirement("root", observed, met, remedy)
}

fn controller(facts: &HostFacts, name: &str) -> Requirement {
    let what = format!("cgroup controller {name}");
    let (observed, met) =
        match facts.cgroup.controllers.get(name).map(|controller| &controller.hierarchy) {
            Some(Hierarchy::V1(mount)) => (format!("cgroup v1 at {}", mount.display()), true),
            Some(Hierarchy::V2(mount)) => (format!("cgroup v2 at {}", mount.display()), true),
            Some(Hierarchy::Absent(why)) => (why.clone(), false),
            None => ("unknown to this kernel".to_owned(), false),
        };
    match facts.cgroup.bases.get(name) {
        Some(Available::Value(base)) => {
            let observed = format!("{observed}, groups in {}", base.display());
            return requirement(what, observed, met, "");
        }
        Some(Available::NotAvailable(why)) => {
            return requirement(what, observed, false, why);
        }
        None => {}
    }
    let remedy = format!(
        "mount -t cgroup2 none /sys/fs/cgroup, or for v1: mkdir -p /sys/fs/cgroup/{v1} && \
         mount -t cgroup -o {v1} none /sys/fs/cgroup/{v1}",
        v1 = if name == "io" { "blkio" } else { name }
    );
    requirement(what, observed, met, &remedy)
}

fn pressure(facts: &HostFacts) -> Requirement {
    let (observed, met) = match &facts.pressure {
        Available::Value(true) => ("on".to_owned(), true),
        Available::Value(false) => ("built in, but off".to_owned(), false),
        Available::NotAvailable(why) => (why.clone(), false),
    };
    let remedy = "boot with psi=1 on a kernel with CONFIG_PSI; without it some causes of a missed \
                  share cannot be distinguished";
    requirement("pressure stall information", observed, met, remedy)
}

fn bfq(facts: &HostFacts) -> Requirement {
    let met = facts.schedulers.iter().any(|name| name == "bfq");
    let observed = match facts.schedulers.as_slice() {
        [] => "no queue offers a scheduler".to_owned(),
        names => format!("queues offer {}", names.join(", ")),
    };
    let remedy = "modprobe bfq; where the kernel lacks it (CONFIG_IOSCHED_BFQ), I/O weights need \
                  iocost, or a virtual machine whose kernel has it";
    requirement("I/O scheduler bfq", observed, met, remedy)
}

fn loop_devices(facts: &HostFacts) -> Requirement {
    let loops: Vec<&Disk> =
        facts.disks.iter().filter(|disk| disk.name.starts_with("loop")).collect();
    let free = loops.iter().filter(|disk| disk.backing_file.is_none()).count();
    let observed = format!("{} loop devices, {free} of them free", loops.len());
    let remedy = "modprobe loop, or give the study a blank disk or a directory instead";
    // A kernel with the driver adds devices on demand, so one in use is enough.
    requirement("loop devices", observed, !loops.is_empty(), remedy)
}

fn tool(name: &str, tool: &Tool) -> Requirement {
    let (observed, met) = match &tool.found {
        Available::Value(version) => (version.clone(), true),
        Available::NotAvailable(why) => (why.clone(), false),
    };
    requirement(name, observed, met, &format!("apt-get install {}", tool.package))
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_sys::kernel::Root;

    fn facts_of_an_empty_tree() -> HostFacts {
        let tree = tempfile::tempdir().unwrap();
        std::fs::create_dir(tree.path().join("proc")).unwrap();
        crate::gather(&Root::at(tree.path())).unwrap()
    }

    #[test]
    fn every_unmet_requirement_has_a_remedy() {
        let list = requirements(&facts_of_an_empty_tree());
        assert!(list.iter().all(|line| !line.met), "{list:?}");
        assert!(list.iter().all(|line| line.remedy.is_some()));
        assert!(list.iter().any(|line| line.remedy.as_deref() == Some("apt-get install fio")));
    }

    #[test]
    fn a_met_requirement_has_no_remedy() {
        let mut facts = facts_of_an_empty_tree();
        facts.schedulers = vec!["bfq".to_owned(), "none".to_owned()];
        facts.root = Available::Value(());
        let list = requirements(&facts);
        let line = |what: &str| list.iter().find(|line| line.what == what).unwrap();
        assert!(line("root").met && line("root").remedy.is_none());
        assert_eq!(line("I/O scheduler bfq").observed, "queues offer bfq, none");
        assert!(line("I/O scheduler bfq").met);
    }
}
