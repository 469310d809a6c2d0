//! `pages`: on which nodes the pages of each process are.
//!
//! Exact, by kind and by policy, from /proc/PID/numa_maps (numa(7)): of small processes each time, of others
//! now and then, of very large ones never, since the kernel walks all their page tables for it, 11 ms a GiB.
//! Otherwise every second an estimate from the nodes of pages drawn at random (move_pages(2)): 2400 of them
//! give each node's share within 2 points at 95 %, whatever the size of the process; fewer are sufficient if
//! most are on one node.

mod columns;
mod draw;
mod pace;

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use assay_sys::kernel::anonymous_memory::page_size;
use assay_sys::kernel::bounded_query::BoundedQueries;
use assay_sys::kernel::parse::maps;
use assay_sys::kernel::{Error, RereadFile, Root, move_pages, task};

use super::{Depth, Rows, SECOND, Source, boxed};
use crate::sample::nodes::Nodes;
use crate::sample::process_tracker::ProcessTracker;
use crate::sample::registry::{Inclusion, SourceInfo, TableInfo};
use crate::sample::target::Targets;
use columns::Columns;
use draw::{Draw, drawn};
use pace::{Pace, SMALL_BYTES};

pub(super) const INFO: SourceInfo = SourceInfo {
    name: "pages",
    inclusion: Inclusion::OnRequest,
    open: |root, targets| boxed(Pages::open(root, targets)),
};

/// Period of exact readings.
const EXACT_NS: u64 = 10_000_000_000;

/// Larger processes are only sampled: 512 MiB take 6 ms under the lock of their address space.
const EXACT_BYTES: u64 = 512 << 20;

/// Pages needed of one process.
const PAGES_DRAWN: usize = 2400;

/// Time limit for reading a memory map, which a process may keep locked; reading the largest takes 10 ms.
const PATIENCE: Duration = Duration::from_secs(2);

/// At most this many processes are followed, the largest ones.
const MOST: usize = 64;

/// Period of rereading mappings, which are also reread when the size of the address space has changed.
const MAPS_NS: u64 = 5_000_000_000;

/// Drawn pages, by node.
type DrawnPages = Result<BTreeMap<u16, u64>, Error>;

/// A followed process.
struct Process {
    subject: usize,
    statm: RereadFile,
    mapped_pages: u64,
    /// `None` while a query that did not answer holds it.
    draw: Option<Draw>,
    mapped_ns: u64,
    exact_ns: Option<u64>,
    seen: bool,
}

fn bytes_of(pages: u64) -> u64 {
    pages.saturating_mul(page_size() as u64)
}

/// The pages of all processes of the targets.
pub(super) struct Pages {
    table: TableInfo,
    root: Root,
    members: ProcessTracker,
    processes: HashMap<u32, Process>,
    columns: Columns,
    buffer: Vec<u8>,
    aside: BoundedQueries,
    refused: Option<String>,
    left_out: usize,
}

impl Pages {
    pub(super) fn open(root: &Root, targets: &Targets) -> Result<Self, String> {
        let processes = targets.processes.as_ref().map_err(Clone::clone)?;
        if processes.is_empty() {
            return Err("no group or process is followed".to_owned());
        }
        let nodes = Nodes::read(root)?;
        if !root.exists("/proc/self/numa_maps") {
            return Err("this kernel has no /proc/PID/numa_maps (CONFIG_NUMA)".to_owned());
        }
        let columns = Columns::new(nodes);
        let table = TableInfo::new(INFO.name, columns.names.clone(), Vec::new());
        Ok(Self {
            table: TableInfo { period: SECOND, ..table },
            root: root.clone(),
            members: ProcessTracker::new(root, processes),
            processes: HashMap::new(),
            columns,
            buffer: Vec::new(),
            aside: BoundedQueries::with_limit(PATIENCE),
            refused: None,
            left_out: 0,
        })
    }

    /// Finds the processes to follow.
    fn find(&mut self, rows: &mut Rows) {
        for (pid, target) in self.members.by_proc() {
            // An open file belongs to the process, not to its id.
            let buffer = &mut self.buffer;
            let known = self.processes.get_mut(&pid);
            if let Some(process) = known.filter(|one| one.statm.read_record(buffer).is_ok()) {
                process.seen = true;
                continue;
            }
            let root = self.root.clone();
            let named = self.aside.run(pid, move || {
                let text = root.read(format!("/proc/{pid}/stat")).ok()?;
                let stat = task::stat(text.as_bytes())?;
                Some((stat.started, String::from_utf8_lossy(stat.name).into_owned()))
            });
            if let Ok(Some((started, name))) = named {
                self.follow(rows, (pid, target), started, &name);
            }
        }
    }

    /// Opens a new process, or one that reuses an id.
    fn follow(
        &mut self,
        rows: &mut Rows,
        (pid, target): (u32, usize),
        started: u64,
        name: &str,
    ) -> Option<()> {
        let mut title = format!("{}:{name}:{pid}", self.members.name(target));
        if self.processes.contains_key(&pid) {
            // The id was reused; the start time distinguishes the two.
            title.push_str(&format!("#{started}"));
        }
        let process = Process {
            subject: rows.subject(&title),
            statm: self.root.open_reread(format!("/proc/{pid}/statm")).ok()?,
            mapped_pages: 0,
            draw: Some(Draw::new(pid)),
            mapped_ns: 0,
            exact_ns: None,
            seen: true,
        };
        self.processes.insert(pid, process);
        Some(())
    }

    /// Address space and resident pages of the followed processes, the largest first.
    fn sizes(&mut self) -> Vec<(u64, u64, u32)> {
        let mut sizes = Vec::new();
        for (pid, process) in &self.processes {
            let Ok(text) = process.statm.read_record(&mut self.buffer) else { continue };
            // A process that is ending has no memory any more.
            if let Some([mapped, resident]) = assay_sys::kernel::counters::fields::<2>(text, "")
                && resident > 0
            {
                sizes.push((resident, mapped, *pid));
            }
        }
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        self.left_out = self.left_out.max(sizes.len().saturating_sub(MOST));
        sizes.truncate(MOST);
        sizes
    }

    fn add_row(&mut self, rows: &mut Rows, pid: u32, size: (u64, u64), pace: &Pace) -> Option<()> {
        let (resident, mapped) = size;
        let now = rows.now();
        let process = self.processes.get_mut(&pid)?;
        let bytes = bytes_of(resident);
        let is_small = bytes <= SMALL_BYTES;
        let period = if is_small { pace.small_ns } else { EXACT_NS };
        let exact = process.exact_ns.is_none_or(|last| now + 500_000_000 >= last + period);
        let subject = process.subject;
        if is_small && !exact {
            return Some(());
        }
        let root = self.root.clone();
        if exact && bytes <= EXACT_BYTES {
            process.exact_ns = Some(now);
            let text = self.aside.run(pid, move || root.read(format!("/proc/{pid}/numa_maps")));
            // `reasons` explains a missing answer; a process that has ended has no maps.
            if let Ok(Ok(text)) = text {
                rows.add_at(now, subject, &self.columns.exact(bytes, &text));
            }
            return Some(());
        }
        let stale = now >= process.mapped_ns + MAPS_NS || mapped != process.mapped_pages;
        let (draw, tries) = (process.draw.take()?, pace.tries);
        let answer = self.aside.run(pid, move || draw_of(&root, pid, draw, stale, tries));
        let (draw, drawn_pages) = match answer {
            Ok(answer) => answer,
            Err(why) => {
                self.refused = Some(why);
                return None;
            }
        };
        process.draw = Some(draw);
        let drawn_pages = drawn_pages?;
        if stale {
            (process.mapped_ns, process.mapped_pages) = (now, mapped);
        }
        match drawn_pages {
            Ok(drawn_pages) => {
                rows.add_at(now, subject, &self.columns.estimated(bytes, &drawn_pages));
            }
            Err(error) => self.refused = Some(error.to_string().replace('\n', ";")),
        }
        Some(())
    }
}

/// Draws pages of a process, after rereading its mappings if they are `stale`; `None` if it has ended.
/// Returns the draw.
fn draw_of(
    root: &Root,
    pid: u32,
    mut draw: Draw,
    stale: bool,
    tries: usize,
) -> (Draw, Option<DrawnPages>) {
    if stale {
        let Ok(text) = root.read(format!("/proc/{pid}/maps")) else { return (draw, None) };
        draw.set(maps::ranges(&text));
    }
    move_pages::await_lock(root, pid);
    let pages_by_node = drawn(&mut draw, PAGES_DRAWN, tries, |addresses, nodes| {
        move_pages::query(pid, addresses, nodes)
    });
    (draw, Some(pages_by_node))
}

impl Source for Pages {
    fn table(&self) -> &TableInfo {
        &self.table
    }

    fn reasons(&self) -> Vec<(String, String)> {
        let mut reasons = Vec::new();
        if let Some(why) = &self.refused {
            reasons.push(("pages.sampled_pages".to_owned(), why.clone()));
        }
        if let Some(why) = self.aside.unresponsive() {
            reasons.push(("pages.locked".to_owned(), why));
        }
        if self.left_out > 0 {
            let text = format!("only the {MOST} largest processes; {} were not", self.left_out);
            reasons.push(("pages.beyond".to_owned(), text));
        }
        reasons
    }

    fn helper_thread_ns(&self) -> u64 {
        self.aside.spent_ns()
    }

    fn read(&mut self, rows: &mut Rows, _: Depth) {
        for process in self.processes.values_mut() {
            process.seen = false;
        }
        self.find(rows);
        self.processes.retain(|_, process| process.seen);
        let sizes = self.sizes();
        let pace = Pace::from_sizes(&sizes);
        for (resident, mapped, pid) in sizes {
            self.add_row(rows, pid, (resident, mapped), &pace);
        }
    }
}
