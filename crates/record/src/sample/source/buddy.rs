//! `buddyinfo` and `pagetypeinfo`: free blocks of each order, by zone and by migrate type, and how usable
//! they are for a huge page (Documentation/filesystems/proc.rst).
//!
//! pagetypeinfo is read rarely, and only on request: the kernel counts all free blocks one by one under the
//! lock of the zone, which blocks allocations there. It took 0.3 ms here with little memory free, and 33 ms
//! with 14 GiB free.

use std::time::Duration;

use assay_sys::kernel::anonymous_memory::page_size;
use assay_sys::kernel::parse::buddy::{Blocks, ORDERS, blocks};
use assay_sys::kernel::{RereadFile, Root};

use super::{Depth, Rows, SECOND, Source, boxed, keep};
use crate::sample::registry::{Inclusion, SourceInfo, TableInfo};

pub(super) const BUDDYINFO_INFO: SourceInfo = SourceInfo {
    name: "buddyinfo",
    inclusion: Inclusion::Always,
    open: |root, _| boxed(Buddy::open(root, "buddyinfo", SECOND)),
};

pub(super) const PAGETYPEINFO_INFO: SourceInfo = SourceInfo {
    name: "pagetypeinfo",
    inclusion: Inclusion::ByNameOnly,
    open: |root, _| boxed(Buddy::open(root, "pagetypeinfo", RARELY)),
};

/// Period of pagetypeinfo.
const RARELY: Duration = Duration::from_secs(10);

/// The order of a huge page if the kernel does not report it: 2 MiB of 4 KiB pages.
const HUGE: usize = 9;

/// One of the two files.
pub(super) struct Buddy {
    table: TableInfo,
    file: RereadFile,
    huge: usize,
    buffer: Vec<u8>,
}

impl Buddy {
    fn open(root: &Root, name: &'static str, period: Duration) -> Result<Self, String> {
        let path = format!("/proc/{name}");
        let file = keep(root, &path)?;
        let mut buffer = Vec::new();
        let text = file.read(&mut buffer).map_err(|cause| format!("reading {path}: {cause}"))?;
        let subjects: Vec<String> = blocks(text).map(|blocks| subject(&blocks)).collect();
        if subjects.is_empty() {
            return Err(format!("{path} lists no zone"));
        }
        let mut columns: Vec<String> = (0..ORDERS).map(|order| format!("free_{order}")).collect();
        columns.extend(DERIVED.map(str::to_owned));
        let table = TableInfo { files: 1, period, ..TableInfo::new(name, columns, subjects) };
        Ok(Self { table, file, huge: huge_order(root), buffer })
    }
}

/// Columns after the free blocks of each order.
pub(crate) const DERIVED: [&str; 3] = ["free_pages", "unusable_permille", "fragmentation_permille"];

/// The order of a transparent huge page.
fn huge_order(root: &Root) -> usize {
    let path = "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size";
    let size = root.read_trimmed(path).ok().and_then(|text| text.parse::<usize>().ok());
    size.map_or(HUGE, |size| (size / page_size()).max(1).ilog2() as usize)
}

/// `node0/Normal`, followed by `/Movable` for a migrate type.
fn subject(blocks: &Blocks<'_>) -> String {
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    let zone = format!("node{}/{}", blocks.node, text(blocks.zone));
    if blocks.kind.is_empty() { zone } else { format!("{zone}/{}", text(blocks.kind)) }
}

/// Whether a line describes this subject; compares without allocating.
fn is_about(blocks: &Blocks<'_>, subject: &str) -> bool {
    let mut parts = subject.split('/');
    let node = parts.next().and_then(|part| part.strip_prefix("node")?.parse().ok());
    node == Some(blocks.node)
        && parts.next().map(str::as_bytes) == Some(blocks.zone)
        && parts.next().unwrap_or_default().as_bytes() == blocks.kind
}

impl Source for Buddy {
    fn table(&self) -> &TableInfo {
        &self.table
    }

    fn read(&mut self, rows: &mut Rows, _: Depth) {
        let now = rows.now();
        let Ok(text) = self.file.read(&mut self.buffer) else { return };
        for (index, line) in blocks(text).enumerate() {
            // Zones have the same order in every read; zones that appear later are not followed.
            let subject = self.table.subjects.get(index);
            if !subject.is_some_and(|subject| is_about(&line, subject)) {
                continue;
            }
            let mut values = [None; ORDERS + DERIVED.len()];
            for (value, free) in values.iter_mut().zip(line.free) {
                *value = Some(free);
            }
            values[ORDERS] = Some(line.pages());
            values[ORDERS + 1] = line.unusable_permille(self.huge);
            values[ORDERS + 2] = line.fragmentation_permille(self.huge);
            rows.add_at(now, index, &values);
        }
    }
}
