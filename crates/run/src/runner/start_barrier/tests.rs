//! Attacks on the start barrier, and processes that do not reach it.

use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use assay_study::plan::ToolPlan;
use assay_study::workload::{Invocation, Placeholders};
use assay_sys::kernel::process::Membership;

use super::*;
use crate::runner::processes::Launch;

/// A shell command, started like a workload.
pub(crate) fn start(folder: &Path, script: &str, at_barrier: bool) -> Process {
    let call = Invocation {
        tool: "command".to_owned(),
        program: "sh".to_owned(),
        words: vec!["-c".to_owned(), script.to_owned()],
        metrics: vec![],
        wait: assay_study::workload::WaitMethod::Shell,
        reports_on_sigint: true,
    };
    let barrier = folder.join(BARRIER_FILE).display().to_string();
    let (program, words) =
        call.command(&Placeholders::default(), at_barrier.then_some(barrier.as_str()));
    let launch = Launch {
        workload: "group.load",
        group: "group",
        tool: &ToolPlan::Invocation(call),
        until_stopped: false,
        program,
        words,
        folder: Dir::open(&tempfile::tempdir_in(folder).unwrap().keep()).unwrap(),
        hand_over_to: None,
        log: "logs/load".to_owned(),
        jobs: 1,
    };
    Process::start(launch, &Membership::open(&Root::real(), &[]).unwrap()).unwrap()
}

/// The ids of the processes that wait.
fn waiting(barrier: &StartBarrier) -> Vec<u32> {
    barrier.jobs().map(ProcessHandle::id).collect()
}

const SHORT: Patience =
    Patience { idle: Duration::from_millis(300), whole: Duration::from_secs(20) };

#[test]
fn no_part_of_a_program_runs_before_the_release() {
    let place = tempfile::tempdir().unwrap();
    let mut barrier = StartBarrier::open(&Dir::open(place.path()).unwrap(), &[]).unwrap();
    let mark = place.path().join("mark");
    let script = format!("echo ran > {}", mark.display());
    let mut processes = [start(place.path(), &script, true)];
    // Another process writes its own id; if it counted, all jobs would seem to have arrived at once.
    let own = format!("{}\n", std::process::id());
    std::fs::OpenOptions::new()
        .append(true)
        .open(place.path().join(BARRIER_FILE))
        .and_then(|mut fifo| fifo.write_all(own.as_bytes()))
        .unwrap();
    let ids = [processes[0].id()];
    let arrival = barrier.wait_for_all(&Root::real(), &mut processes, SHORT, |_, _| ()).unwrap();
    assert_eq!(arrival, Arrival::All);
    assert_eq!(waiting(&barrier), ids);
    assert!(!mark.exists(), "it waits at the barrier");
    barrier.release(|| ());
    for _ in 0..500 {
        if !processes[0].is_running() {
            break;
        }
        pause(Duration::from_millis(10));
    }
    assert!(mark.exists() && !processes[0].has_failed());
}

#[test]
fn a_process_that_hangs_before_the_barrier_is_killed_and_the_others_are_released() {
    let place = tempfile::tempdir().unwrap();
    let mut barrier = StartBarrier::open(&Dir::open(place.path()).unwrap(), &[]).unwrap();
    let mut processes =
        [start(place.path(), "sleep 100", false), start(place.path(), "true", true)];
    let arrival = barrier.wait_for_all(&Root::real(), &mut processes, SHORT, |_, _| ()).unwrap();
    assert_eq!(arrival, Arrival::All);
    assert!(processes[0].has_failed() && processes[1].is_running());
    let why = processes[0].ended.clone().unwrap();
    assert!(why.contains("did not reach the start barrier"), "{why}");
    barrier.release(|| ());
}

/// A process with write access to the FIFO may write without end and without line ends.
#[test]
fn endless_writing_to_the_fifo_does_not_block_the_start() {
    let place = tempfile::tempdir().unwrap();
    let mut barrier = StartBarrier::open(&Dir::open(place.path()).unwrap(), &[]).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let mut fifo =
        std::fs::OpenOptions::new().append(true).open(place.path().join(BARRIER_FILE)).unwrap();
    fifo.write_all(b"x").unwrap();
    let stopped = Arc::clone(&stop);
    let writer = std::thread::spawn(move || {
        while !stopped.load(Ordering::Relaxed) {
            let _ = fifo.write_all(b"x");
        }
    });
    let mut processes = [start(place.path(), "true", true)];
    let ids = [processes[0].id()];
    let arrival = barrier.wait_for_all(&Root::real(), &mut processes, SHORT, |_, _| ()).unwrap();
    stop.store(true, Ordering::Relaxed);
    while !writer.is_finished() {
        barrier.fifos[0].1.lines().unwrap();
        pause(Duration::from_millis(1));
    }
    assert_eq!((arrival, waiting(&barrier)), (Arrival::All, ids.to_vec()));
    assert!(processes[0].is_running(), "{:?}", processes[0].ended);
    barrier.release(|| ());
}

/// A report may name a process that never stops, such as fio itself, which waits for its jobs.
#[test]
fn a_false_report_does_not_block_the_start() {
    let place = tempfile::tempdir().unwrap();
    let mut barrier = StartBarrier::open(&Dir::open(place.path()).unwrap(), &[]).unwrap();
    let fifo = place.path().join(BARRIER_FILE);
    let job = format!("sh -c 'echo at $$ >>{} && kill -STOP $$' & wait", fifo.display());
    let mut processes = [start(place.path(), "true", true), start(place.path(), &job, false)];
    let mut report = std::fs::OpenOptions::new().append(true).open(&fifo).unwrap();
    writeln!(report, "at {}\nat {}", processes[1].id(), std::process::id()).unwrap();
    let began_ns = monotonic_ns();
    let arrival = barrier
        .wait_for_all(&Root::real(), &mut processes, SHORT, |_, _| {
            assert!(monotonic_ns() - began_ns < 30_000_000_000, "it still waits");
        })
        .unwrap();
    assert_eq!(arrival, Arrival::All);
    for process in &mut processes {
        assert!(process.is_running(), "{:?}", process.ended);
    }
    barrier.release(|| ());
}

/// Each report kept with a descriptor would use up ours.
#[test]
fn false_reports_cost_no_descriptors() {
    let place = tempfile::tempdir().unwrap();
    let mut barrier = StartBarrier::open(&Dir::open(place.path()).unwrap(), &[]).unwrap();
    let fifo = place.path().join(BARRIER_FILE);
    let script = |stop: &str| {
        format!(
            "i=0; while [ $i -lt 400 ]; do sleep 100 & {stop} echo at $! >>{0}; i=$((i + 1)); done; \
             echo at $$ >>{0}; kill -STOP $$",
            fifo.display()
        )
    };
    let (root, long) = (Root::real(), Patience { idle: Duration::from_secs(20), ..SHORT });
    let mut running = [start(place.path(), &script(""), false)];
    let arrival = barrier.wait_for_all(&root, &mut running, long, |_, _| ()).unwrap();
    assert_eq!((arrival, waiting(&barrier)), (Arrival::All, vec![running[0].id()]));
    assert!(running[0].is_running(), "{:?}", running[0].ended);
    // Stopped ones are like jobs.
    let mut stopped = [start(place.path(), &script("kill -STOP $!;"), false)];
    let arrival = barrier.wait_for_all(&root, &mut stopped, long, |_, _| ()).unwrap();
    assert_eq!(arrival, Arrival::All);
    while stopped[0].is_running() && state(&root, stopped[0].id()) != Some('T') {
        pause(Duration::from_millis(10));
    }
    for _ in 0..10 {
        barrier.add_arrivals(&root, &stopped).unwrap();
        barrier.admit(&root, &stopped);
    }
    assert!(barrier.jobs().count() <= 20, "{}", barrier.jobs().count());
    barrier.release(|| ());
}

#[test]
fn each_user_has_a_fifo_that_no_other_can_open() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let user = |uid| User { uid, gid: uid, groups: vec![uid], name: None, home: None };
    let place = tempfile::tempdir().unwrap();
    let folder = Dir::open(place.path()).unwrap();
    let users = [user(65534), user(65533)];
    let barrier = StartBarrier::open(&folder, &users).unwrap();
    for (user, uid) in [(None, 0), (Some(&users[0]), 65534), (Some(&users[1]), 65533)] {
        let metadata = place.path().join(fifo_name(user)).metadata().unwrap();
        assert_eq!((metadata.uid(), metadata.mode() & 0o777), (uid, 0o600));
    }
    barrier.close(&folder).unwrap();
    assert!(folder.is_empty().unwrap());
}
