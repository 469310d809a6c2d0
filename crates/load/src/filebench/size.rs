//! What a run will take: memory, and room on the disk, both known before anything is made.

use std::collections::BTreeMap;
use std::path::PathBuf;

use assay_kernel::filesystem;
use serde_json::{Value, json};

use super::workload::Workload;
use crate::failure::Failure;
use crate::footprint::{Footprint, Phase, shown};
use crate::output::Reporter;

/// A thread's stack and its table of files, as far as they are touched.
const THREAD: u64 = 28 << 10;
/// A line's figures, and a histogram.
const LINE: u64 = 40;
const HISTOGRAM: u64 = 512;
/// An entry: its node, where its path begins, how often it is open, whether it is held.
const ENTRY: u64 = 16 + 8 + 5;
/// A part of a path with its slash.
const PART: f64 = 9.0;
/// Code and data of the program that are touched only when it works.
const PROGRAM: u64 = 512 << 10;
/// A file takes whole blocks, an inode, and its part of a directory.
const BLOCK: f64 = 4096.0;
const INODE: f64 = 256.0 + 24.0;

/// Bytes of memory.
pub(super) fn footprint(workload: &Workload) -> Footprint {
    let entries: f64 = workload
        .sets
        .iter()
        .map(|set| {
            let count = (set.entries + set.leafdirs) as f64;
            let depth = (count.max(2.0).ln() / set.width.mean().ln()).max(1.0) + 1.0;
            count * (ENTRY as f64 + PART * depth + 1.0)
        })
        .sum();
    let line = if workload.histogram { LINE + HISTOGRAM } else { LINE };
    let parts = vec![
        ("buffers of threads", workload.buffers()),
        ("file sets", entries as u64),
        ("threads", workload.thread_count() * THREAD + workload.counters() * line),
        ("program", PROGRAM),
    ];
    Footprint::of_phases(vec![Phase { name: "run", parts }])
}

/// Bytes on disk by directory, before the run begins to change them.
fn storage(workload: &Workload) -> BTreeMap<PathBuf, u64> {
    let mut by_path = BTreeMap::new();
    for set in &workload.sets {
        let files = set.entries as f64 * set.prealloc as f64 / 100.0;
        // A last block is half empty on average.
        let room = set.bytes() + files * (BLOCK / 2.0 + INODE) + set.leafdirs as f64 * BLOCK;
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

/// Refuses what does not fit on the disk, and directories that are not there.
pub(super) fn check_storage(
    workload: &Workload,
    anyway: bool,
    talk: &dyn Reporter,
) -> Result<(), Failure> {
    for (path, needed) in storage(workload) {
        if !path.is_dir() {
            return Err(Failure::Unable {
                what: format!("there is no directory {}", path.display()),
                remedy: "make it, or choose another one with --set dir=...".to_owned(),
            });
        }
        let free = filesystem::free_space(&path)?;
        let place = path.display();
        talk.say(&format!("disk: {} predicted in {place}, {} free", shown(needed), shown(free)));
        if free < needed && !anyway {
            return Err(Failure::Unable {
                what: format!(
                    "the file sets take {} in {place}, where {} are free",
                    shown(needed),
                    shown(free)
                ),
                remedy: "free space, reduce $nfiles or the sizes, choose another directory with \
                         --set dir=..., or start it all the same with --anyway"
                    .to_owned(),
            });
        }
    }
    Ok(())
}
