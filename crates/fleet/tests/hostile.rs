//! A host of a fleet, or another user who may write to its folder, exchanges names while root collects.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a failure in a shared helper is a failure of the test"
)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use assay_files::Trust;
use assay_fleet::{
    CopySources, Fleet, FleetFolder, Slurm, Submission, Task, TaskState, collect, take_copies,
    write,
};
use assay_run_folder::{Column, SampleStream, Table, to_parquet};
use assay_verdict::{FleetJudgement, HostState};
use rustix::fs::{CWD, RenameFlags, renameat_with};

/// A name in the samples of a run that only root can read.
const SECRET: &str = "the-name-of-a-group-of-root";

/// Tries for each name.
const TRIES: u32 = 300;

/// A run with samples of one row about this subject.
fn run(place: &Path, subject: &str) {
    let manifest = include_str!("../../test-support/faults/one-cpu/manifest.json");
    let samples = place.join("samples/trial-00-repeat-00");
    fs::create_dir_all(&samples).unwrap();
    fs::write(place.join("manifest.json"), manifest).unwrap();
    let table = Table {
        source: "io".to_owned(),
        time_ns: vec![1],
        subject: vec![0],
        subjects: vec![subject.to_owned()],
        columns: vec![Column { name: "bytes".to_owned(), values: vec![Some(1)] }],
    };
    let mut stream = SampleStream::create(&samples, "io", &["bytes".to_owned()]).unwrap();
    stream.append(&table).unwrap();
    stream.finish().unwrap();
    to_parquet(&samples).unwrap();
}

/// On disk every try would wait for fsync.
fn memory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// A fleet of one host whose task has ended, and what was collected of it.
fn collected(place: &Path) -> (FleetFolder, FleetJudgement) {
    let folder = FleetFolder::create(place, Trust::Checked).unwrap();
    let (node, host_name) = ("a".to_owned(), "a".to_owned());
    let submission =
        Submission { job: 17, tasks: vec![0], at: String::new(), script: String::new() };
    let fleet = Fleet {
        tasks: vec![Task { node, host_name, seed: 1, slice: None }],
        submissions: vec![submission],
        ..Fleet::default()
    };
    let own = folder.file(FleetFolder::task_folder(0, 17).join("run"));
    run(&own, "a-group-of-the-host");
    let verdict = include_str!("../../fuzz/corpus/verdict/one-cpu.json");
    fs::write(own.join("verdict.json"), verdict).unwrap();
    let state = TaskState { state: HostState::Ended, why: None, record: None, may_change: false };
    let judgement = collect(&folder, &fleet, &[state], &Slurm::from_fleet(&fleet));
    assert!(judgement.hosts[0].verdict.is_some(), "{:?}", judgement.hosts[0]);
    (folder, judgement)
}

/// Exchanges two names until `work` is done; returns how often.
fn while_exchanging(one: &Path, other: &Path, work: impl FnOnce()) -> u64 {
    let (stop, count) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Acquire) {
                let done = renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE);
                count.fetch_add(u64::from(done.is_ok()), Ordering::Relaxed);
            }
        });
        work();
        stop.store(true, Ordering::Release);
    });
    count.load(Ordering::Relaxed)
}

/// The samples of all hosts are for everyone who may read the fleet's folder; the run behind the link is not.
#[test]
fn exchanging_a_run_for_a_link_leads_collect_nowhere() {
    let place = memory();
    let victim = place.path().join("victim");
    run(&victim, SECRET);
    for name in ["run", "run/samples", "run/samples/trial-00-repeat-00"] {
        let temp = memory();
        let (folder, judgement) = collected(&temp.path().join("fleet"));
        let own = folder.file(FleetFolder::task_folder(0, 17)).join(name);
        let link = folder.file("link");
        let inside = Path::new(name).strip_prefix("run").unwrap();
        symlink(victim.join(inside), &link).unwrap();
        let (mut whole, mut led) = (0, 0);
        let exchanged = while_exchanging(&own, &link, || {
            for _ in 0..TRIES {
                let _ = fs::remove_file(folder.file("samples/io.parquet"));
                write(&folder, &judgement).unwrap();
                let Ok(bytes) = fs::read(folder.file("samples/io.parquet")) else { continue };
                let holds =
                    |text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
                whole += u32::from(holds("a-group-of-the-host"));
                led += u32::from(holds(SECRET));
            }
        });
        assert!(exchanged > 0 && whole > 0, "{name}: {exchanged} exchanged, {whole} read");
        assert_eq!(led, 0, "{name}: of {TRIES} tries were led elsewhere ({exchanged} exchanges)");
    }
}

/// The owner of a folder of copies, who is not root, exchanges parts of it while root takes the runs.
#[test]
fn exchanging_a_copy_for_a_link_takes_nothing_else() {
    let place = memory();
    let victim = place.path().join("victim");
    run(&victim, SECRET);
    for name in ["run", "run/samples", "run/samples/trial-00-repeat-00/io.parquet"] {
        let temp = memory();
        let copies = temp.path().join("copies");
        run(&copies.join("run"), "a-group-of-the-host");
        let verdict = include_str!("../../fuzz/corpus/verdict/one-cpu.json");
        fs::write(copies.join("run/verdict.json"), verdict).unwrap();
        let (own, link) = (copies.join(name), temp.path().join("link"));
        symlink(victim.join(Path::new(name).strip_prefix("run").unwrap()), &link).unwrap();
        let mut taken = 0;
        let exchanged = while_exchanging(&own, &link, || {
            for number in 0..TRIES {
                // Enough of them were read whole while names changed.
                if taken == 5 && number >= 20 {
                    break;
                }
                let out = temp.path().join(format!("fleet-{number}"));
                let from = CopySources::open(std::slice::from_ref(&copies)).unwrap();
                let (folder, ..) = take_copies(&out, &from, Trust::Checked).unwrap();
                let io = "tasks/00/job-1/run/samples/trial-00-repeat-00/io.parquet";
                let Ok(bytes) = fs::read(folder.file(io)) else { continue };
                let holds =
                    |text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
                assert!(holds("a-group-of-the-host") && !holds(SECRET), "{name} led elsewhere");
                taken = 5.min(taken + 1);
            }
        });
        assert!(exchanged > 0 && taken > 0, "{name}: {exchanged} exchanged, {taken} taken");
    }
}
