//! The machine, as far as relevant for the measurements.

use assay_host::facts::{Available, Disk, HostFacts, Layout, memory_access, topology_lines};
use assay_sys::escape::page::{Rows, Section};

/// The machine.
pub(crate) fn section(host: &HostFacts) -> Section {
    let section = Section::new("host", "The machine", |page| {
        page.on_page(|page| {
            page.facts(facts(host));
            page.code(topology_lines(host).join("\n"));
            let disks: Vec<&Disk> = host.disks.iter().filter(|disk| disk.size.get() > 0).collect();
            if !disks.is_empty() {
                page.table(rows(&disks));
            }
            if !host.tools.is_empty() {
                let tools =
                    host.tools.iter().map(|(name, tool)| (name.as_str(), available(&tool.found)));
                page.fold("Programs", false, |page| page.facts(tools));
            }
        });
    });
    section.listed("Machine").folded(format!(
        "Linux {}, {} CPUs, {}",
        host.kernel,
        host.cpus.online.len(),
        gibibytes(host.memory.get())
    ))
}

fn facts(host: &HostFacts) -> Vec<(&'static str, String)> {
    let machine = host.virtual_machine.as_ref().map_or_else(
        || "no hypervisor was recognised".to_owned(),
        |hypervisor| format!("virtual, under {hypervisor}"),
    );
    vec![
        ("Host", host.host_name.clone()),
        ("Kernel", format!("{} ({})", host.kernel, host.architecture)),
        ("Distribution", host.distribution.clone()),
        ("Machine", machine),
        ("Processor", host.cpus.model.clone()),
        ("CPUs", cpus(host)),
        ("Memory", gibibytes(host.memory.get())),
        ("Swap", gibibytes(host.swap.get())),
        ("NUMA nodes", host.nodes.len().to_string()),
        ("Bandwidth of nodes", bandwidths(host)),
        ("Caches", caches(host)),
        ("Control groups", layout(host)),
        ("I/O schedulers", host.schedulers.join(", ")),
        ("Pressure information", pressure(&host.pressure)),
    ]
}

fn cpus(host: &HostFacts) -> String {
    let cores = host.cpus.cores.len();
    format!("{} online ({}), {cores} cores", host.cpus.online.len(), host.cpus.online)
}

/// Memory performance of each node as reported by the firmware.
fn bandwidths(host: &HostFacts) -> String {
    let nodes: Vec<String> = host
        .nodes
        .iter()
        .filter_map(|node| Some(format!("node {} {}", node.id, memory_access(node)?)))
        .collect();
    match nodes.is_empty() {
        true => "not available: the firmware names none (ACPI HMAT)".to_owned(),
        false => nodes.join("; "),
    }
}

fn caches(host: &HostFacts) -> String {
    let mut caches: Vec<String> = host
        .caches
        .iter()
        .filter(|cache| cache.kind != "Instruction")
        .map(|cache| format!("L{} {}", cache.level, cache.size))
        .collect();
    caches.sort();
    caches.dedup();
    if caches.is_empty() { "not available: sysfs lists none".to_owned() } else { caches.join(", ") }
}

fn layout(host: &HostFacts) -> String {
    let layout = match host.cgroup.layout {
        Layout::V1 => "v1",
        Layout::V2 => "v2",
        Layout::Hybrid => "hybrid (v1 and v2)",
        Layout::None => "none mounted",
    };
    let io = host.cgroup.controllers.get("io").map(|controller| match &controller.hierarchy {
        assay_host::facts::Hierarchy::V1(path) => format!("; io on v1 at {}", path.display()),
        assay_host::facts::Hierarchy::V2(path) => format!("; io on v2 at {}", path.display()),
        assay_host::facts::Hierarchy::Absent(reason) => format!("; io not available: {reason}"),
    });
    format!("{layout}{}", io.unwrap_or_default())
}

fn pressure(pressure: &Available<bool>) -> String {
    match pressure {
        Available::Value(true) => "on".to_owned(),
        Available::Value(false) => "off".to_owned(),
        Available::NotAvailable(reason) => format!("not available: {reason}"),
    }
}

fn available(value: &Available<String>) -> String {
    match value {
        Available::Value(value) => value.clone(),
        Available::NotAvailable(reason) => format!("not available: {reason}"),
    }
}

fn gibibytes(bytes: u64) -> String {
    if bytes == 0 {
        return "none".to_owned();
    }
    format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30))
}

fn rows<'d>(disks: &'d [&'d Disk]) -> Rows<'d, &'d Disk> {
    let missing = |text: Option<&String>, why: &str| {
        text.cloned().unwrap_or_else(|| format!("not available: {why}"))
    };
    Rows::new(disks)
        .left("disk", 0, |disk| format!("`{}`", disk.name))
        .left("model", 0, move |disk| missing(disk.model.as_ref(), "sysfs names none"))
        .right("size", 0, |disk| gibibytes(disk.size.get()))
        .left("scheduler", 0, move |disk| {
            missing(disk.scheduler.as_ref().map(|scheduler| &scheduler.active), "no request queue")
        })
        .left("rotational", 0, |disk| match disk.rotational {
            Some(true) => "yes",
            Some(false) => "no",
            None => "not known",
        })
}
