//! Measured memory usage of this process, from /proc/self.

use std::collections::BTreeMap;

use assay_sys::kernel::Root;
use assay_sys::kernel::parse::{keyed, numa_maps};
use serde_json::{Value, json};

/// Assumed memory of an idle process (code, libraries, stacks) if /proc is not readable.
const TYPICAL_BASE: u64 = 4 << 20;

/// Resident memory before allocations (`VmRSS`, proc_pid_status(5)).
pub(crate) fn resident(root: &Root) -> u64 {
    status(root, "VmRSS").unwrap_or(TYPICAL_BASE)
}

/// Peak resident memory (`VmHWM`), or why it is unknown.
pub(crate) fn peak(root: &Root) -> Result<u64, String> {
    status(root, "VmHWM")
}

/// How the memory of a run is backed. Read it while the memory is still allocated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backing {
    /// Bytes in transparent huge pages (`AnonHugePages` of smaps_rollup, since Linux 4.14), or why
    /// they are unknown.
    pub huge: Result<u64, String>,
    /// Bytes of anonymous memory on each node (numa_maps), or why they are unknown.
    pub nodes: Result<BTreeMap<u16, u64>, String>,
}

impl Backing {
    /// Reads it for this process.
    #[must_use]
    pub fn read(root: &Root) -> Self {
        let maps = root.read("/proc/self/numa_maps").map_err(|error| error.to_string());
        Self {
            huge: amount(root, "/proc/self/smaps_rollup", "AnonHugePages"),
            nodes: maps.map(|text| numa_maps::anonymous(&text)),
        }
    }

    /// `{ "huge_pages_bytes", "nodes_bytes": { "0": ... } }`
    pub(crate) fn to_json(&self) -> Value {
        let nodes = self.nodes.as_ref().map(|nodes| {
            nodes.iter().map(|(node, bytes)| (node.to_string(), json!(bytes))).collect()
        });
        json!({
            "huge_pages_bytes": known(self.huge.as_ref().map(|bytes| json!(bytes))),
            "nodes_bytes": known(nodes.map(Value::Object)),
        })
    }
}

/// A value, or the reason why there is none.
pub(crate) fn known(value: Result<Value, &String>) -> Value {
    value.unwrap_or_else(|reason| json!({ "not_available": reason }))
}

fn status(root: &Root, key: &str) -> Result<u64, String> {
    amount(root, "/proc/self/status", key)
}

fn amount(root: &Root, path: &str, key: &str) -> Result<u64, String> {
    let text = root.read(path).map_err(|error| error.to_string())?;
    keyed::kibibytes(&text, key).ok_or_else(|| format!("{path} has no {key}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_of_a_process_are_read_in_bytes() {
        let tree = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(tree.path().join("proc/self")).unwrap();
        let status = "Name:\tx\nVmHWM:\t  2048 kB\nVmRSS:\t  1024 kB\n";
        std::fs::write(tree.path().join("proc/self/status"), status).unwrap();
        let root = Root::at(tree.path());
        assert_eq!(resident(&root), 1 << 20);
        assert_eq!(peak(&root), Ok(2 << 20));
        let backing = Backing::read(&root);
        assert!(backing.huge.as_ref().unwrap_err().contains("smaps_rollup"));
        let json = backing.to_json();
        assert!(json["nodes_bytes"]["not_available"].is_string(), "never an empty map: {json}");
    }
}
