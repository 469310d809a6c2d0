//! Following threads and pages on fake trees, and threads on this kernel: threads that disappear, reused ids,
//! and very many threads.

#![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_record::run_folder::{Table, read_tables};
use assay_record::sample::{
    Choice, Depth, Prepared, ProcessTarget, Processes, Rows, Sampler, SamplerAffinity, Source,
    Targets, prepare_chosen,
};
use assay_sys::kernel::Root;
use assay_test_support::put;

/// A thread on `cpu` that has run for `run` ns; `threads` is the number of threads of its process.
fn thread(tree: &Path, pid: u32, tid: u32, started: u64, cpu: u16, run: u64) {
    let mut fields: Vec<u64> = vec![0; 53];
    (fields[4], fields[20], fields[22], fields[39]) = (1, 1, started, u64::from(cpu));
    let rest: Vec<String> = fields[4..=52].iter().map(u64::to_string).collect();
    let folder = format!("proc/{pid}/task/{tid}");
    let line = format!("{tid} (work er) S {}\n", rest.join(" "));
    put(tree, &format!("{folder}/stat"), &line);
    put(tree, &format!("{folder}/schedstat"), &format!("{run} 7 1\n"));
    if pid == tid {
        put(tree, &format!("proc/{pid}/stat"), &line);
    }
}

/// A thread that has ended: its kernel files yield nothing, even through open descriptors.
fn end(tree: &Path, pid: u32, tid: u32) {
    let folder = tree.join(format!("proc/{pid}/task/{tid}"));
    for name in ["stat", "schedstat"] {
        fs::write(folder.join(name), "").unwrap();
    }
    fs::remove_dir_all(&folder).unwrap();
    if pid == tid {
        fs::remove_dir_all(tree.join(format!("proc/{pid}"))).unwrap();
    }
}

fn group(tree: &Path, pids: &[u32]) -> Targets {
    let lines: Vec<String> = pids.iter().map(u32::to_string).collect();
    put(tree, "cg/a/cgroup.procs", &(lines.join("\n") + "\n"));
    let of = Processes::Group(vec![PathBuf::from("/cg/a")]);
    let processes = Ok(vec![ProcessTarget { name: "a".to_owned(), of }]);
    Targets { processes, ..Targets::default() }
}

fn threads_of(root: &Root, targets: &Targets) -> (Box<dyn Source>, Rows) {
    let choice = Choice::Also(vec!["threads".to_owned()]);
    let Prepared { sources, not_available } = prepare_chosen(root, targets, &choice);
    let source = sources.into_iter().find(|source| source.name() == "threads");
    let source = source.unwrap_or_else(|| unreachable!("{not_available:?}"));
    // The clock advances between readings by more than any period.
    let rows = source.rows(|| {
        static CLOCK: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1 << 50);
        CLOCK.fetch_add(2_000_000_000, std::sync::atomic::Ordering::SeqCst)
    });
    (source, rows)
}

fn last(table: &Table, subject: &str, column: &str) -> Option<u64> {
    table.series(subject, column).last().map(|(_, value)| value)
}

#[test]
fn a_thread_has_a_row_when_it_has_run_and_one_when_it_ends() {
    let tree = tempfile::tempdir().unwrap();
    put(tree.path(), "sys/devices/system/node/node0/cpulist", "0-1\n");
    put(tree.path(), "sys/devices/system/node/node1/cpulist", "2-3\n");
    thread(tree.path(), 50, 50, 900, 0, 1000);
    thread(tree.path(), 50, 51, 901, 1, 0);
    let (mut source, mut rows) = threads_of(&Root::at(tree.path()), &group(tree.path(), &[50]));
    source.read(&mut rows, Depth::Whole);
    assert_eq!(rows.table().time_ns.len(), 2);
    source.read(&mut rows, Depth::Whole);
    assert_eq!(rows.table().time_ns.len(), 2, "nothing has changed");

    thread(tree.path(), 50, 50, 900, 3, 5000);
    source.read(&mut rows, Depth::Whole);
    assert_eq!(last(&rows.table(), "a:work er:50:50", "run_ns"), Some(5000));
    assert_eq!(last(&rows.table(), "a:work er:50:50", "cpu"), Some(3));
    assert_eq!(last(&rows.table(), "a:work er:50:50", "node"), Some(1));
    assert_eq!(last(&rows.table(), "a:work er:50:51", "run_ns"), Some(0), "it slept");

    // One thread ends meanwhile: its files yield nothing any more.
    end(tree.path(), 50, 51);
    source.read(&mut rows, Depth::Whole);
    assert_eq!(last(&rows.table(), "a:work er:50:51", "state"), Some(u64::from(b'X')));
    source.read(&mut rows, Depth::Whole);
    assert_eq!(last(&rows.table(), "a:work er:50:50", "state"), Some(u64::from(b'S')));
}

#[test]
fn a_reused_id_is_another_thread() {
    let tree = tempfile::tempdir().unwrap();
    thread(tree.path(), 60, 60, 100, 0, 1000);
    let targets = group(tree.path(), &[60]);
    let (mut source, mut rows) = threads_of(&Root::at(tree.path()), &targets);
    source.read(&mut rows, Depth::Whole);
    // The previous thread has ended, another one has its id.
    end(tree.path(), 60, 60);
    thread(tree.path(), 60, 60, 777, 0, 5);
    source.read(&mut rows, Depth::Whole);
    source.read(&mut rows, Depth::Whole);
    let subjects = &rows.table().subjects;
    assert!(subjects.contains(&"a:work er:60:60#2".to_owned()), "{subjects:?}");
    assert_eq!(last(&rows.table(), "a:work er:60:60#2", "run_ns"), Some(5));
    assert_eq!(last(&rows.table(), "a:work er:60:60", "state"), Some(u64::from(b'X')));
}

#[test]
fn removing_a_group_ends_its_threads() {
    let tree = tempfile::tempdir().unwrap();
    thread(tree.path(), 70, 70, 1, 0, 10);
    let (mut source, mut rows) = threads_of(&Root::at(tree.path()), &group(tree.path(), &[70]));
    source.read(&mut rows, Depth::Whole);
    fs::remove_dir_all(tree.path().join("cg")).unwrap();
    end(tree.path(), 70, 70);
    source.read(&mut rows, Depth::Whole);
    source.read(&mut rows, Depth::Whole);
    let before = rows.table().time_ns.len();
    source.read(&mut rows, Depth::Whole);
    assert_eq!(rows.table().time_ns.len(), before, "it is over once");
}

#[test]
fn ten_thousand_threads_are_followed() {
    // Creating thirty thousand inodes is fast in memory, but takes minutes on a busy disk.
    let memory = Path::new("/dev/shm");
    let tree = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    let tree = tree.unwrap();
    thread(tree.path(), 9, 9, 1, 0, 10);
    for tid in 10..10_009 {
        thread(tree.path(), 9, tid, u64::from(tid), 0, 10);
    }
    let (mut source, mut rows) = threads_of(&Root::at(tree.path()), &group(tree.path(), &[9]));
    source.read(&mut rows, Depth::Whole);
    assert_eq!(rows.table().subjects.len(), 10_000);
    thread(tree.path(), 9, 10_008, 10_008, 1, 99);
    source.read(&mut rows, Depth::Whole);
    assert_eq!(last(&rows.table(), "a:work er:9:10008", "run_ns"), Some(99));
    assert_eq!(rows.table().time_ns.len(), 10_001, "those that slept have no further row");
}

#[test]
fn threads_of_a_real_child_and_its_descendants_are_followed() {
    let root = Root::real();
    let script = "i=0; while [ $i -lt 2000000 ]; do i=$((i+1)); done; sleep 30";
    let mut child = std::process::Command::new("sh").args(["-c", script]).spawn().unwrap();
    let of = Processes::Tree { pid: child.id(), itself: true };
    let processes = Ok(vec![ProcessTarget { name: "tree".to_owned(), of }]);
    let targets = Targets { processes, ..Targets::default() };
    let choice = Choice::Also(vec!["threads".to_owned(), "pages".to_owned()]);
    let folder = tempfile::tempdir().unwrap();
    let prepared = prepare_chosen(&root, &targets, &choice);
    let sampler = Sampler::start(
        prepared,
        folder.path(),
        Duration::from_millis(20),
        SamplerAffinity::unrestricted("a test"),
    )
    .unwrap();
    let until = std::time::Instant::now() + Duration::from_secs(60);
    let forked = || {
        let path = format!("/proc/{}/task/{}/children", child.id(), child.id());
        root.read(path).unwrap_or_default().split_whitespace().next().map(str::to_owned)
    };
    while forked().is_none() && std::time::Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    let sleeper = forked().unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    let outcome = sampler.stop();
    let killed: u32 = sleeper.parse().unwrap();
    assay_sys::kernel::process::send(killed, rustix::process::Signal::KILL).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();

    assert!(outcome.failure.is_none());
    let tables = read_tables(folder.path()).unwrap();
    let table = tables.iter().find(|table| table.source == "threads").unwrap();
    let own = table.subjects.iter().find(|s| s.ends_with(&format!(":{}", child.id()))).unwrap();
    let run: Vec<u64> = table.series(own, "run_ns").map(|(_, run)| run).collect();
    assert!(run.len() >= 2 && run.last() > run.first(), "{run:?}");
    assert!(run.is_sorted(), "{run:?}");
    assert!(
        table.subjects.iter().any(|s| s.ends_with(&format!(":{sleeper}"))),
        "{:?}",
        table.subjects
    );
    let Some(pages) = tables.iter().find(|table| table.source == "pages") else { return };
    let resident: u64 = pages.column("resident_bytes").unwrap().values.iter().flatten().sum();
    assert!(resident > 0, "{pages:?}");
}
