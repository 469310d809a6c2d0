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
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use assay_test_support::HostSnapshot;
use rustix::process::Signal;

use crate::bench::Bench;
use crate::halt::image_of;
use crate::kills::draw::{Draw, Victims, When, Whole};
use crate::kills::progress::{Phase, Progress};
use crate::kills::studies::Changes;
use crate::kills::theirs::Theirs;
use crate::kills::works::Work;
use crate::running::{KILLED, Running, end_processes_in, processes_in};

/// One work's kills.
struct Kills {
    bench: Bench,
    work: Work,
    data: PathBuf,
    theirs: Theirs,
    record: File,
    seed: u64,
    draw: Draw,
    /// How many are wanted, how many rounds there were, and where the kills came.
    wanted: usize,
    rounds: usize,
    phases: BTreeMap<Phase, usize>,
    /// The last round in words, where it ended, and where its run lies.
    when: String,
    phase: Phase,
    out: PathBuf,
    /// How far restores had come that were killed.
    restores: BTreeMap<&'static str, usize>,
}

#[test]
fn kills_of_runs_with_nested_groups_and_with_partitions_leave_no_trace() {
    kill(&[(Work::Study(Changes::Knobs), 28), (Work::Study(Changes::Partitions), 28)]);
}

#[test]
fn kills_of_runs_with_queue_settings_and_in_a_directory_leave_no_trace() {
    kill(&[(Work::Study(Changes::Queue), 28), (Work::Study(Changes::Directory), 28)]);
}

#[test]
fn kills_of_the_studies_cpu_weight_and_cpu_quota_leave_no_trace() {
    kill(&[(Work::CpuWeight, 18), (Work::CpuQuota, 18)]);
}

#[test]
fn kills_of_commands_under_limits_leave_no_trace() {
    kill(&[(Work::Exec, 30)]);
}

/// By itself: what it takes back between its cases passes so quickly that a busier host would miss it.
#[test]
fn kills_of_conformance_leave_no_trace() {
    kill(&[(Work::Conform, 30)]);
}

/// Kills works again and again, with a state directory each. Each waits most of its time, so that
/// two go on at once: a round kills both, each at an instant of its own, and has both restored; the
/// host is compared when both are.
fn kill(works: &[(Work, usize)]) {
    let names: Vec<String> =
        works.iter().map(|(work, kills)| format!("{kills} kills: {}", work.name())).collect();
    let Some(bench) = Bench::on_busy_host(&names.join(", ")) else { return };
    let seed = draw::seed();
    let benches = std::iter::once(bench).chain(std::iter::repeat_with(Bench::aside));
    let mut all: Vec<Kills> = works
        .iter()
        .zip(benches)
        .map(|((work, wanted), bench)| Kills::new(bench, *work, *wanted, seed))
        .collect();
    let ledgers: Vec<PathBuf> = all.iter().map(|kills| kills.bench.path("state/ledger")).collect();
    let folders = all.iter().map(|kills| &kills.data).chain(&ledgers);
    let before = HostSnapshot::take_with(&folders.map(PathBuf::as_path).collect::<Vec<_>>());
    at_once(&mut all, Kills::watch);
    HostSnapshot::assert_same(&before, "after works that nobody killed");
    while all.iter().any(Kills::goes_on) {
        at_once(&mut all, Kills::round);
        let when: Vec<&str> = all.iter().map(|kills| kills.when.as_str()).collect();
        HostSnapshot::assert_same(&before, &when.join("; "));
        all.iter_mut().for_each(Kills::assert_nothing_is_left);
    }
    all.iter_mut().for_each(Kills::assert_enough);
}

/// Does the same with each at once.
fn at_once(all: &mut [Kills], work: impl Fn(&mut Kills) + Sync) {
    thread::scope(|scope| {
        for kills in all {
            let work = &work;
            scope.spawn(move || work(kills));
        }
    });
}

impl Kills {
    fn new(bench: Bench, work: Work, wanted: usize, seed: u64) -> Self {
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
            wanted,
            rounds: 0,
            phases: BTreeMap::new(),
            when: String::new(),
            phase: Phase::BeforeTheLedger,
            restores: BTreeMap::new(),
        }
    }

    fn start(&self) -> Running {
        let command = self.work.command(&self.bench, &self.data, &self.out);
        Running::start(command, self.bench.folder(), self.out.clone())
    }

    /// A work that nobody kills, from which rounds are drawn. Taking back may be over between two
    /// looks; then another one.
    fn watch(&mut self) {
        let mut seen = self.watched();
        for _ in 0..9 {
            if seen.phases.len() > 1 {
                break;
            }
            seen = self.watched();
        }
        assert!(seen.phases.len() > 1, "only {:?}", seen.phases);
        self.draw = Draw::new(self.seed, seen);
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
        assert!(whole.times.len() > 5, "only {} marks", whole.times.len());
        fs::remove_dir_all(&self.out).unwrap();
        whole
    }

    fn killed(&self) -> usize {
        self.phases.values().sum()
    }

    /// A work that is over before its instant comes is none of the kills. A phase that passes quickly
    /// may be missed as often as was asked for, and is then tried again.
    fn goes_on(&self) -> bool {
        let is_enough = self.killed() >= self.wanted && self.draw.missing().is_empty();
        !is_enough && self.rounds < 3 * self.wanted
    }

    /// One kill, unless there were enough or the work was over before, and a restore.
    fn round(&mut self) {
        if !self.goes_on() {
            return;
        }
        let round = self.draw.round();
        self.out = self.bench.path(&format!("run-{}", self.rounds));
        let mut run = self.start();
        if self.wait_for(&mut run, 0, &round.when) {
            run.signal(Signal::KILL);
            if round.victims == Victims::AllThatItStarted {
                end_processes_in(&self.out);
            }
        }
        let ended = run.end(KILLED);
        let phase = Progress::look(&self.bench, &self.out).phase();
        self.phase = phase;
        self.when = format!("seed {}, round {}, {round:?}, {phase:?}", self.seed, self.rounds);
        writeln!(self.record, "{}: {}", self.when, ended.status).unwrap();
        self.rounds += 1;
        if ended.status.code().is_none() {
            self.draw.hit(phase);
            *self.phases.entry(phase).or_default() += 1;
        }
        if let Some(instant) = &round.restore_killed {
            self.kill_a_restore(instant);
        }
        let restored = self.bench.assay(["restore"]);
        assert_eq!(restored.status.code(), Some(0), "{}\n{}", self.when, restored.stderr);
    }

    /// What a round must not leave beside the host.
    fn assert_nothing_is_left(&mut self) {
        self.theirs.assert_untouched(&self.when);
        self.assert_folder_is_clean();
        let _ = fs::remove_dir_all(&self.out);
    }

    fn assert_enough(&mut self) {
        let (killed, phases, restores) = (self.killed(), &self.phases, &self.restores);
        let summary = format!("{killed}: {phases:?}; restores: {restores:?}");
        writeln!(self.record, "{summary}").unwrap();
        let seed = self.seed;
        eprintln!("{}, seed {seed}: {summary}", self.work.name());
        assert!(killed >= self.wanted, "seed {seed}: too many were over before they were killed");
        let missing = self.draw.missing();
        assert!(missing.is_empty(), "seed {seed}: no kill in {missing:?}: {:?}", self.phases);
    }

    /// Starts a restore, kills it, and notes how far it had come.
    fn kill_a_restore(&mut self, when: &When) {
        let out = self.out.clone();
        let before = Progress::look(&self.bench, &out);
        let mut command = self.bench.program();
        command.arg("restore");
        let mut restore = Running::start(command, self.bench.folder(), out.clone());
        self.wait_for(&mut restore, before.marks(), when);
        restore.kill_if_alive();
        let after = Progress::look(&self.bench, &out);
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
    fn assert_folder_is_clean(&self) {
        let (out, when) = (&self.out, &self.when);
        assert_eq!(image_of(out), None, "{when}");
        assert!(!out.join("mnt").exists(), "{when}, the run folder keeps a mount point");
        // Programs that are asked for their versions, before the ledger, end by themselves.
        let patience = u64::from(self.phase == Phase::BeforeTheLedger) * 20;
        let until = Instant::now() + Duration::from_secs(patience);
        while Instant::now() < until && !processes_in(out).is_empty() {
            sleep(Duration::from_millis(20));
        }
        let processes = processes_in(out);
        assert!(processes.is_empty(), "{when}, processes are left: {processes:?}");
    }
}
