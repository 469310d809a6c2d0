//! The machine, as far as relevant for the measurements.

use assay_facts::{Available, Disk, HostFacts, Layout, memory_access};
use minijinja::Value as Markup;
use serde::Serialize;

use super::{Fact, topology};

/// The machine.
#[derive(Serialize)]
pub(crate) struct Host {
    facts: Vec<Fact>,
    /// Picture of CPUs, caches and memory.
    picture: Option<Markup>,
    /// Why there is no picture.
    no_picture: String,
    disks: Vec<DiskRow>,
    tools: Vec<Fact>,
}

#[derive(Serialize)]
struct DiskRow {
    name: String,
    model: String,
    size: String,
    scheduler: String,
    rotational: &'static str,
}

impl Host {
    pub(crate) fn new(host: &HostFacts) -> Self {
        let tools = host.tools.iter().map(|(name, tool)| Fact::new(name, available(&tool.found)));
        let picture = topology::picture(host);
        Self {
            facts: facts(host),
            no_picture: picture.as_ref().err().cloned().unwrap_or_default(),
            picture: picture.ok(),
            disks: host.disks.iter().map(disk).collect(),
            tools: tools.collect(),
        }
    }
}

fn facts(host: &HostFacts) -> Vec<Fact> {
    let machine = host.virtual_machine.as_ref().map_or_else(
        || "no hypervisor was recognised".to_owned(),
        |hypervisor| format!("virtual, under {hypervisor}"),
    );
    vec![
        Fact::new("Host", host.host_name.clone()),
        Fact::new("Kernel", format!("{} ({})", host.kernel, host.architecture)),
        Fact::new("Distribution", host.distribution.clone()),
        Fact::new("Machine", machine),
        Fact::new("Processor", host.cpus.model.clone()),
        Fact::new("CPUs", cpus(host)),
        Fact::new("Memory", gibibytes(host.memory.get())),
        Fact::new("Swap", gibibytes(host.swap.get())),
        Fact::new("NUMA nodes", host.nodes.len().to_string()),
        Fact::new("Bandwidth of nodes", bandwidths(host)),
        Fact::new("Caches", caches(host)),
        Fact::new("Control groups", layout(host)),
        Fact::new("I/O schedulers", host.schedulers.join(", ")),
        Fact::new("Pressure information", pressure(&host.pressure)),
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
        assay_facts::Hierarchy::V1(path) => format!("; io on v1 at {}", path.display()),
        assay_facts::Hierarchy::V2(path) => format!("; io on v2 at {}", path.display()),
        assay_facts::Hierarchy::Absent(reason) => format!("; io not available: {reason}"),
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

fn disk(disk: &Disk) -> DiskRow {
    let scheduler = disk.scheduler.as_ref().map(|s| s.active.clone());
    DiskRow {
        name: disk.name.clone(),
        model: disk.model.clone().unwrap_or_else(|| "not available: sysfs names none".to_owned()),
        size: gibibytes(disk.size.get()),
        scheduler: scheduler.unwrap_or_else(|| "not available: no request queue".to_owned()),
        rotational: match disk.rotational {
            Some(true) => "yes",
            Some(false) => "no",
            None => "not known",
        },
    }
}
