//! Every wait of the product, every read that no door bounds, and every file of a process that its owner may keep from being
//! read, with what ends it.
//!
//! Not listed: waits within functions that are given their limit (`lock_within(LIMIT)`, `ends_within(LIMIT)`), locks between
//! threads that hold them for moments, and loops over a channel in threads that nothing waits for. Load generators are
//! ended by those who started them.

use std::collections::BTreeMap;
use std::path::Path;

use crate::sources::{is_in, program_lines, sources};
use crate::tree::{crate_of, shown};

/// Calls that wait.
const WAITS: [&str; 11] = [
    "sleep(",
    "park_timeout(",
    ".recv()",
    "recv_timeout(",
    ".join()",
    "poll(&mut",
    ".wait()",
    "flock(",
    "wait_with_output()",
    ".status()",
    ".output()",
];

/// Files with such calls: how many, and what ends them.
const BOUNDS: [(&str, usize, &str); 52] = [
    ("audit/src/collect/watch.rs", 1, "some milliseconds between two looks"),
    ("audit/src/collect/writes.rs", 1, "the caller's limit, below a second"),
    ("blame/src/collect/prove.rs", 1, "the end of a turn, looked for 20 times a second; a signal"),
    ("blame/src/watch/requests.rs", 1, "a constant, once"),
    ("blame/src/watch/stalls.rs", 1, "a constant, once"),
    ("blame/src/watch/waits.rs", 1, "a constant, once"),
    ("blame/src/watch/waits/visitor.rs", 1, "100 times a millisecond"),
    ("cli/src/answering.rs", 1, "60 s, or any signal; nothing was changed"),
    (
        "cli/src/command/blame/watch.rs",
        1,
        "the time to the next look, looked for 20 times a second; a signal",
    ),
    ("cli/src/command/top.rs", 1, "a constant, once"),
    ("cli/src/countdown.rs", 2, "the thread ends when its channel closes"),
    ("cli/src/replaced.rs", 1, "1 s"),
    ("conform/src/fixture.rs", 2, "the case's time; a signal"),
    ("conform/src/probe/fork.rs", 2, "the probe's lifetime"),
    ("conform/src/probe/io.rs", 1, "the probe's lifetime"),
    ("conform/src/probe/spin.rs", 2, "the probe's lifetime"),
    ("conform/src/run.rs", 3, "the case's time, after which its probes are killed"),
    ("conform/src/running.rs", 2, "the probe's lifetime, looked at every second"),
    ("host/src/ledger/hanging_step.rs", 2, "15 s in which the step's thread was not scheduled"),
    ("host/src/ledger/inside.rs", 1, "the thread that restores the host, which ends the process"),
    ("host/src/ledger/stacked_disk.rs", 1, "a constant, once"),
    ("host/src/ledger/stand_in.rs", 2, "a quarter of a second, again and again; 2 s"),
    ("host/src/ledger/step_threads.rs", 1, "1 s"),
    ("host/src/poll_until.rs", 1, "the caller's limit, 1 s once something hangs; a second Ctrl-C"),
    ("host/src/scratch/first_turns.rs", 2, "20 s; the thread is left behind"),
    ("lab/src/cache.rs", 1, "the limit for the lock; a signal"),
    ("lab/src/forward.rs", 2, "minutes without progress of the reader; a signal"),
    ("lab/src/process.rs", 4, "the caller's limit, or seconds, after which the guest is killed"),
    ("live/src/collect.rs", 1, "the length of the watch; a signal"),
    ("live/src/probe/beside.rs", 1, "the time of a proof; a signal"),
    ("record/src/run_folder/footer.rs", 1, "the length of a file in which every read goes forward"),
    ("record/src/sample/activity.rs", 1, "the limit of the step that the sampler is in"),
    ("record/src/sample/first_io.rs", 1, "the caller's limit"),
    ("record/src/sample/source/aside.rs", 1, "a second; the thread is left behind"),
    ("record/src/sample/sampler.rs", 2, "the next round; a thread that is known to have ended"),
    ("run/src/exec/supervise.rs", 2, "the command; after a signal what cannot end is given up"),
    ("run/src/judged_command/speed.rs", 1, "0.2 s of computing"),
    ("run/src/prepare.rs", 1, "--wait; a signal"),
    (
        "run/src/runner/processes.rs",
        2,
        "the caller's limit; what hangs for 15 s or is frozen is given up",
    ),
    ("run/src/runner/sampling.rs", 1, "the length of the recording, its target, or a signal"),
    (
        "run/src/runner/sampling/followed.rs",
        2,
        "seconds, after which the command is killed, and again",
    ),
    ("sys/src/kernel/bounded_query.rs", 1, "the limit of the query; its thread is left behind"),
    ("sys/src/kernel/cgroup1_eventfd.rs", 1, "the caller's limit"),
    ("sys/src/kernel/child.rs", 2, "the caller's limit"),
    ("sys/src/kernel/file_lock.rs", 1, "the caller's limit"),
    (
        "sys/src/kernel/filesystem.rs",
        2,
        "a lock that is not waited for; what the caller asks after each look",
    ),
    ("sys/src/kernel/late_write.rs", 1, "a shell that sleeps or writes, after SIGKILL"),
    ("sys/src/kernel/poll_event.rs", 1, "the caller's limit"),
    ("sys/src/kernel/process/start.rs", 1, "60 s, or a signal; the thread is left behind"),
    ("sys/src/kernel/program.rs", 1, "the limit of the program, which is killed then"),
    ("sys/src/kernel/stream.rs", 1, "the patience of a message; of data 1 s after a signal"),
    ("sys/src/kernel/write_notices.rs", 1, "the caller's limit"),
];

/// Calls that read to an end that somebody else decides.
const READS: [&str; 8] = [
    "fs::read(",
    "fs::read_to_string(",
    "read_to_end(",
    "read_to_string(",
    "read_line(",
    ".lock().lines()",
    "read_exact(",
    "io::copy(",
];

/// Files with reads that bound them by no `take(LIMIT)`, and what does. `sys` has the doors: `files` for what others may have
/// put there, `kernel` for files of the kernel and of trees like its own.
const READ_BOUNDS: [(&str, usize, &str); 4] = [
    ("cli/src/output.rs", 1, "a line typed at a terminal"),
    ("conform/src/probe.rs", 2, "lines of the program that has started the probe"),
    ("conform/src/running.rs", 1, "a line of our own probe, whose lifetime is bounded"),
    ("host/src/ledger/journal.rs", 1, "a file that only its owner, who runs this, can write"),
];

/// Files of a process whose reader waits for it (`sys::kernel::process`); what others may have started is asked elsewhere, as in `status`.
const OF_PROCESSES: [&str; 11] = [
    "cmdline",
    "environ",
    "exe",
    "fd",
    "fdinfo",
    "maps",
    "numa_maps",
    "stat",
    "syscall",
    "wchan",
    "root",
];

/// Files of the product that read one of these, how often, and what bounds it.
const BOUNDS_OF_PROCESSES: [(&str, usize, &str); 15] = [
    ("audit/src/collect/kubelet.rs", 1, "a bounded query"),
    ("audit/src/collect/open_files.rs", 2, "a bounded query"),
    ("conform/src/cases/cpuset.rs", 1, "our own probe"),
    ("conform/src/probe/hold.rs", 1, "its own file, in a process that is left behind"),
    ("lab/src/disk_space.rs", 1, "the process of our own guest"),
    ("record/src/sample/source/pages.rs", 3, "bounded queries; the sampler's step"),
    ("record/src/sample/source/threads/by_proc.rs", 2, "the sampler's step, of 10 s"),
    ("run/src/runner/placement.rs", 2, "a bounded query"),
    ("run/src/runner/sampling/followed.rs", 1, "a bounded query"),
    ("sys/src/kernel/affinity.rs", 1, "workloads of the study; the thread that restores instead"),
    ("sys/src/kernel/blocked.rs", 3, "a bounded query; threads of this process"),
    ("sys/src/kernel/file_lock.rs", 2, "a bounded query, of one file only"),
    ("sys/src/kernel/move_pages.rs", 1, "a bounded query"),
    ("sys/src/kernel/priority.rs", 1, "a fake tree"),
    ("sys/src/kernel/process.rs", 1, "a bounded query"),
];

/// The product's lines with one of these calls, counted by file.
fn found(
    calls: &[impl AsRef<str>],
    has_bound: impl Fn(&Path, &str) -> bool,
) -> BTreeMap<String, usize> {
    const BESIDE: [&str; 6] = ["bench", "test-support", "tidy", "fuzz", "fuzzer", "loadgen"];
    let mut found = BTreeMap::new();
    let is_beside = |path: &Path| BESIDE.iter().any(|name| crate_of(path).starts_with(name));
    for (path, line) in program_lines(&sources(), is_beside) {
        let waits = calls.iter().any(|call| line.contains(call.as_ref())) && !line.contains("fn ");
        if waits && !has_bound(path, line) {
            let name = shown(path);
            *found.entry(name.strip_prefix("crates/").unwrap_or(&name).to_owned()).or_default() +=
                1;
        }
    }
    found
}

fn assert_listed(found: &BTreeMap<String, usize>, listed: &[(&str, usize, &str)], what: &str) {
    let listed: BTreeMap<String, usize> =
        listed.iter().map(|(file, calls, _)| ((*file).to_owned(), *calls)).collect();
    let differs = |(file, calls): &(&String, &usize)| listed.get(*file) != Some(calls);
    let new: Vec<_> = found.iter().filter(differs).collect();
    assert!(new.is_empty(), "{what} whose bound is not listed in this test: {new:?}");
    let gone: Vec<_> = listed.keys().filter(|file| !found.contains_key(*file)).collect();
    assert!(gone.is_empty(), "files without {what}: {gone:?}");
}

#[test]
fn every_wait_has_a_bound() {
    assert_listed(&found(&WAITS, |_, _| false), &BOUNDS, "waits");
}

/// `spawn` of the library panics where others have taken the room for threads, and what was changed stays.
#[test]
fn a_thread_that_cannot_start_is_an_error() {
    let found = found(&[concat!("thread", "::spawn("), "scope.spawn("], |_, _| false);
    assert!(found.is_empty(), "use thread::Builder: {found:?}");
}

#[test]
fn every_read_of_what_others_wrote_is_bounded() {
    let is_bounded = |path: &Path, line: &str| {
        line.contains("take(") || is_in(path, &["sys/files", "sys/kernel"])
    };
    assert_listed(&found(&READS, is_bounded), &READ_BOUNDS, "reads");
}

#[test]
fn every_file_that_a_process_may_keep_from_being_read_has_a_bound() {
    let calls = OF_PROCESSES.iter().flat_map(|name| {
        [format!("}}/{name}\""), format!("}}/{name}/"), format!("join(\"{name}\")")]
    });
    let is_no_process = |_: &Path, line: &str| line.contains("/sys/");
    let found = found(&calls.collect::<Vec<_>>(), is_no_process);
    assert_listed(&found, &BOUNDS_OF_PROCESSES, "reads of files of a process");
}
