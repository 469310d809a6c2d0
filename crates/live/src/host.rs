//! The machine as text.

mod caches;

use assay_audit::{KnownFact, known_lines};
use assay_host::facts::{Available, Disk, Hierarchy, HostFacts, Requirement};

/// The machine and what can be studied on it, for readers.
#[must_use]
pub fn host_text(facts: &HostFacts, needs: &[Requirement], known: &[KnownFact]) -> String {
    let mut lines = Vec::new();
    machine(facts, &mut lines);
    groups(facts, &mut lines);
    lines.push(String::new());
    lines.push("disks".to_owned());
    lines.extend(facts.disks.iter().map(disk));
    lines.push(match facts.null_blk.reason() {
        None => "  null_blk   makes devices on request".to_owned(),
        Some(why) => format!("  null_blk   not available: {why}"),
    });
    lines.push(String::new());
    lines.extend(known_lines(known));
    lines.push(String::new());
    lines.push("what can be studied".to_owned());
    for need in needs {
        let mark = if need.met { "yes" } else { "NO" };
        lines.push(format!("  {mark:<4} {:<34} {}", need.what, need.observed));
        if let (false, Some(remedy)) = (need.met, &need.remedy) {
            lines.push(format!("       hint: {remedy}"));
        }
    }
    lines.join("\n")
}

fn machine(facts: &HostFacts, lines: &mut Vec<String>) {
    let virtual_machine =
        facts.virtual_machine.as_ref().map(|kind| format!(", in {kind}")).unwrap_or_default();
    lines.push(format!(
        "{}: Linux {} {}{virtual_machine}, {}",
        facts.host_name, facts.kernel, facts.architecture, facts.distribution
    ));
    let cpus = &facts.cpus;
    let siblings = if cpus.cores.len() < cpus.online.len() {
        format!("{} cores with SMT", cpus.cores.len())
    } else {
        "no SMT".to_owned()
    };
    lines.push(format!(
        "  CPUs    {} ({}), {}, {siblings}",
        cpus.online.len(),
        cpus.online,
        cpus.model
    ));
    lines.extend(caches::lines(&facts.caches));
    lines.extend(assay_host::facts::topology_lines(facts));
    lines.push(format!(
        "  memory  {:.1} GiB, swap {:.1} GiB",
        facts.memory.get() as f64 / f64::from(1 << 30),
        facts.swap.get() as f64 / f64::from(1 << 30)
    ));
}

fn groups(facts: &HostFacts, lines: &mut Vec<String>) {
    lines.push(String::new());
    lines.push(format!("control groups: {}", format!("{:?}", facts.cgroup.layout).to_lowercase()));
    for (name, controller) in &facts.cgroup.controllers {
        let hierarchy = match &controller.hierarchy {
            Hierarchy::V1(mount) => format!("v1  {}", mount.display()),
            Hierarchy::V2(mount) => format!("v2  {}", mount.display()),
            Hierarchy::Absent(why) => format!("--  {why}"),
        };
        let base = match facts.cgroup.bases.get(name) {
            None => String::new(),
            Some(Available::Value(base)) => format!("  groups in {}", base.display()),
            Some(Available::NotAvailable(_)) => "  no groups: see below".to_owned(),
        };
        lines.push(format!("  {name:<12} {hierarchy}{base}"));
    }
    match &facts.pressure {
        Available::Value(true) => lines.push("  pressure     on".to_owned()),
        Available::Value(false) => lines.push("  pressure     off".to_owned()),
        Available::NotAvailable(why) => lines.push(format!("  pressure     not available: {why}")),
    }
    lines.push(match &facts.weight_mode {
        Available::Value(mode) => format!("  CPU weights  divide by `{mode}`"),
        Available::NotAvailable(why) => format!("  CPU weights  not available: {why}"),
    });
}

fn disk(disk: &Disk) -> String {
    let scheduler = disk.scheduler.as_ref().map_or_else(
        || "no queue".to_owned(),
        |scheduler| {
            let mark = |name: &String| {
                if *name == scheduler.active { format!("[{name}]") } else { name.clone() }
            };
            scheduler.offered.iter().map(mark).collect::<Vec<_>>().join(" ")
        },
    );
    let model = disk.model.as_deref().unwrap_or("");
    let used = if disk.holders.is_empty() { "" } else { "in use" };
    format!("  {:<8} {:>12}  {scheduler:<34} {model} {used}", disk.name, disk.size.to_string())
        .trim_end()
        .to_owned()
}
