//! Predicted memory and disk space of a run, known before anything is created.

use std::collections::BTreeMap;
use std::path::PathBuf;

use assay_sys::kernel::filesystem;
use serde_json::{Value, json};

use super::workload::Workload;
use crate::failure::Failure;
use crate::footprint::{Footprint, Phase, format_bytes};
use crate::output::Reporter;

/// Touched part of a thread's stack, and its table of files.
const THREAD_BYTES: u64 = 28 << 10;
/// Memory of a line's statistics, and of a histogram.
const LINE_BYTES: u64 = 40;
const HISTOGRAM_BYTES: u64 = 512;
/// Memory of an entry: its node, path offset, open count and busy flag.
const ENTRY_BYTES: u64 = 16 + 8 + 5;
/// A path component with its slash.
const COMPONENT_BYTES: f64 = 9.0;
/// Program code and data touched only during the run.
const PROGRAM_BYTES: u64 = 512 << 10;
/// A file takes whole blocks, an inode, and its part of a directory.
const BLOCK_BYTES: f64 = 4096.0;
const INODE_BYTES: f64 = 256.0 + 24.0;

/// Predicted memory.
pub(super) fn footprint(workload: &Workload) -> Footprint {
    let entries: f64 = workload
        .sets
        .iter()
        .map(|set| {
            let count = (set.entries + set.leafdirs) as f64;
            // A width below 2 has one level.
            let width = set.width.mean();
            let depth = if width < 2.0 { 1.0 } else { (count.ln() / width.ln()).max(1.0) };
            count * (ENTRY_BYTES as f64 + COMPONENT_BYTES * (depth + 1.0) + 1.0)
        })
        .sum();
    let line = if workload.histogram { LINE_BYTES + HISTOGRAM_BYTES } else { LINE_BYTES };
    let parts = vec![
        ("buffers of threads", workload.buffers()),
        ("file sets", entries as u64),
        ("threads", workload.thread_count() * THREAD_BYTES + workload.counters() * line),
        ("program", PROGRAM_BYTES),
    ];
    Footprint::new(vec![Phase { name: "run", parts }])
}

/// Predicted bytes on disk by directory, before the run begins to change them.
fn storage(workload: &Workload) -> BTreeMap<PathBuf, u64> {
    let mut by_path = BTreeMap::new();
    for set in &workload.sets {
        let files = set.entries as f64 * set.prealloc as f64 / 100.0;
        // The last block is half empty on average.
        let room = set.bytes()
            + files * (BLOCK_BYTES / 2.0 + INODE_BYTES)
            + set.leafdirs as f64 * BLOCK_BYTES;
        *by_path.entry(set.path.clone()).or_insert(0) += room as u64;
    }
    by_path
}

/// `[{ "path", "predicted_bytes", "free_bytes" }]`
pub(super) fn storage_json(workload: &Workload) -> Value {
    storage(workload)
        .iter()
        .map(|(path, bytes)| {
            let free = match filesystem::free_space(path) {
                Ok(free) => json!(free),
                Err(error) => json!({ "not_available": error.to_string() }),
            };
            json!({ "path": path.display().to_string(), "predicted_bytes": bytes, "free_bytes": free })
        })
        .collect()
}

/// Refuses file sets that do not fit on the disk, and missing directories.
pub(super) fn check_storage(
    workload: &Workload,
    anyway: bool,
    reporter: &dyn Reporter,
) -> Result<(), Failure> {
    for (path, needed) in storage(workload) {
        if !path.is_dir() {
            return Err(Failure::Unable {
                what: format!("the directory {} does not exist", path.display()),
                remedy: "create it, or choose another one with --set dir=...".to_owned(),
            });
        }
        let free = filesystem::free_space(&path)?;
        let place = path.display();
        reporter.line(&format!(
            "disk: {} predicted in {place}, {} free",
            format_bytes(needed),
            format_bytes(free)
        ));
        if free < needed && !anyway {
            return Err(Failure::Unable {
                what: format!(
                    "the file sets take {} in {place}, where {} are free",
                    format_bytes(needed),
                    format_bytes(free)
                ),
                remedy: "free space, reduce $nfiles or the sizes, choose another directory with \
                         --set dir=..., or start it all the same with --anyway"
                    .to_owned(),
            });
        }
    }
    Ok(())
}
