//! `perf`: performance counters of the CPU, on each node for all processes and for each group
//! (perf_event_open(2)). Most virtual machines have none.

use assay_sys::kernel::event_counts::{Event, EventCount};
use assay_sys::kernel::{Root, hardware_counters};

use super::{Depth, Rows, SECOND, Source, boxed};
use crate::sample::nodes::Nodes;
use crate::sample::registry::{Inclusion, SourceInfo, TableInfo};
use crate::sample::target::Targets;

pub(super) const INFO: SourceInfo = SourceInfo {
    name: "perf",
    inclusion: Inclusion::OnRequest,
    open: |root, targets| boxed(Perf::open(root, targets)),
};

/// Counted events, by column.
const EVENTS: [(&str, Event); 4] = [
    ("cycles", Event::CYCLES),
    ("instructions", Event::INSTRUCTIONS),
    ("llc_references", Event::CACHE_REFERENCES),
    ("llc_misses", Event::CACHE_MISSES),
];

/// Names of the columns, for the reference document: only a machine with counters can open the source.
pub const COLUMNS: [&str; 4] = [EVENTS[0].0, EVENTS[1].0, EVENTS[2].0, EVENTS[3].0];

/// Each event takes a descriptor for each CPU and group; if this limit is exceeded, the groups are left out
/// and the nodes remain.
const MOST_DESCRIPTORS: usize = 4096;

/// Hardware counters by node.
pub(super) struct Perf {
    /// Its subjects are `host@node0`, `GROUP@node1`.
    table: TableInfo,
    counts: Vec<Vec<EventCount>>,
    values: Vec<Option<u64>>,
    reasons: Vec<(String, String)>,
}

impl Perf {
    pub(super) fn open(root: &Root, targets: &Targets) -> Result<Self, String> {
        hardware_counters::pmu()?;
        Self::with(root, targets, &EVENTS)
    }

    fn with(root: &Root, targets: &Targets, events: &[(&str, Event)]) -> Result<Self, String> {
        let cpus_of_nodes = cpus_by_node(root)?;
        let mut subjects = Vec::new();
        for (node, cpus) in &cpus_of_nodes {
            let open = |(_, event): &(&str, Event)| EventCount::system_wide(*event, cpus);
            let counts = events.iter().map(open).collect::<Result<_, _>>();
            subjects.push((format!("host@node{node}"), counts.map_err(|error| error.to_string())?));
        }
        let mut reasons = Vec::new();
        match groups(root, targets, events, &cpus_of_nodes) {
            Ok(groups) => subjects.extend(groups),
            Err(why) => reasons.push(("perf.groups".to_owned(), why)),
        }
        let columns: Vec<String> = events.iter().map(|(name, _)| (*name).to_owned()).collect();
        let (subjects, counts): (_, Vec<Vec<EventCount>>) = subjects.into_iter().unzip();
        let files = counts.iter().flatten().map(EventCount::descriptors).sum();
        let values = vec![None; columns.len()];
        let table = TableInfo::new(INFO.name, columns, subjects);
        Ok(Self { table: TableInfo { files, period: SECOND, ..table }, counts, values, reasons })
    }
}

/// The CPUs of each node that has any.
fn cpus_by_node(root: &Root) -> Result<Vec<(u16, Vec<u16>)>, String> {
    let nodes = Nodes::read(root)?;
    let with_cpus = |node| (node, nodes.cpus(node).collect::<Vec<u16>>());
    Ok(nodes.ids().map(with_cpus).filter(|(_, cpus)| !cpus.is_empty()).collect())
}

/// The counters of all groups; a reason for all of them if one cannot be counted.
fn groups(
    root: &Root,
    targets: &Targets,
    events: &[(&str, Event)],
    cpus_of_nodes: &[(u16, Vec<u16>)],
) -> Result<Vec<(String, Vec<EventCount>)>, String> {
    let cpus: usize = cpus_of_nodes.iter().map(|(_, cpus)| cpus.len()).sum();
    let descriptors = targets.groups.len() * cpus * events.len();
    if descriptors > MOST_DESCRIPTORS {
        return Err(format!(
            "{} groups on {cpus} CPUs would take {descriptors} descriptors, more than {MOST_DESCRIPTORS}",
            targets.groups.len()
        ));
    }
    let mut counts_by_node = Vec::new();
    for group in &targets.groups {
        let directory = group.pressure.as_ref().ok_or_else(|| {
            format!(
                "`{}` has no directory on cgroup v2, by which perf identifies groups",
                group.name
            )
        })?;
        for (node, cpus) in cpus_of_nodes {
            let open =
                |(_, event): &(&str, Event)| EventCount::for_group(root, *event, directory, cpus);
            let counts = events.iter().map(open).collect::<Result<_, _>>();
            let counts = counts.map_err(|error| error.to_string())?;
            counts_by_node.push((format!("{}@node{node}", group.name), counts));
        }
    }
    Ok(counts_by_node)
}

impl Source for Perf {
    fn table(&self) -> &TableInfo {
        &self.table
    }

    fn reasons(&self) -> Vec<(String, String)> {
        self.reasons.clone()
    }

    fn read(&mut self, rows: &mut Rows, depth: Depth) {
        if depth == Depth::Essential {
            return;
        }
        for (index, counts) in self.counts.iter_mut().enumerate() {
            for (value, count) in self.values.iter_mut().zip(counts) {
                *value = count.read().ok();
            }
            rows.add(index, &self.values);
        }
    }
}

#[cfg(test)]
mod tests {
    use assay_sys::kernel::clock::monotonic_ns;

    use super::*;
    use crate::sample::target::GroupTarget;

    /// Software events, so that machines without a PMU can be tested.
    const SOFTWARE: [(&str, Event); 2] =
        [("page_faults", Event::PAGE_FAULTS), ("context_switches", Event::CONTEXT_SWITCHES)];

    fn fault_pages(count: usize) {
        let mut memory = vec![0_u8; count * 4096];
        for page in memory.chunks_mut(4096) {
            page[0] = 1;
        }
        std::hint::black_box(&memory);
    }

    #[test]
    fn counts_of_a_node_grow_with_its_activity() {
        let mut perf = match Perf::with(&Root::real(), &Targets::default(), &SOFTWARE) {
            Ok(perf) => perf,
            Err(why) => {
                assert!(why.contains("perf_event_open") || why.contains("CONFIG_NUMA"), "{why}");
                return;
            }
        };
        let mut rows = perf.rows(monotonic_ns);
        perf.read(&mut rows, Depth::Whole);
        fault_pages(4000);
        perf.read(&mut rows, Depth::Whole);
        let table = rows.table();
        let faults = |first: bool| -> u64 {
            let nodes = perf.counts.len();
            let skip = if first { 0 } else { nodes };
            table.columns[0].values.iter().skip(skip).take(nodes).flatten().sum()
        };
        // With huge pages one fault may serve many of them.
        assert!(faults(false) > faults(true), "{table:?}");
        assert!(table.subjects.iter().all(|name| name.starts_with("host@node")));
    }

    #[test]
    fn groups_without_a_directory_on_v2_are_left_out_with_the_reason() {
        let none = "not requested".to_owned();
        let group = GroupTarget {
            name: "task1".to_owned(),
            io: Err(none.clone()),
            cpu: Err(none.clone()),
            pressure: None,
            memory: Err(none),
        };
        let targets = Targets { groups: vec![group], ..Targets::default() };
        let why = groups(&Root::real(), &targets, &SOFTWARE, &[(0, vec![0])]).unwrap_err();
        assert!(why.contains("`task1`") && why.contains("cgroup v2"), "{why}");
        let many = Targets { groups: vec![targets.groups[0].clone(); 600], ..Targets::default() };
        let why = groups(&Root::real(), &many, &SOFTWARE, &[(0, (0..8).collect())]).unwrap_err();
        assert!(why.contains("9600 descriptors"), "{why}");
    }
}
