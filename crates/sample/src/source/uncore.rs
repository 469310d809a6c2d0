//! `uncore`: what memory controllers read and write, by node, where the machine has a PMU that counts
//! it (Documentation/ABI/testing/sysfs-bus-event_source-devices-format and -events). A driver names
//! its events, their codes, and the bytes that one count stands for, in sysfs; only AMD's memory
//! controllers have a driver without names, and codes that are the same since Zen 4.

use std::time::Duration;

use assay_kernel::Root;
use assay_kernel::event_counts::{Event, EventCount};
use assay_units::CpuSet;

use super::{Depth, Rows, SECOND, Source, names};
use crate::nodes::Nodes;

const FOLDER: &str = "/sys/bus/event_source/devices";

/// Reading and writing, as drivers name them: Intel's servers, its free-running counters, its
/// clients. The first pair that any PMU has is used, of all PMUs that have it: what is counted at two
/// places is not added up.
const NAMED: [[&str; 2]; 4] = [
    ["cas_count_read", "cas_count_write"],
    ["data_reads", "data_writes"],
    ["data_read", "data_write"],
    ["read", "write"],
];

/// The same of `amd_umc_*`, whose driver (6.10) names none: CAS commands of 64 bytes, of which
/// `rdwrmask` tells those that read from those that write (AMD's processor programming references of
/// Zen 4 and 5).
const UMC: [&str; 2] = ["event=0x0a,rdwrmask=0x1", "event=0x0a,rdwrmask=0x2"];
const CAS_BYTES: f64 = 64.0;

/// Beginnings of the names of PMUs that see memory traffic.
const MEMORY: [&str; 7] =
    ["uncore_imc", "amd_umc", "amd_df", "arm_cmn", "arm_dmc", "hisi_sccl", "nvidia_scf"];

/// Its columns, for the reference: only a machine with such counters opens the source.
pub const COLUMNS: [&str; 2] = ["read_bytes", "write_bytes"];

/// An event with what one count stands for.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Counted {
    event: Event,
    bytes: f64,
}

/// A controller: the CPUs that answer for it, and what it reads and writes.
#[derive(Debug, Clone, PartialEq)]
struct Controller {
    cpus: Vec<u16>,
    events: [Counted; 2],
}

/// One direction of one controller.
struct Lane {
    count: EventCount,
    bytes: f64,
}

/// Bytes by node.
pub(super) struct Uncore {
    /// `node0`, with the lanes of both columns.
    nodes: Vec<(String, [Vec<Lane>; 2])>,
    columns: Vec<String>,
}

impl Uncore {
    pub(super) fn open(root: &Root) -> Result<Self, String> {
        let of = Nodes::read(root).unwrap_or_default();
        let mut nodes: Vec<(String, [Vec<Lane>; 2])> = Vec::new();
        for controller in controllers(root)? {
            for cpu in controller.cpus {
                // A kernel without NUMA is one node.
                let name = format!("node{}", of.of_cpu(cpu).unwrap_or(0));
                let [read, write] = controller.events.map(|counted| lane(counted, cpu));
                let lanes = [read?, write?];
                let known = nodes.iter().position(|(known, _)| *known == name);
                let at = known.unwrap_or_else(|| {
                    nodes.push((name, [Vec::new(), Vec::new()]));
                    nodes.len() - 1
                });
                for (all, lane) in nodes[at].1.iter_mut().zip(lanes) {
                    all.push(lane);
                }
            }
        }
        nodes.sort_by(|one, other| one.0.cmp(&other.0));
        Ok(Self { nodes, columns: names(&COLUMNS) })
    }
}

fn lane(counted: Counted, cpu: u16) -> Result<Lane, String> {
    let count = EventCount::of_everybody(counted.event, &[cpu]);
    Ok(Lane { count: count.map_err(|error| error.to_string())?, bytes: counted.bytes })
}

/// All controllers that count what they read and write; else what the machine has instead.
fn controllers(root: &Root) -> Result<Vec<Controller>, String> {
    let mut pmus = root.list(FOLDER).map_err(|error| error.to_string())?;
    pmus.sort();
    for [read, write] in NAMED {
        let with = |pmu: &String| {
            let event = |name| named(root, pmu, name);
            Some(Controller { cpus: cpus(root, pmu), events: [event(read)?, event(write)?] })
        };
        let imc = pmus.iter().filter(|pmu| MEMORY.iter().any(|known| pmu.starts_with(known)));
        let found: Vec<Controller> = imc.filter_map(with).collect();
        if !found.is_empty() {
            return Ok(found);
        }
    }
    let umc = pmus.iter().filter(|pmu| pmu.starts_with("amd_umc"));
    let with = |pmu: &String| {
        let event = |terms| Some(Counted { event: coded(root, pmu, terms)?, bytes: CAS_BYTES });
        Some(Controller { cpus: cpus(root, pmu), events: [event(UMC[0])?, event(UMC[1])?] })
    };
    let found: Vec<Controller> = umc.filter_map(with).collect();
    if found.is_empty() { Err(why_none(&pmus)) } else { Ok(found) }
}

/// Why nothing counts memory traffic, with the PMUs that there are.
fn why_none(pmus: &[String]) -> String {
    let sees = |pmu: &&String| MEMORY.iter().any(|known| pmu.starts_with(known));
    let seeing: Vec<&str> = pmus.iter().filter(sees).map(String::as_str).collect();
    if seeing.is_empty() {
        return format!(
            "no PMU of a memory controller (uncore_imc, amd_umc); this machine has {}, as most \
             virtual machines",
            if pmus.is_empty() { "none".to_owned() } else { pmus.join(", ") }
        );
    }
    format!(
        "{} count memory traffic, but their driver names no events for what is read and written",
        seeing.join(", ")
    )
}

/// The CPUs that the driver wants a PMU to be asked on: one a socket, or one a die.
fn cpus(root: &Root, pmu: &str) -> Vec<u16> {
    let text = root.read_trimmed(format!("{FOLDER}/{pmu}/cpumask")).unwrap_or_default();
    let cpus: Vec<u16> = text.parse::<CpuSet>().unwrap_or_default().iter().collect();
    if cpus.is_empty() { vec![0] } else { cpus }
}

/// An event that has a name, with its `.scale` in its `.unit`.
fn named(root: &Root, pmu: &str, name: &str) -> Option<Counted> {
    let file = |end: &str| root.read_trimmed(format!("{FOLDER}/{pmu}/events/{name}{end}")).ok();
    let unit = match file(".unit")?.as_str() {
        "MiB" => 1_048_576.0,
        "MB" => 1e6,
        "Bytes" | "B" => 1.0,
        _ => return None,
    };
    let scale: f64 = file(".scale")?.parse().ok()?;
    let event = coded(root, pmu, &file("")?)?;
    (scale.is_finite() && scale > 0.0).then_some(Counted { event, bytes: scale * unit })
}

/// The event that terms like `event=0x04,umask=0x03` stand for: `format/TERM` says which bits of the
/// configuration each of them has (`config:0-7`, `config:0-7,32-35`). None with bits elsewhere.
fn coded(root: &Root, pmu: &str, terms: &str) -> Option<Event> {
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
    Some(Event::of_pmu(kind, config))
}

/// The bits of `value`, lowest first, at these places.
fn spread(value: u64, places: &str) -> Option<u64> {
    let (mut config, mut left) = (0, value);
    for range in places.split(',') {
        let (low, high) = range.split_once('-').unwrap_or((range, range));
        let (low, high): (u32, u32) = (low.parse().ok()?, high.parse().ok()?);
        if high < low || high > 63 {
            return None;
        }
        let width = high - low + 1;
        let mask = u64::MAX >> (64 - width);
        config |= (left & mask) << low;
        left = left.checked_shr(width).unwrap_or(0);
    }
    (left == 0).then_some(config)
}

impl Source for Uncore {
    fn name(&self) -> &'static str {
        "uncore"
    }

    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn subjects(&self) -> Vec<String> {
        self.nodes.iter().map(|(name, _)| name.clone()).collect()
    }

    fn files(&self) -> usize {
        self.nodes.iter().flat_map(|(_, lanes)| lanes).map(Vec::len).sum()
    }

    fn period(&self) -> Duration {
        SECOND
    }

    fn read(&mut self, rows: &mut Rows, depth: Depth) {
        if depth == Depth::Essential {
            return;
        }
        for (index, (_, lanes)) in self.nodes.iter_mut().enumerate() {
            let [read, write] = lanes;
            rows.add(index, &[sum(read), sum(write)]);
        }
    }
}

/// Bytes of all controllers of a node; `None` where one could not be read.
fn sum(lanes: &mut [Lane]) -> Option<u64> {
    lanes.iter_mut().try_fold(0_u64, |sum, lane| {
        let bytes = lane.count.read().ok()? as f64 * lane.bytes;
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

    /// Two nodes, and a server's memory controller whose type and code are those of an event that
    /// the kernel counts itself (page faults), so that it can be opened everywhere.
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
    fn an_event_by_name_has_its_code_and_the_bytes_of_a_count() {
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
        let found = controllers(&Root::at(tree.path())).unwrap();
        assert_eq!(found.len(), 1, "what two PMUs count is counted once: {found:?}");
        let [read, _] = found[0].events;
        assert_eq!(read, Counted { event: Event::of_pmu(1, 0x0304), bytes: 64.0 });
    }

    #[test]
    fn bytes_of_a_node_are_counts_times_the_bytes_of_one() {
        let tree = server();
        let mut source = match Uncore::open(&Root::at(tree.path())) {
            Ok(source) => source,
            // A kernel that lets nobody count.
            Err(why) => {
                assert!(why.contains("perf_event_open"), "{why}");
                return;
            }
        };
        assert_eq!(source.subjects(), ["node3"]);
        assert_eq!(source.files(), 2);
        let mut rows = Rows::new(&source, || 5);
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
    fn controllers_of_amd_have_no_names_and_are_known() {
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
        let found = controllers(&Root::at(tree.path())).unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!(found[1].cpus, [0, 64]);
        let codes = found[0].events.map(|counted| counted.event);
        assert_eq!(codes, [Event::of_pmu(30, 0x10a), Event::of_pmu(30, 0x20a)]);
    }

    #[test]
    fn a_machine_without_says_which_pmus_it_has_instead() {
        let tree = tempfile::tempdir().unwrap();
        put(tree.path(), "software", &[("type", "1")]);
        put(tree.path(), "msr", &[("type", "7")]);
        let why = controllers(&Root::at(tree.path())).unwrap_err();
        assert!(why.contains("this machine has msr, software"), "{why}");
        put(tree.path(), "arm_cmn_0", &[("type", "9")]);
        let why = controllers(&Root::at(tree.path())).unwrap_err();
        assert!(why.contains("arm_cmn_0") && why.contains("names no events"), "{why}");
    }

    #[test]
    fn bits_go_where_the_format_puts_them_and_what_does_not_fit_is_refused() {
        assert_eq!(spread(0x1ff, "0-7,32"), Some(0x1_0000_00ff));
        assert_eq!(spread(3, "8-9"), Some(0x300));
        assert_eq!(spread(u64::MAX, "0-63"), Some(u64::MAX));
        assert_eq!(spread(4, "8-9"), None, "three bits in two places");
        assert_eq!(spread(1, "9-8"), None);
    }
}
