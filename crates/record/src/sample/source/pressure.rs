//! `pressure`: how long tasks waited for CPU, memory and I/O
//! (Documentation/accounting/psi.rst), of the host and, on cgroup v2, of each group.

use assay_sys::kernel::counters::pressure;
use assay_sys::kernel::{RereadFile, Root};

use super::{Depth, Rows, Source, boxed, keep, names};
use crate::sample::registry::{Inclusion, SourceInfo, TableInfo};
use crate::sample::target::Targets;

pub(super) const INFO: SourceInfo = SourceInfo {
    name: "pressure",
    inclusion: Inclusion::Always,
    open: |root, targets| boxed(Pressure::open(root, targets)),
};

const RESOURCES: [&str; 3] = ["cpu", "io", "memory"];

/// Pressure of the host and of groups.
pub(super) struct Pressure {
    table: TableInfo,
    files: Vec<[RereadFile; 3]>,
    buffer: Vec<u8>,
}

impl Pressure {
    pub(super) fn open(root: &Root, targets: &Targets) -> Result<Self, String> {
        let open = |path: &dyn Fn(&str) -> String| -> Result<[RereadFile; 3], String> {
            let readable = |resource: &str| -> Result<RereadFile, String> {
                let file = keep(root, path(resource))?;
                // A kernel booted without psi=1 shows the file and refuses to be read.
                file.read(&mut Vec::new())
                    .map_err(|cause| format!("reading {} failed: {cause}", path(resource)))?;
                Ok(file)
            };
            let [cpu, io, memory] = RESOURCES;
            Ok([readable(cpu)?, readable(io)?, readable(memory)?])
        };
        let host = open(&|resource| format!("/proc/pressure/{resource}"))?;
        let (mut subjects, mut files) = (names(&["host"]), vec![host]);
        for group in &targets.groups {
            let Some(directory) = &group.pressure else { continue };
            let file = |resource: &str| format!("{}/{resource}.pressure", directory.display());
            subjects.push(group.name.clone());
            files.push(open(&file)?);
        }
        let columns = names(&[
            "cpu_some_us",
            "cpu_full_us",
            "io_some_us",
            "io_full_us",
            "memory_some_us",
            "memory_full_us",
        ]);
        let table = TableInfo::new(INFO.name, columns, subjects);
        let table = TableInfo { files: files.len() * RESOURCES.len(), ..table };
        Ok(Self { table, files, buffer: Vec::new() })
    }
}

impl Source for Pressure {
    fn table(&self) -> &TableInfo {
        &self.table
    }

    fn read(&mut self, rows: &mut Rows, depth: Depth) {
        // The host comes first and is always read.
        let many = if depth == Depth::Essential { 1 } else { self.files.len() };
        for (index, files) in self.files.iter().take(many).enumerate() {
            let mut values = [None; 6];
            for (file, pair) in files.iter().zip(values.chunks_mut(2)) {
                if let Ok(text) = file.read_record(&mut self.buffer) {
                    pair[0] = pressure(text, "some");
                    pair[1] = pressure(text, "full");
                }
            }
            rows.add(index, &values);
        }
    }
}
