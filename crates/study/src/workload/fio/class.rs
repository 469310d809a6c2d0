//! Classifies the I/O of a job by its options.

use assay_record::run_folder::IoClass;
use assay_sys::units::Bytes;

use super::job::Job;

/// Evaluates `rw`, `direct`, `ioengine`, `iodepth`, `numjobs` and `bs` with fio's defaults (fio(1),
/// 3.33). The engines `cpuio` and `null` do no I/O, whatever the other options are.
#[must_use]
pub fn io_class(job: &Job) -> IoClass {
    if matches!(job.option("ioengine"), Some("cpuio" | "null")) {
        return IoClass::default();
    }
    let mode = job.option("rw").or_else(|| job.option("readwrite")).unwrap_or("read");
    // A sequential mode may have a suffix, as in `rw=write:8k`.
    let mode = mode.split(':').next().unwrap_or(mode);
    let mixed = matches!(mode, "rw" | "readwrite" | "randrw");
    IoClass {
        direct: is_direct(job),
        reads: mixed || mode.ends_with("read"),
        writes: mixed || mode.ends_with("write") || mode == "trimwrite",
        sequential: !mode.starts_with("rand"),
        outstanding: outstanding(job),
        block_size: block_size(job),
        closed_loop: closed_loop(job),
    }
}

/// Engines whose I/O, if any, is not that of a disk (fio(1), ioengine).
const NO_DISK: [&str; 18] = [
    "cpuio",
    "null",
    "exec",
    "net",
    "netsplice",
    "rdma",
    "filecreate",
    "filestat",
    "filedelete",
    "rados",
    "rbd",
    "gfapi",
    "gfapi_async",
    "http",
    "nbd",
    "nfs",
    "libhdfs",
    "libiscsi",
];

/// Whether its I/O is that of a disk.
#[must_use]
pub fn uses_disk(job: &Job) -> bool {
    !job.option("ioengine").is_some_and(|engine| NO_DISK.contains(&engine))
}

/// Options with which each completed request is followed by the next one at once (fio(1)): others may limit the rate, let
/// the job pause, or let it wait for several completions.
const CLOSED_LOOP: [&str; 21] = [
    "rw",
    "readwrite",
    "bs",
    "blocksize",
    "ioengine",
    "iodepth",
    "direct",
    "buffered",
    "size",
    "filename",
    "directory",
    "offset",
    "numjobs",
    "time_based",
    "runtime",
    "randrepeat",
    "randseed",
    "norandommap",
    "group_reporting",
    "invalidate",
    "exec_prerun",
];

/// Engines of which a thread that needs no CPU waits for a request.
const ENGINES: [&str; 6] = ["sync", "psync", "pvsync", "pvsync2", "libaio", "io_uring"];

/// `None` if the job has an option that may open the loop, waits for the page cache, or may end before others.
fn closed_loop(job: &Job) -> Option<bool> {
    let is_known = |(name, _): &(String, Option<String>)| CLOSED_LOOP.contains(&name.as_str());
    let mode = job.option("rw").or_else(|| job.option("readwrite")).unwrap_or("read");
    let goes_on = job.option("time_based").is_some_and(|value| value != "0");
    let is_closed = job.options.iter().all(is_known)
        && is_direct(job)
        && goes_on
        && ENGINES.contains(&job.option("ioengine").unwrap_or("psync"))
        && !mode.contains("trim");
    is_closed.then_some(true)
}

/// The number of threads that may need a CPU at once: one per job. `None` for a job bound to CPUs
/// by its own options, or one that burns only part of a CPU (`cpuload`).
#[must_use]
pub fn threads(job: &Job) -> Option<u32> {
    let bound = ["cpus_allowed", "cpumask", "numa_cpu_nodes"];
    if bound.iter().any(|option| job.option(option).is_some()) {
        return None;
    }
    let burns = job.option("ioengine") == Some("cpuio");
    let load = job.option("cpuload").and_then(|text| text.parse::<u32>().ok());
    if burns && load.is_none_or(|load| load < 100) {
        return None;
    }
    job.option("numjobs").map_or(Some(1), |text| text.parse().ok())
}

fn is_direct(job: &Job) -> bool {
    let is_set = |name| job.option(name).map(|value| value != "0");
    is_set("direct").or_else(|| is_set("buffered").map(|buffered| !buffered)).unwrap_or(false)
}

/// Requests outstanding at once. Synchronous engines ignore `iodepth`.
fn outstanding(job: &Job) -> Option<u32> {
    let number = |name| job.option(name).map_or(Some(1), |value| value.parse::<u32>().ok());
    let depth = match job.option("ioengine").unwrap_or("psync") {
        "sync" | "psync" | "vsync" | "pvsync" | "pvsync2" | "mmap" => 1,
        // libaio is asynchronous for direct I/O only (fio(1), ioengine).
        "libaio" if !is_direct(job) => 1,
        _ => number("iodepth")?,
    };
    depth.checked_mul(number("numjobs")?)
}

/// The block size, if there is exactly one: `bs=4k,8k` has two and `bssplit` many.
fn block_size(job: &Job) -> Option<u64> {
    if job.option("bssplit").is_some() || job.option("bsrange").is_some() {
        return None;
    }
    let text = job.option("bs").or_else(|| job.option("blocksize")).unwrap_or("4k");
    text.to_ascii_lowercase().parse().ok().map(Bytes::get)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(options: &[(&str, &str)]) -> IoClass {
        io_class(&Job {
            name: "job".to_owned(),
            options: options
                .iter()
                .map(|(name, value)| ((*name).to_owned(), Some((*value).to_owned())))
                .collect(),
        })
    }

    #[test]
    fn the_defaults_are_those_of_fio() {
        let expected = IoClass {
            direct: false,
            reads: true,
            writes: false,
            sequential: true,
            outstanding: Some(1),
            block_size: Some(4096),
            closed_loop: None,
        };
        assert_eq!(class(&[]), expected);
    }

    #[test]
    fn a_job_that_may_pause_by_itself_is_no_closed_loop() {
        let plain = [
            ("rw", "randread"),
            ("iodepth", "32"),
            ("ioengine", "libaio"),
            ("direct", "1"),
            ("time_based", "1"),
        ];
        assert_eq!(class(&plain).closed_loop, Some(true));
        for option in ["rate_iops", "thinktime", "iodepth_batch_complete_min", "unheard_of"] {
            let paced = [&plain[..], &[(option, "4")]].concat();
            assert_eq!(class(&paced).closed_loop, None, "{option}");
        }
        for (option, value) in
            [("direct", "0"), ("time_based", "0"), ("ioengine", "net"), ("rw", "trim")]
        {
            let other = [&plain[..], &[(option, value)]].concat();
            assert_eq!(class(&other).closed_loop, None, "{option}={value}");
        }
    }

    #[test]
    fn a_mixed_job_reads_and_writes() {
        let mixed = class(&[("rw", "randrw"), ("bs", "4k,8k")]);
        assert!(mixed.reads && mixed.writes);
        assert_eq!(mixed.block_size, None);
        assert!(!mixed.sequential && class(&[("rw", "write:8k")]).sequential);
    }

    #[test]
    fn a_cpu_engine_does_no_io_and_has_one_thread_per_job() {
        assert_eq!(class(&[("ioengine", "cpuio"), ("rw", "read")]), IoClass::default());
        let thread_count = |options: &[(&str, &str)]| {
            let options = options
                .iter()
                .map(|(name, value)| ((*name).to_owned(), Some((*value).to_owned())))
                .collect();
            threads(&Job { name: "job".to_owned(), options })
        };
        assert_eq!(
            thread_count(&[("ioengine", "cpuio"), ("cpuload", "100"), ("numjobs", "3")]),
            Some(3)
        );
        assert_eq!(thread_count(&[("ioengine", "cpuio"), ("cpuload", "50")]), None);
        assert_eq!(thread_count(&[("rw", "read")]), Some(1));
        assert_eq!(thread_count(&[("rw", "read"), ("cpus_allowed", "0")]), None);
    }

    #[test]
    fn iodepth_counts_only_for_asynchronous_engines() {
        let depth = |engine, direct| {
            class(&[("ioengine", engine), ("direct", direct), ("iodepth", "32"), ("numjobs", "2")])
                .outstanding
        };
        assert_eq!(depth("libaio", "1"), Some(64));
        assert_eq!(depth("libaio", "0"), Some(2));
        assert_eq!(depth("psync", "1"), Some(2));
        assert_eq!(depth("io_uring", "0"), Some(64));
    }
}
