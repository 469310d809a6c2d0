//! `uncore`: bytes read and written by memory controllers, by node, if the machine has a PMU that counts them
//! (Documentation/ABI/testing/sysfs-bus-event_source-devices-format and -events). A driver lists its events,
//! their codes, and the bytes per count in sysfs; only the driver of AMD's memory controllers lists no
//! events, but their codes are the same since Zen 4.

use assay_sys::kernel::Root;
use assay_sys::kernel::event_counts::{Event, EventCount};
use assay_sys::units::CpuSet;

use super::{Depth, Rows, SECOND, Source, boxed, names};
use crate::sample::nodes::Nodes;
use crate::sample::registry::{Inclusion, SourceInfo, TableInfo};

pub(super) const INFO: SourceInfo = SourceInfo {
    name: "uncore",
    inclusion: Inclusion::OnRequest,
    open: |root, _| boxed(Uncore::open(root)),
};

const FOLDER: &str = "/sys/bus/event_source/devices";

/// Events of reads and writes, as drivers name them: Intel's servers, its free-running counters, its clients.
/// The first pair that any PMU has is used, on all PMUs that have it, so that nothing is counted twice.
const NAMED: [[&str; 2]; 4] = [
    ["cas_count_read", "cas_count_write"],
    ["data_reads", "data_writes"],
    ["data_read", "data_write"],
    ["read", "write"],
];

/// The same of `amd_umc_*`, whose driver (6.10) lists no events: CAS commands of 64 bytes; `rdwrmask` selects
/// reads or writes (AMD's processor programming references of Zen 4 and 5).
const UMC: [&str; 2] = ["event=0x0a,rdwrmask=0x1", "event=0x0a,rdwrmask=0x2"];
const CAS_BYTES: f64 = 64.0;

/// Prefixes of the names of PMUs that observe memory traffic.
const MEMORY: [&str; 7] =
    ["uncore_imc", "amd_umc", "amd_df", "arm_cmn", "arm_dmc", "hisi_sccl", "nvidia_scf"];

/// Its columns, for the reference document: only a machine with such counters can open the source.
pub const COLUMNS: [&str; 2] = ["read_bytes", "write_bytes"];

/// An event with the bytes per count.
#[derive(Debug, Clone, Copy, PartialEq)]
struct ByteEvent {
    event: Event,
    bytes: f64,
}

/// A memory controller: the CPUs to open its events on, and its events of reads and writes.
#[derive(Debug, Clone, PartialEq)]
struct Controller {
    cpus: Vec<u16>,
    events: [ByteEvent; 2],
}

/// One direction of one controller.
struct DirectionCounter {
    count: EventCount,
    bytes: f64,
}

/// Bytes by node.
pub(super) struct Uncore {
    table: TableInfo,
    /// The counters of both columns of each node.
    nodes: Vec<[Vec<DirectionCounter>; 2]>,
}

impl Uncore {
    pub(super) fn open(root: &Root) -> Result<Self, String> {
        let nodes_of_cpus = Nodes::read(root).unwrap_or_default();
        let mut nodes: Vec<(String, [Vec<DirectionCounter>; 2])> = Vec::new();
        for controller in controllers(root)? {
            for cpu in controller.cpus {
                // A kernel without NUMA has a single node.
                let name = format!("node{}", nodes_of_cpus.of_cpu(cpu).unwrap_or(0));
                let [read, write] = controller.events.map(|event| counter(event, cpu));
                let counters = [read?, write?];
                let existing = nodes.iter().position(|(existing, _)| *existing == name);
                let at = existing.unwrap_or_else(|| {
                    nodes.push((name, [Vec::new(), Vec::new()]));
                    nodes.len() - 1
                });
                for (all, counter) in nodes[at].1.iter_mut().zip(counters) {
                    all.push(counter);
                }
            }
        }
        nodes.sort_by(|one, other| one.0.cmp(&other.0));
        let (subjects, nodes): (_, Vec<[Vec<DirectionCounter>; 2]>) = nodes.into_iter().unzip();
        let files = nodes.iter().flatten().map(Vec::len).sum();
        let table = TableInfo::new(INFO.name, names(&COLUMNS), subjects);
        Ok(Self { table: TableInfo { files, period: SECOND, ..table }, nodes })
    }
}

fn counter(counted: ByteEvent, cpu: u16) -> Result<DirectionCounter, String> {
    let count = EventCount::system_wide(counted.event, &[cpu]);
    Ok(DirectionCounter { count: count.map_err(|error| error.to_string())?, bytes: counted.bytes })
}

/// All controllers that count reads and writes; otherwise the reason, with the PMUs of the machine.
fn controllers(root: &Root) -> Result<Vec<Controller>, String> {
    let mut pmus = root.list(FOLDER).map_err(|error| error.to_string())?;
    pmus.sort();
    for [read, write] in NAMED {
        let with = |pmu: &String| {
            let event = |name| named_event(root, pmu, name);
            Some(Controller { cpus: cpus(root, pmu), events: [event(read)?, event(write)?] })
        };
        let imc = pmus.iter().filter(|pmu| MEMORY.iter().any(|prefix| pmu.starts_with(prefix)));
        let with_events: Vec<Controller> = imc.filter_map(with).collect();
        if !with_events.is_empty() {
            return Ok(with_events);
        }
    }
    let umc = pmus.iter().filter(|pmu| pmu.starts_with("amd_umc"));
    let with = |pmu: &String| {
        let event = |terms| {
            Some(ByteEvent { event: event_from_terms(root, pmu, terms)?, bytes: CAS_BYTES })
        };
        Some(Controller { cpus: cpus(root, pmu), events: [event(UMC[0])?, event(UMC[1])?] })
    };
    let with_events: Vec<Controller> = umc.filter_map(with).collect();
    if with_events.is_empty() { Err(why_none(&pmus)) } else { Ok(with_events) }
}

/// The reason why nothing counts memory traffic, with the PMUs of the machine.
fn why_none(pmus: &[String]) -> String {
    let sees = |pmu: &&String| MEMORY.iter().any(|prefix| pmu.starts_with(prefix));
    let seeing: Vec<&str> = pmus.iter().filter(sees).map(String::as_str).collect();
    if seeing.is_empty() {
        return format!(
            "no PMU of a memory controller (uncore_imc, amd_umc); this machine has {}, as most \
             virtual machines",
            if pmus.is_empty() { "none".to_owned() } else { pmus.join(", ") }
        );
    }
    format!(
        "{} count memory traffic, but their driver lists no events for reads and writes",
        seeing.join(", ")
    )
}

/// The CPUs on which the driver wants the PMU's events opened: one per socket or die.
fn cpus(root: &Root, pmu: &str) -> Vec<u16> {
    let text = root.read_trimmed(format!("{FOLDER}/{pmu}/cpumask")).unwrap_or_default();
    let cpus: Vec<u16> = text.parse::<CpuSet>().unwrap_or_default().iter().collect();
    if cpus.is_empty() { vec![0] } else { cpus }
}

/// An event that the driver lists by name, with its `.scale` in its `.unit`.
fn named_event(root: &Root, pmu: &str, name: &str) -> Option<ByteEvent> {
    let file = |end: &str| root.read_trimmed(format!("{FOLDER}/{pmu}/events/{name}{end}")).ok();
    let unit = match file(".unit")?.as_str() {
        "MiB" => 1_048_576.0,
        "MB" => 1e6,
        "Bytes" | "B" => 1.0,
        _ => return None,
    };
    let scale: f64 = file(".scale")?.parse().ok()?;
    let event = event_from_terms(root, pmu, &file("")?)?;
    (scale.is_finite() && scale > 0.0).then_some(ByteEvent { event, bytes: scale * unit })
}

/// The event for terms like `event=0x04,umask=0x03`: `format/TERM` gives the bits of the configuration for
/// each (`config:0-7`, `config:0-7,32-35`). `None` if bits are in other fields.
fn event_from_terms(root: &Root, pmu: &str, terms: &str) -> Option<Event> {
    let kind = root.read_trimmed(format!("{FOLDER}/{pmu}/type")).ok()?.parse().ok()?;
    let mut config = 0;
    for term in terms.split(',') {
        let (name, value) = term.split_once('=').unwrap_or((term, "1"));
        let value = match value.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok()?,
            None => value.parse().ok()?,
        };
        let format = root.read_trimmed(format!("{FOLDER}/{pmu}/format/{name}")).ok()?;
        config |= spread(value, format.strip_prefix("config:")?)?;
    }
    Some(Event::from_pmu(kind, config))
}

/// The bits of `value`, lowest first, at these positions.
fn spread(value: u64, positions: &str) -> Option<u64> {
    let (mut config, mut remaining) = (0, value);
    for range in positions.split(',') {
        let (low, high) = range.split_once('-').unwrap_or((range, range));
        let (low, high): (u32, u32) = (low.parse().ok()?, high.parse().ok()?);
        if high < low || high > 63 {
            return None;
        }
        let width = high - low + 1;
        let mask = u64::MAX >> (64 - width);
        config |= (remaining & mask) << low;
        remaining = remaining.checked_shr(width).unwrap_or(0);
    }
    (remaining == 0).then_some(config)
}

impl Source for Uncore {
    fn table(&self) -> &TableInfo {
        &self.table
    }

    fn read(&mut self, rows: &mut Rows, depth: Depth) {
        if depth == Depth::Essential {
            return;
        }
        for (index, [read, write]) in self.nodes.iter_mut().enumerate() {
            rows.add(index, &[sum(read), sum(write)]);
        }
    }
}

/// Bytes of all controllers of a node; `None` if one could not be read.
fn sum(counters: &mut [DirectionCounter]) -> Option<u64> {
    counters.iter_mut().try_fold(0_u64, |sum, counter| {
        let bytes = counter.count.read().ok()? as f64 * counter.bytes;
        Some(sum.saturating_add(bytes as u64))
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn put(tree: &Path, pmu: &str, files: &[(&str, &str)]) {
        for (file, text) in files {
            let path = tree.join(format!("sys/bus/event_source/devices/{pmu}/{file}"));
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, format!("{text}\n")).unwrap();
        }
    }

    /// A tree with two nodes and a server's memory controller whose type and code are those of a software
    /// event (page faults), so that it can be opened everywhere.
    fn server() -> tempfile::TempDir {
        let tree = tempfile::tempdir().unwrap();
        put(
            tree.path(),
            "uncore_imc_0",
            &[
                ("type", "1"),
                ("cpumask", "0"),
                ("format/event", "config:0-7"),
                ("format/umask", "config:8-15"),
                ("events/cas_count_read", "event=0x02,umask=0x00"),
                ("events/cas_count_read.scale", "6.103515625e-5"),
                ("events/cas_count_read.unit", "MiB"),
                ("events/cas_count_write", "event=0x02"),
                ("events/cas_count_write.scale", "6.103515625e-5"),
                ("events/cas_count_write.unit", "MiB"),
            ],
        );
        let node = tree.path().join("sys/devices/system/node/node3");
        std::fs::create_dir_all(&node).unwrap();
        std::fs::write(node.join("cpulist"), "0-63\n").unwrap();
        tree
    }

    #[test]
    fn a_named_event_has_its_code_and_the_bytes_per_count() {
        let tree = server();
        put(tree.path(), "uncore_imc_0", &[("events/cas_count_read", "event=0x04,umask=0x03")]);
        put(
            tree.path(),
            "uncore_imc_free_running_0",
            &[
                ("type", "20"),
                ("format/event", "config:0-7"),
                ("events/read", "event=0xff"),
                ("events/read.scale", "3.8e-6"),
                ("events/read.unit", "MiB"),
            ],
        );
        let listed = controllers(&Root::at(tree.path())).unwrap();
        assert_eq!(listed.len(), 1, "events of two PMUs are counted once: {listed:?}");
        let [read, _] = listed[0].events;
        assert_eq!(read, ByteEvent { event: Event::from_pmu(1, 0x0304), bytes: 64.0 });
    }

    #[test]
    fn bytes_of_a_node_are_counts_times_bytes_per_count() {
        let tree = server();
        let mut source = match Uncore::open(&Root::at(tree.path())) {
            Ok(source) => source,
            // Unprivileged counting is not permitted.
            Err(why) => {
                assert!(why.contains("perf_event_open"), "{why}");
                return;
            }
        };
        assert_eq!(source.table.subjects, ["node3"]);
        assert_eq!(source.table.files, 2);
        let mut rows = source.rows(|| 5);
        source.read(&mut rows, Depth::Whole);
        let memory = vec![1_u8; 64 << 20];
        std::hint::black_box(&memory);
        source.read(&mut rows, Depth::Whole);
        let table = rows.table();
        for column in &table.columns {
            let [Some(before), Some(after)] = column.values[..] else {
                panic!("{column:?}");
            };
            assert!(after >= before && after % 64 == 0, "{column:?}");
        }
    }

    #[test]
    fn amd_controllers_are_supported_without_named_events() {
        let tree = tempfile::tempdir().unwrap();
        for umc in ["amd_umc_0", "amd_umc_1"] {
            put(
                tree.path(),
                umc,
                &[
                    ("type", "30"),
                    ("cpumask", "0,64"),
                    ("format/event", "config:0-7"),
                    ("format/rdwrmask", "config:8-9"),
                ],
            );
        }
        let listed = controllers(&Root::at(tree.path())).unwrap();
        assert_eq!(listed.len(), 2);
        assert_eq!(listed[1].cpus, [0, 64]);
        let codes = listed[0].events.map(|counted| counted.event);
        assert_eq!(codes, [Event::from_pmu(30, 0x10a), Event::from_pmu(30, 0x20a)]);
    }

    #[test]
    fn the_reason_lists_the_pmus_of_the_machine() {
        let tree = tempfile::tempdir().unwrap();
        put(tree.path(), "software", &[("type", "1")]);
        put(tree.path(), "msr", &[("type", "7")]);
        let why = controllers(&Root::at(tree.path())).unwrap_err();
        assert!(why.contains("this machine has msr, software"), "{why}");
        put(tree.path(), "arm_cmn_0", &[("type", "9")]);
        let why = controllers(&Root::at(tree.path())).unwrap_err();
        assert!(why.contains("arm_cmn_0") && why.contains("lists no events"), "{why}");
    }

    #[test]
    fn bits_follow_the_format_and_excess_bits_are_refused() {
        assert_eq!(spread(0x1ff, "0-7,32"), Some(0x1_0000_00ff));
        assert_eq!(spread(3, "8-9"), Some(0x300));
        assert_eq!(spread(u64::MAX, "0-63"), Some(u64::MAX));
        assert_eq!(spread(4, "8-9"), None, "three bits for two positions");
        assert_eq!(spread(1, "9-8"), None);
    }
}
