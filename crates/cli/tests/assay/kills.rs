//! SIGKILL at more than 200 random instants of real runs, commands under limits and cases of
//! conformance, which change the host in different ways; then `assay restore`, which is itself
//! killed at times; then the whole host is compared with what it was.
//!
//! The instants are drawn from a seed that stands in every failure and, with every instant, in
//! `kills-WORK.txt` in cargo's folder for files of tests. `ASSAY_TEST_SEED=N` draws them again.

mod adverse;
mod draw;
mod progress;
mod studies;
mod theirs;
mod works;

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
use crate::kills::draw::{Draw, Round, Victims, When, Whole};
use crate::kills::progress::{Phase, Progress};
use crate::kills::studies::Changes;
use crate::kills::theirs::Theirs;
use crate::kills::works::Work;
use crate::running::{KILLED, Running, end_processes_in, processes_in};

/// One work's kills: what they share.
struct Kills {
    bench: Bench,
    work: Work,
    data: PathBuf,
    theirs: Theirs,
    before: Picture,
    record: File,
    seed: u64,
    /// How far restores had come that were killed.
    restores: BTreeMap<&'static str, usize>,
}

#[test]
fn kills_of_runs_with_partitions_and_file_systems_leave_no_trace() {
    kill_again_and_again(Work::Study(Changes::Partitions), 28);
}

#[test]
fn kills_of_runs_with_queue_settings_leave_no_trace() {
    kill_again_and_again(Work::Study(Changes::Queue), 28);
}

#[test]
fn kills_of_runs_with_nested_groups_and_knobs_leave_no_trace() {
    kill_again_and_again(Work::Study(Changes::Knobs), 28);
}

#[test]
fn kills_of_runs_in_a_directory_leave_no_trace() {
    kill_again_and_again(Work::Study(Changes::Directory), 28);
}

#[test]
fn kills_of_the_study_cpu_weight_leave_no_trace() {
    kill_again_and_again(Work::CpuWeight, 18);
}

#[test]
fn kills_of_the_study_cpu_quota_leave_no_trace() {
    kill_again_and_again(Work::CpuQuota, 18);
}

#[test]
fn kills_of_commands_under_limits_leave_no_trace() {
    kill_again_and_again(Work::Exec, 30);
}

#[test]
fn kills_of_conformance_leave_no_trace() {
    kill_again_and_again(Work::Conform, 30);
}

fn kill_again_and_again(work: Work, kills: usize) {
    let Some(bench) = Bench::on_busy_host(&format!("{kills} kills: {}", work.name())) else {
        return;
    };
    let seed = draw::seed();
    let begun = Instant::now();
    let mut all = Kills::new(bench, work, seed);
    let whole = all.whole();
    let mut draw = Draw::new(seed, whole);
    let mut phases: BTreeMap<Phase, usize> = BTreeMap::new();
    let mut killed = 0;
    // A work that is over before its instant comes is none of the kills. A phase that passes quickly
    // may be missed as often as was asked for, and is then tried again.
    for number in 0..3 * kills {
        if killed >= kills && draw.missing().is_empty() {
            break;
        }
        let round = draw.round();
        if let Some(phase) = all.round(number, &round) {
            killed += 1;
            draw.hit(phase);
            *phases.entry(phase).or_default() += 1;
        }
    }
    let seconds = begun.elapsed().as_secs();
    let summary = format!("{killed} in {seconds} s: {phases:?}; restores: {:?}", all.restores);
    writeln!(all.record, "{summary}").unwrap();
    eprintln!("{}, seed {seed}: {summary}", work.name());
    assert!(killed >= kills, "seed {seed}: too many were over before they were killed");
    let missing = draw.missing();
    assert!(missing.is_empty(), "seed {seed}: no kill in {missing:?}: {phases:?}");
}

impl Kills {
    fn new(bench: Bench, work: Work, seed: u64) -> Self {
        let data = bench.path("data");
        fs::create_dir(&data).unwrap();
        fs::write(data.join("theirs"), "of the user").unwrap();
        let ledgers = bench.path("state/ledger");
        fs::create_dir_all(&ledgers).unwrap();
        let theirs = Theirs::make();
        let before = Picture::take_with(&[&data, &ledgers]);
        let name = format!("kills-{}.txt", work.name());
        let mut record = File::create(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)).unwrap();
        writeln!(record, "ASSAY_TEST_SEED={seed}").unwrap();
        Self { bench, work, data, theirs, before, record, seed, restores: BTreeMap::new() }
    }

    fn start(&self, out: &Path) -> Running {
        let command = self.work.command(&self.bench, &self.data, out);
        Running::start(command, self.bench.folder(), out.to_owned())
    }

    /// A work that nobody kills. Taking back may be over between two looks; then another one.
    fn whole(&self) -> Whole {
        let mut seen = self.watched();
        for _ in 0..9 {
            if seen.phases.len() > 1 {
                break;
            }
            seen = self.watched();
        }
        assert!(seen.phases.len() > 1, "only {:?}", seen.phases);
        seen
    }

    fn watched(&self) -> Whole {
        let out = self.bench.path("whole");
        let begun = Instant::now();
        let mut run = self.start(&out);
        let mut whole = Whole::default();
        let mut last = begun;
        while !run.has_ended() {
            let progress = Progress::look(&self.bench, &out);
            whole.times.resize(whole.times.len().max(progress.marks()), begun.elapsed());
            if progress.has_ledger() {
                let first = (progress.marks(), Duration::ZERO);
                whole.phases.entry(progress.phase()).or_insert(first).1 += last.elapsed();
            }
            last = Instant::now();
            sleep(Duration::from_millis(1));
        }
        whole.times.push(begun.elapsed());
        run.end(Duration::from_secs(1)).assert_verdict();
        assert!(whole.times.len() > 5, "only {} marks", whole.times.len());
        Picture::assert_same(&self.before, "after a work that nobody killed");
        fs::remove_dir_all(out).unwrap();
        whole
    }

    /// One kill, and the phase in which it came; `None` when the work was over before.
    fn round(&mut self, number: usize, round: &Round) -> Option<Phase> {
        let out = self.bench.path(&format!("run-{number}"));
        let mut run = self.start(&out);
        let alive = self.wait_for(&mut run, 0, &round.when);
        if alive {
            run.signal(Signal::KILL);
            if round.victims == Victims::AllThatItStarted {
                end_processes_in(&out);
            }
        }
        let ended = run.end(KILLED);
        let phase = Progress::look(&self.bench, &out).phase();
        let when = format!("seed {}, round {number}, {round:?}, {phase:?}", self.seed);
        writeln!(self.record, "{when}: {}", ended.status).unwrap();
        if let Some(instant) = &round.restore_killed {
            self.kill_a_restore(&out, instant);
        }
        let restored = self.bench.assay(["restore"]);
        assert_eq!(restored.status.code(), Some(0), "{when}\n{}", restored.stderr);
        Picture::assert_same(&self.before, &when);
        self.theirs.assert_untouched(&when);
        self.assert_folder_is_clean(&out, phase, &when);
        let _ = fs::remove_dir_all(&out);
        (ended.status.code().is_none()).then_some(phase)
    }

    /// Starts a restore, kills it, and notes how far it had come.
    fn kill_a_restore(&mut self, out: &Path, when: &When) {
        let before = Progress::look(&self.bench, out);
        let mut command = self.bench.program();
        command.arg("restore");
        let mut restore = Running::start(command, self.bench.folder(), out.to_owned());
        self.wait_for(&mut restore, before.marks(), when);
        restore.kill_if_alive();
        let after = Progress::look(&self.bench, out);
        let came_to = match (before.has_ledger(), after.has_ledger()) {
            (false, _) => "nothing to do",
            (true, false) => "done",
            (true, true) if after.lines() > before.lines() => "midway",
            (true, true) => "before the first change",
        };
        *self.restores.entry(came_to).or_default() += 1;
    }

    /// Waits until the instant has come, with marks counted from `first`; says whether the
    /// program still lives then.
    fn wait_for(&self, run: &mut Running, first: usize, when: &When) -> bool {
        let pause = match when {
            When::Time(pause) => *pause,
            When::After { marks, pause } => {
                while Progress::look(&self.bench, run.out()).marks() < first + marks {
                    if run.has_ended() {
                        return false;
                    }
                    sleep(Duration::from_micros(50));
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

    /// What was recorded stays; images, mount points and processes do not.
    fn assert_folder_is_clean(&self, out: &Path, phase: Phase, when: &str) {
        assert_eq!(image_of(out), None, "{when}");
        assert!(!out.join("mnt").exists(), "{when}, the run folder keeps a mount point");
        // Programs that are asked for their versions, before the ledger, end by themselves.
        let patience = u64::from(phase == Phase::BeforeTheLedger) * 20;
        let until = Instant::now() + Duration::from_secs(patience);
        while Instant::now() < until && !processes_in(out).is_empty() {
            sleep(Duration::from_millis(20));
        }
        let processes = processes_in(out);
        assert!(processes.is_empty(), "{when}, processes are left: {processes:?}");
    }
}
