//! SIGKILL or SIGTERM at random instants of what runs longer than a moment, in each of its phases; then `assay restore`,
//! which is sometimes killed as well; then the whole host is compared with its state before.
//!
//! Each suite draws other instants. `ASSAY_TEST_KILLS=5` takes five times as many, more than 300, as before a release.
//! The instants are drawn from a seed, which every failure names and which is recorded with all instants in
//! `kills-WORK.txt` in cargo's folder for test files. `ASSAY_TEST_SEED=N` repeats them.

mod adverse;
pub(crate) mod draw;
mod progress;
mod studies;
pub(crate) mod theirs;
pub(crate) mod works;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use assay_test_support::{HostSnapshot, Noise, entries, is_quick};
use rustix::process::Signal;

use crate::bench::Bench;
use crate::halt::image_of;
use crate::kills::draw::{Draw, Victims, When, Whole};
use crate::kills::progress::{Phase, Progress};
use crate::kills::studies::Changes;
use crate::kills::theirs::Theirs;
use crate::kills::works::Work;
use crate::running::{KILLED, Running, end_processes_in, processes_in};

/// The kills of one work.
struct Kills {
    bench: Bench,
    work: Work,
    data: PathBuf,
    theirs: Theirs,
    record: File,
    seed: u64,
    draw: Draw,
    /// The number of kills to reach, the rounds so far, and the kills by phase.
    target: usize,
    rounds: usize,
    phases: BTreeMap<Phase, usize>,
    /// How many of them were by SIGTERM.
    by_term: usize,
    /// Description of the last round, the phase in which it ended, and its run folder.
    when: String,
    phase: Phase,
    out: PathBuf,
    /// Progress of the restores that were killed.
    restores: BTreeMap<&'static str, usize>,
}

#[test]
fn kills_of_runs_with_nested_groups_and_with_partitions_leave_no_trace() {
    kill(&[(Work::Study(Changes::Knobs), 5), (Work::Study(Changes::Partitions), 5)]);
}

#[test]
fn kills_of_runs_with_queue_settings_and_in_a_directory_leave_no_trace() {
    kill(&[(Work::Study(Changes::Queue), 5), (Work::Study(Changes::Directory), 5)]);
}

#[test]
fn kills_of_the_studies_cpu_weight_and_cpu_quota_leave_no_trace() {
    kill(&[(Work::CpuWeight, 4), (Work::CpuQuota, 4)]);
}

#[test]
fn kills_of_runs_that_record_waits_and_of_probes_leave_no_trace() {
    kill(&[(Work::Evidence, 4), (Work::Probe, 4)]);
}

#[test]
fn kills_of_diagnose_and_of_blame_leave_no_trace() {
    kill(&[(Work::Diagnose, 5), (Work::Blame, 5)]);
}

#[test]
fn kills_of_commands_under_limits_leave_no_trace() {
    kill(&[(Work::Exec, 6)]);
}

/// Alone: restoring between cases is so quick that a busier host would miss it.
#[test]
fn kills_of_conformance_leave_no_trace() {
    kill(&[(Work::Conform, 6)]);
}

/// Whatever others make and remove meanwhile, with Assay's prefix or without.
#[test]
fn kills_beside_foreign_groups_loop_devices_and_mounts_leave_no_trace() {
    if is_quick("kills beside others") || !rustix::process::geteuid().is_root() {
        return;
    }
    let noise = Noise::start();
    kill(&[(Work::CpuWeight, 3), (Work::Study(Changes::Queue), 3)]);
    assert!(noise.rounds() > 10, "{} rounds", noise.rounds());
}

/// Kills works repeatedly, each with its own state directory. They mostly wait, so two run at once: a round
/// kills both, each at its own instant, and restores both; then the host is compared.
fn kill(works: &[(Work, usize)]) {
    let names: Vec<String> =
        works.iter().map(|(work, kills)| format!("{kills} kills: {}", work.name())).collect();
    let Some(bench) = Bench::on_host(&names.join(", ")) else { return };
    let seed = draw::seed();
    let benches = std::iter::once(bench).chain(std::iter::repeat_with(Bench::aside));
    let mut all: Vec<Kills> = works
        .iter()
        .zip(benches)
        .map(|((work, target), bench)| Kills::new(bench, *work, target * times(), seed))
        .collect();
    let ledgers: Vec<PathBuf> = all.iter().map(|kills| kills.bench.path("state/ledger")).collect();
    let folders = all.iter().map(|kills| &kills.data).chain(&ledgers);
    let before = HostSnapshot::take_with(&folders.map(PathBuf::as_path).collect::<Vec<_>>());
    at_once(&mut all, Kills::watch);
    HostSnapshot::assert_same(&before, "after works that were not killed");
    while all.iter().any(Kills::goes_on) {
        at_once(&mut all, Kills::round);
        let when: Vec<&str> = all.iter().map(|kills| kills.when.as_str()).collect();
        HostSnapshot::assert_same(&before, &when.join("; "));
        all.iter_mut().for_each(Kills::assert_nothing_is_left);
    }
    all.iter_mut().for_each(Kills::assert_enough);
}

/// How many times as many kills as usual, or other tries at random points.
pub(crate) fn times() -> usize {
    std::env::var("ASSAY_TEST_KILLS").map_or(1, |text| text.parse().unwrap())
}

/// Applies a function to all at the same time.
fn at_once(all: &mut [Kills], work: impl Fn(&mut Kills) + Sync) {
    thread::scope(|scope| {
        for kills in all {
            let work = &work;
            scope.spawn(move || work(kills));
        }
    });
}

impl Kills {
    fn new(bench: Bench, work: Work, target: usize, seed: u64) -> Self {
        let data = bench.path("data");
        fs::create_dir(&data).unwrap();
        fs::write(data.join("theirs"), "of the user").unwrap();
        fs::create_dir_all(bench.path("state/ledger")).unwrap();
        let name = format!("kills-{}.txt", work.name());
        let mut record = File::create(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)).unwrap();
        writeln!(record, "ASSAY_TEST_SEED={seed}").unwrap();
        Self {
            out: bench.path("whole"),
            bench,
            work,
            data,
            theirs: Theirs::make(),
            record,
            seed,
            draw: Draw::new(seed, Whole::default()),
            target,
            rounds: 0,
            phases: BTreeMap::new(),
            by_term: 0,
            when: String::new(),
            phase: Phase::BeforeTheLedger,
            restores: BTreeMap::new(),
        }
    }

    fn start(&self) -> Running {
        let command = self.work.command(&self.bench, &self.theirs.path, &self.data, &self.out);
        Running::start(command, self.bench.folder(), self.out.clone())
    }

    /// Observes an undisturbed work, from which rounds are drawn. Its restore may pass between two
    /// observations; then it is repeated.
    fn watch(&mut self) {
        let mut whole = self.watched();
        let is_seen = |whole: &Whole| whole.phases.len() > 1;
        for _ in 0..9 {
            if is_seen(&whole) {
                break;
            }
            whole = self.watched();
        }
        assert!(is_seen(&whole), "only {:?}", whole.phases);
        self.draw = Draw::new(self.seed, whole);
    }

    fn watched(&self) -> Whole {
        let begun = Instant::now();
        let mut run = self.start();
        let mut whole = Whole::default();
        let mut last = begun;
        while !run.has_ended() {
            let progress = Progress::look(&self.bench, &self.out);
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
        assert!(whole.times.len() > 3, "only {} marks", whole.times.len());
        fs::remove_dir_all(&self.out).unwrap();
        whole
    }

    fn killed(&self) -> usize {
        self.phases.values().sum()
    }

    /// A work that ends before its instant does not count as a kill. A short phase may be missed in the
    /// planned rounds and is then tried again.
    fn goes_on(&self) -> bool {
        let is_enough = self.killed() >= self.target && self.draw.missing().is_empty();
        !is_enough && self.rounds < 3 * self.target + 60
    }

    /// One kill, unless there were enough or the work ended before, and a restore.
    fn round(&mut self) {
        if !self.goes_on() {
            return;
        }
        let round = self.draw.round();
        self.out = self.bench.path(&format!("run-{}", self.rounds));
        let mut run = self.start();
        let mut at_signal = Progress::default();
        if self.wait_for(&mut run, 0, &round.when) {
            at_signal = Progress::look(&self.bench, &self.out);
            run.signal(round.signal);
            if round.victims == Victims::AllThatItStarted {
                end_processes_in(&self.out);
            }
        }
        let ended = run.end(KILLED);
        // SIGKILL leaves what it met.
        let phase = match round.signal {
            Signal::TERM => at_signal.phase(),
            _ => Progress::look(&self.bench, &self.out).phase(),
        };
        self.phase = phase;
        self.when = format!("seed {}, round {}, {round:?}, {phase:?}", self.seed, self.rounds);
        writeln!(self.record, "{}: {}", self.when, ended.status).unwrap();
        self.rounds += 1;
        if !matches!(ended.status.code(), Some(0 | 1 | 3)) {
            self.draw.hit(phase);
            *self.phases.entry(phase).or_default() += 1;
            self.by_term += usize::from(round.signal == Signal::TERM);
        }
        if round.signal == Signal::TERM {
            let left = entries(&self.bench.path("state/ledger"));
            assert!(left.is_empty(), "{}, {left:?} is not restored\n{}", self.when, ended.stderr);
        }
        if let Some(instant) = &round.restore_killed {
            self.kill_a_restore(instant);
        }
        let restored = self.bench.assay(["restore"]);
        assert_eq!(restored.status.code(), Some(0), "{}\n{}", self.when, restored.stderr);
    }

    /// Asserts that a round leaves nothing behind in foreign groups and in the run folder.
    fn assert_nothing_is_left(&mut self) {
        self.theirs.assert_untouched(&self.when);
        self.assert_folder_is_clean();
        let _ = fs::remove_dir_all(&self.out);
    }

    fn assert_enough(&mut self) {
        let (killed, phases, restores) = (self.killed(), &self.phases, &self.restores);
        let by_term = self.by_term;
        let summary = format!("{killed}, {by_term} by SIGTERM: {phases:?}; restores: {restores:?}");
        writeln!(self.record, "{summary}").unwrap();
        let seed = self.seed;
        eprintln!("{}, seed {seed}: {summary}", self.work.name());
        assert!(killed >= self.target, "seed {seed}: too many were over before they were killed");
        let missing = self.draw.missing();
        assert!(missing.is_empty(), "seed {seed}: no kill in {missing:?}: {:?}", self.phases);
    }

    /// Starts a restore, kills it, and records its progress.
    fn kill_a_restore(&mut self, when: &When) {
        let out = self.out.clone();
        let before = Progress::look(&self.bench, &out);
        let mut command = self.bench.program();
        command.arg("restore");
        let mut restore = Running::start(command, self.bench.folder(), out.clone());
        self.wait_for(&mut restore, before.marks(), when);
        restore.kill_if_alive();
        let after = Progress::look(&self.bench, &out);
        let progress = match (before.has_ledger(), after.has_ledger()) {
            (false, _) => "nothing to do",
            (true, false) => "done",
            (true, true) if after.lines() > before.lines() => "midway",
            (true, true) => "before the first change",
        };
        *self.restores.entry(progress).or_default() += 1;
    }

    /// Waits until the instant, with marks counted from `first`; returns whether the program is still
    /// alive.
    fn wait_for(&self, run: &mut Running, first: usize, when: &When) -> bool {
        let pause = match when {
            When::Time(pause) => *pause,
            When::After { marks, pause } => {
                while Progress::count_marks(&self.bench, run.out()) < first + marks {
                    if run.has_ended() {
                        return false;
                    }
                    sleep(Duration::from_micros(500));
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

    /// Asserts that the run folder has no image, mount point or process.
    fn assert_folder_is_clean(&self) {
        let (out, when) = (&self.out, &self.when);
        assert_eq!(image_of(out), None, "{when}");
        assert!(!out.join("mnt").exists(), "{when}, the run folder keeps a mount point");
        // Programs started for their versions, before the ledger, end by themselves.
        let patience = u64::from(self.phase == Phase::BeforeTheLedger) * 20;
        let until = Instant::now() + Duration::from_secs(patience);
        while Instant::now() < until && !processes_in(out).is_empty() {
            sleep(Duration::from_millis(20));
        }
        let processes = processes_in(out);
        assert!(processes.is_empty(), "{when}, processes are left: {processes:?}");
    }
}
