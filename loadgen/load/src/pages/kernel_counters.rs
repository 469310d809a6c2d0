//! Kernel counters before and after a phase: pages in and out of the whole machine, its dirty page
//! cache, this process's disk I/O, and the resident part of the file.

use std::fs::File;

use assay_load_memory::page_cache::{self, Cached};
use assay_sys::kernel::parse::keyed;
use assay_sys::kernel::{Root, clock, counters};
use serde_json::{Value, json};

use super::test_file::{OpenMode, TestFile};

/// Why a value is missing.
type Missing = String;

/// One reading of all counters. Amounts in bytes.
#[derive(Debug, Clone)]
pub(super) struct KernelCounters {
    user_ns: u64,
    pub(super) system_ns: u64,
    /// `pgpgin` and `pgpgout` of /proc/vmstat: all block devices of the machine.
    paged_in: Result<u64, Missing>,
    paged_out: Result<u64, Missing>,
    /// /proc/meminfo.
    cached: Result<u64, Missing>,
    dirty: Result<u64, Missing>,
    writeback: Result<u64, Missing>,
    /// /proc/self/io (proc_pid_io(5)).
    pub(super) own_read: Result<u64, Missing>,
    own_written: Result<u64, Missing>,
    pub(super) file: Result<Cached, Missing>,
}

impl KernelCounters {
    pub(super) fn read(root: &Root, test_file: &TestFile) -> Self {
        let read = |path: &str| root.read(path).map_err(|error| error.to_string());
        let lacks = |path: &str, key: &str| format!("{path} has no {key}");
        let (vmstat, meminfo, io) =
            (read("/proc/vmstat"), read("/proc/meminfo"), read("/proc/self/io"));
        // Counted in sectors and shown in KiB (mm/vmstat.c, since 2.6).
        let paged = |key: &str| {
            let text = vmstat.as_ref().map_err(Clone::clone)?;
            let kibibytes = counters::keyed(text.as_bytes(), key);
            kibibytes.map(|amount| amount << 10).ok_or_else(|| lacks("/proc/vmstat", key))
        };
        let amount = |key: &str| {
            let text = meminfo.as_ref().map_err(Clone::clone)?;
            keyed::kibibytes(text, key).ok_or_else(|| lacks("/proc/meminfo", key))
        };
        let own = |key: &str| {
            let text = io.as_ref().map_err(Clone::clone)?;
            let value = keyed::colon(text, key).and_then(|value| value.parse().ok());
            value.ok_or_else(|| lacks("/proc/self/io", key))
        };
        let (user_ns, system_ns) = clock::own_cpu_ns();
        Self {
            user_ns,
            system_ns,
            paged_in: paged("pgpgin"),
            paged_out: paged("pgpgout"),
            cached: amount("Cached"),
            dirty: amount("Dirty"),
            writeback: amount("Writeback"),
            own_read: own("read_bytes"),
            own_written: own("write_bytes"),
            file: cached(test_file),
        }
    }
}

fn cached(test_file: &TestFile) -> Result<Cached, Missing> {
    let file: File = test_file.open(OpenMode::Buffered).map_err(|cause| cause.to_string())?;
    page_cache::usage(&file, &test_file.path).map_err(|error| error.to_string())
}

/// Increase from one reading to the next.
pub(super) fn growth(
    before: &Result<u64, Missing>,
    after: &Result<u64, Missing>,
) -> Result<u64, Missing> {
    let (before, after) = (before.as_ref(), after.as_ref());
    let (before, after) = (before.map_err(Clone::clone)?, after.map_err(Clone::clone)?);
    Ok(after.saturating_sub(*before))
}

/// The counters of a phase: the objects `cpu`, `disk`, `machine` and `file`.
pub(super) fn to_json(before: &KernelCounters, after: &KernelCounters) -> Value {
    let seconds = |before: u64, after: u64| after.saturating_sub(before) as f64 * 1e-9;
    let grown = |field: fn(&KernelCounters) -> &Result<u64, Missing>| {
        value(&growth(field(before), field(after)))
    };
    let dirty = |counters: &KernelCounters, field: fn(&Cached) -> Option<u64>| match &counters.file
    {
        Ok(cached) => match field(cached) {
            Some(bytes) => json!(bytes),
            None => json!({ "not_available": "cachestat(2) needs Linux 6.5" }),
        },
        Err(reason) => json!({ "not_available": reason }),
    };
    json!({
        "user_s": seconds(before.user_ns, after.user_ns),
        "system_s": seconds(before.system_ns, after.system_ns),
        "disk": {
            "read_bytes": grown(|counters| &counters.own_read),
            "written_bytes": grown(|counters| &counters.own_written),
        },
        "machine": {
            "paged_in_bytes": grown(|counters| &counters.paged_in),
            "paged_out_bytes": grown(|counters| &counters.paged_out),
            "cached_before_bytes": value(&before.cached),
            "cached_bytes": value(&after.cached),
            "dirty_before_bytes": value(&before.dirty),
            "dirty_bytes": value(&after.dirty),
            "writeback_bytes": value(&after.writeback),
        },
        "file": {
            "resident_before_bytes": dirty(before, |cached| Some(cached.resident)),
            "resident_bytes": dirty(after, |cached| Some(cached.resident)),
            "dirty_bytes": dirty(after, |cached| cached.dirty),
            "writeback_bytes": dirty(after, |cached| cached.writeback),
        },
    })
}

fn value(amount: &Result<u64, Missing>) -> Value {
    crate::measured::known(amount.as_ref().map(|bytes| json!(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(pgpgin: u64, dirty: u64) -> tempfile::TempDir {
        let tree = tempfile::tempdir().unwrap();
        let write = |path: &str, text: String| {
            let path = tree.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("proc/vmstat", format!("nr_dirty 3\npgpgin {pgpgin}\npgpgout 8\n"));
        write("proc/meminfo", format!("Cached: 100 kB\nDirty: {dirty} kB\nWriteback: 0 kB\n"));
        tree
    }

    #[test]
    fn amounts_are_bytes_and_missing_values_name_their_file() {
        let directory = tempfile::tempdir().unwrap();
        let test_file = TestFile::in_directory(directory.path()).unwrap();
        let [before, after] = [(1000, 4), (3048, 9)].map(|(pgpgin, dirty)| {
            let tree = host(pgpgin, dirty);
            KernelCounters::read(&Root::at(tree.path()), &test_file)
        });
        let json = to_json(&before, &after);
        assert_eq!(json["machine"]["paged_in_bytes"], 2 << 20);
        assert_eq!(json["machine"]["paged_out_bytes"], 0);
        assert_eq!(json["machine"]["dirty_before_bytes"], 4 << 10);
        assert_eq!(json["machine"]["dirty_bytes"], 9 << 10);
        let reason = json["disk"]["read_bytes"]["not_available"].as_str().unwrap();
        assert!(reason.contains("/proc/self/io"), "{reason}");
        assert_eq!(json["file"]["resident_bytes"], 0);
    }
}
