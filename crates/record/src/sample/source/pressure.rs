//! `pressure`: how long tasks waited for CPU, memory and I/O
//! (Documentation/accounting/psi.rst), of the host and, on cgroup v2, of each group.

use assay_sys::kernel::counters::pressure;
use assay_sys::kernel::{RereadFile, Root};

use super::{Depth, Rows, Source, boxed, names};
use crate::sample::registry::{Inclusion, SourceInfo};
use crate::sample::target::Targets;

pub(super) const INFO: SourceInfo = SourceInfo {
    name: "pressure",
    inclusion: Inclusion::Always,
    open: |root, targets| boxed(Pressure::open(root, targets)),
};

const RESOURCES: [&str; 3] = ["cpu", "io", "memory"];

/// Pressure of the host and of groups.
pub(super) struct Pressure {
    subjects: Vec<(String, [RereadFile; 3])>,
    columns: Vec<String>,
    buffer: Vec<u8>,
}

impl Pressure {
    pub(super) fn open(root: &Root, targets: &Targets) -> Result<Self, String> {
        let open = |path: &dyn Fn(&str) -> String| -> Result<[RereadFile; 3], String> {
            let keep = |resource: &str| -> Result<RereadFile, String> {
                let file = root.open_reread(path(resource)).map_err(|error| error.to_string())?;
                // A kernel booted without psi=1 shows the file and refuses to be read.
                file.read(&mut Vec::new())
                    .map_err(|cause| format!("reading {} failed: {cause}", path(resource)))?;
                Ok(file)
            };
            let [cpu, io, memory] = RESOURCES;
            Ok([keep(cpu)?, keep(io)?, keep(memory)?])
        };
        let host = open(&|resource| format!("/proc/pressure/{resource}"))?;
        let mut subjects = vec![("host".to_owned(), host)];
        for group in &targets.groups {
            let Some(directory) = &group.pressure else { continue };
            let file = |resource: &str| format!("{}/{resource}.pressure", directory.display());
            subjects.push((group.name.clone(), open(&file)?));
        }
        let columns = names(&[
            "cpu_some_us",
            "cpu_full_us",
            "io_some_us",
            "io_full_us",
            "memory_some_us",
            "memory_full_us",
        ]);
        Ok(Self { subjects, columns, buffer: Vec::new() })
    }
}

impl Source for Pressure {
    fn name(&self) -> &'static str {
        INFO.name
    }

    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn subjects(&self) -> Vec<String> {
        self.subjects.iter().map(|(name, _)| name.clone()).collect()
    }

    fn files(&self) -> usize {
        self.subjects.len() * RESOURCES.len()
    }

    fn read(&mut self, rows: &mut Rows, depth: Depth) {
        // The host comes first and is always read.
        let many = if depth == Depth::Essential { 1 } else { self.subjects.len() };
        for (index, (_, files)) in self.subjects.iter().take(many).enumerate() {
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
