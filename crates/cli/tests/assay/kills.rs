//! SIGKILL at 200 random instants of real runs, over studies that change the host in different
//! ways; then `assay restore`, which is itself killed at times; then the whole host is compared
//! with what it was.
//!
//! The instants are drawn from a seed that stands in every failure and, with every instant, in
//! `kills-STUDY.txt` in cargo's folder for files of tests. `ASSAY_TEST_SEED=N` draws them again.

mod draw;
mod studies;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use assay_testbed::Picture;
use rustix::process::Signal;

use crate::bench::Bench;
use crate::halt::image_of;
use crate::kills::draw::{Draw, Round, Victims, When};
use crate::kills::studies::Changes;
use crate::running::{Running, end_processes_in, processes_in};

/// Kills for each of the four studies.
const KILLS: usize = 50;

/// One study's kills: what they share.
struct Kills {
    bench: Bench,
    study: PathBuf,
    before: Picture,
    record: File,
    seed: u64,
}

#[test]
fn fifty_kills_of_runs_with_partitions_and_file_systems_leave_no_trace() {
    kill_again_and_again(Changes::Partitions);
}

#[test]
fn fifty_kills_of_runs_with_queue_settings_leave_no_trace() {
    kill_again_and_again(Changes::Queue);
}

#[test]
fn fifty_kills_of_runs_with_nested_groups_and_knobs_leave_no_trace() {
    kill_again_and_again(Changes::Knobs);
}

#[test]
fn fifty_kills_of_runs_in_a_directory_leave_no_trace() {
    kill_again_and_again(Changes::Directory);
}

fn kill_again_and_again(changes: Changes) {
    let Some(bench) = Bench::on_host(&format!("50 kills: {changes:?}")) else { return };
    let seed = draw::seed();
    let mut kills = Kills::new(bench, changes, seed);
    let whole = kills.whole_run();
    let mut draw = Draw::new(seed, whole);
    let mut phases: BTreeMap<String, usize> = BTreeMap::new();
    let mut killed = 0;
    // A run that is over before its instant comes is none of the fifty.
    for number in 0..2 * KILLS {
        if killed == KILLS {
            break;
        }
        let round = draw.round();
        if let Some(phase) = kills.round(number, &round) {
            killed += 1;
            *phases.entry(phase).or_default() += 1;
        }
    }
    assert_eq!(killed, KILLS, "seed {seed}: too many runs were over before they were killed");
    writeln!(kills.record, "kills by phase: {phases:?}").unwrap();
    eprintln!("{changes:?}, seed {seed}: {phases:?}");
    assert!(phases.len() >= 4, "seed {seed}: killed in too few phases: {phases:?}");
}

impl Kills {
    fn new(bench: Bench, changes: Changes, seed: u64) -> Self {
        let data = bench.path("data");
        fs::create_dir(&data).unwrap();
        fs::write(data.join("theirs"), "of the user").unwrap();
        let ledgers = bench.path("state/ledger");
        fs::create_dir_all(&ledgers).unwrap();
        let study = bench.write("study.toml", &changes.study(&data));
        let before = Picture::take_with(&[&data, &ledgers]);
        let name = format!("kills-{changes:?}.txt").to_lowercase();
        let mut record = File::create(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)).unwrap();
        writeln!(record, "ASSAY_TEST_SEED={seed}").unwrap();
        Self { bench, study, before, record, seed }
    }

    fn start(&self, out: &Path) -> Running {
        let mut command = self.bench.program();
        command.arg("run").arg(&self.study).arg("--out").arg(out);
        Running::start(command, self.bench.folder(), out.to_owned())
    }

    /// The times of the events of a run that nobody kills, from its start, and its end.
    fn whole_run(&self) -> Vec<Duration> {
        let out = self.bench.path("whole");
        let begun = Instant::now();
        let mut run = self.start(&out);
        let mut times = Vec::new();
        while !run.has_ended() {
            while times.len() < events(&out).len() {
                times.push(begun.elapsed());
            }
            sleep(Duration::from_millis(1));
        }
        times.push(begun.elapsed());
        run.end(Duration::from_secs(1)).assert_verdict();
        assert!(times.len() > 5, "only {} events", times.len());
        Picture::assert_same(&self.before, "after a run that nobody killed");
        fs::remove_dir_all(out).unwrap();
        times
    }

    /// One kill, and the phase in which it came; `None` when the run was over before.
    fn round(&mut self, number: usize, round: &Round) -> Option<String> {
        let out = self.bench.path(&format!("run-{number}"));
        let mut run = self.start(&out);
        let alive = wait_for(&mut run, &round.when);
        let phase = events(&out).pop().unwrap_or_else(|| "(before the first event)".to_owned());
        if alive {
            run.signal(Signal::KILL);
            if round.victims == Victims::AllThatItStarted {
                end_processes_in(&out);
            }
        }
        let ended = run.end(Duration::from_secs(10));
        let when = format!("seed {}, round {number}, {round:?}, in `{phase}`", self.seed);
        writeln!(self.record, "{when}: {}", ended.status).unwrap();
        if let Some(pause) = round.restore_killed_after {
            let mut command = self.bench.program();
            command.arg("restore");
            let mut restore = Running::start(command, self.bench.folder(), out.clone());
            wait_for(&mut restore, &When::Time(pause));
            restore.kill_if_alive();
        }
        let restored = self.bench.assay(["restore"]);
        assert_eq!(restored.status.code(), Some(0), "{when}\n{}", restored.stderr);
        Picture::assert_same(&self.before, &when);
        self.assert_folder_is_clean(&out, &when);
        let _ = fs::remove_dir_all(&out);
        (ended.status.code().is_none()).then_some(phase)
    }

    /// What was recorded stays; images, mount points and processes do not.
    fn assert_folder_is_clean(&self, out: &Path, when: &str) {
        assert_eq!(image_of(out), None, "{when}");
        assert!(!out.join("mnt").exists(), "{when}, the run folder keeps a mount point");
        let processes = processes_in(out);
        assert!(processes.is_empty(), "{when}, processes are left: {processes:?}");
    }
}

/// The texts of the events that a run has written so far.
fn events(out: &Path) -> Vec<String> {
    let text = fs::read_to_string(out.join("events.jsonl")).unwrap_or_default();
    let events = text.lines().filter_map(|line| serde_json::from_str(line).ok());
    events.map(|event: serde_json::Value| event["text"].as_str().unwrap().to_owned()).collect()
}

/// Waits until the instant has come; says whether the program still lives then.
fn wait_for(run: &mut Running, when: &When) -> bool {
    let pause = match when {
        When::Time(pause) => *pause,
        When::After { events: wanted, pause } => {
            while events(run.out()).len() < *wanted {
                if run.has_ended() {
                    return false;
                }
                sleep(Duration::from_micros(300));
            }
            *pause
        }
    };
    let until = Instant::now() + pause;
    while Instant::now() < until {
        if run.has_ended() {
            return false;
        }
        sleep(until.saturating_duration_since(Instant::now()).min(Duration::from_millis(5)));
    }
    !run.has_ended()
}
