//! What could not be looked at, and why.

use assay_host::facts::Available;

use crate::host::Host;
use crate::snapshot::{Group, Hierarchy};
use crate::tree::Tree;

/// Rules that would call something fine without having seen the groups above.
pub(crate) const NEED_ANCESTORS: [&str; 2] = ["A-OVERCOMMIT", "A-OUTWEIGHED"];

/// One line for each kind.
pub(crate) fn not_looked_at(host: &Host) -> Vec<String> {
    let mut lines = Vec::new();
    for one in &host.snapshot.hierarchies {
        if !one.is_whole {
            lines.push(format!(
                "{}: the groups above the mount, which may limit everything here, and {}",
                one.name,
                NEED_ANCESTORS.join(", ")
            ));
            lines.extend(in_container(one));
        }
        lines.extend(one.left_out.iter().map(|why| format!("{}: {why}", one.name)));
    }
    let names = host.snapshot.names_left_out.iter();
    lines.extend(names.map(|why| format!("names of containers and pods: {why}")));
    let units = host.snapshot.units_left_out.iter();
    lines.extend(
        units.map(|why| format!("settings of units, for A-DRIFT, A-STARTUP and A-V1-SIDE: {why}")),
    );
    let kubelet = host.snapshot.kubelet.as_ref().and_then(Available::reason);
    lines.extend(kubelet.map(|why| format!("the kubelet's configuration, for A-STALE: {why}")));
    let unreadable: usize = host
        .trees
        .iter()
        .flat_map(Tree::nodes)
        .map(|node| node.group().files.values().filter(|file| file.reason().is_some()).count())
        .sum();
    if unreadable > 0 {
        lines.push(format!("{unreadable} interface files that this user may not read"));
    }
    lines.extend(of_processes(host));
    let machine = &host.snapshot.machine;
    let unknown = machine.memory.reason().map(|why| ("memory", why));
    let unknown = unknown.into_iter().chain(machine.cpus.reason().map(|why| ("CPUs", why)));
    lines.extend(unknown.map(|(what, why)| format!("the {what} of the machine: {why}")));
    if host.kernel().is_none() {
        lines.push("rules that depend on the kernel's version, which is unknown".to_owned());
    }
    lines
}

/// What only the root of a hierarchy says, and a container does not see.
fn in_container(hierarchy: &Hierarchy) -> Vec<String> {
    let serves =
        |name: &str| hierarchy.is_v2 && hierarchy.controllers.iter().any(|one| one == name);
    let mut lines = Vec::new();
    if serves("io") {
        lines.push(format!(
            "{}: whether io.cost divides disks, and so A-IOCOST-OFF and A-STACKED",
            hierarchy.name
        ));
    }
    if serves("memory") && hierarchy.options.iter().any(|one| one == "memory_recursiveprot") {
        lines.push(format!(
            "{}: the protection that groups above leave to those here, and so A-ANCESTOR",
            hierarchy.name
        ));
    }
    lines
}

/// What could not be seen of processes and threads, with the reason of the first group.
fn of_processes(host: &Host) -> Vec<String> {
    type Look = fn(&Group) -> Option<&str>;
    let looks: [(&str, Look); 3] = [
        ("the threads", |group| group.threads.reason()),
        ("the policies of scheduling of threads", |group| group.real_time.as_ref()?.reason()),
        ("on which disks processes have files open, by settings of I/O", |group| {
            group.open_on.as_ref()?.reason()
        }),
    ];
    let mut lines = Vec::new();
    for (what, reason) in looks {
        let nodes = host.trees.iter().flat_map(Tree::nodes);
        let reasons: Vec<&str> = nodes.filter_map(|node| reason(node.group())).collect();
        if let Some(first) = reasons.first() {
            lines.push(format!("{what}, of {} groups: {first}", reasons.len()));
        }
    }
    let loose = host.snapshot.hierarchies.iter().filter_map(|one| one.loose.as_ref()?.reason());
    lines.extend(loose.map(|why| format!("processes in no group: {why}")));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Fake;

    #[test]
    fn threads_that_could_not_be_counted_are_not_looked_at() {
        let snapshot = Fake::v2()
            .group("/g", &[("cpu.weight", "400")])
            .change(|host| {
                let why = "in another PID namespace".to_owned();
                host.hierarchies[0].groups[1].threads = Available::NotAvailable(why);
            })
            .snapshot();
        let lines = not_looked_at(&Host::new(&snapshot));
        assert!(lines.iter().any(|line| line.contains("another PID namespace")), "{lines:?}");
    }
}
