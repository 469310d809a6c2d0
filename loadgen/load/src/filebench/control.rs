//! Executes the steps of a script in order, up to the run that ends them.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use assay_sys::kernel::anonymous_memory::HugePages;
use assay_sys::kernel::{Root, clock, signal};
use serde_json::{Value, json};

use super::files::prepare::{Draws, Ready, prepare};
use super::flow::Run;
use super::log::Log;
use super::output::{self, Snapshot};
use super::size;
use super::uniform::{Drand48, Rand, ThreadRandom};
use super::workload::{Period, Step, Workload};
use crate::failure::Failure;
use crate::generator::{Finished, Report};
use crate::measured::Backing;
use crate::output::Reporter;

/// Command-line settings that apply besides the script.
pub(super) struct Options {
    pub(super) corrected: bool,
    pub(super) anyway: bool,
    pub(super) huge: HugePages,
    pub(super) seed: Option<u64>,
    pub(super) script: String,
}

/// Behaviour that `--corrected` changes.
const CORRECTED: [&str; 2] =
    ["writewholefile writes no more than the file", "minimum latency ignores idle instances"];

/// Executes a workload; `ready` is called once, when files and processes are ready.
pub(super) fn run(
    workload: &Workload,
    options: &Options,
    ready: &dyn Fn() -> Result<u64, Failure>,
    reporter: &dyn Reporter,
) -> Result<Finished, Failure> {
    let mut control =
        Control { workload, options, log: Log::begin(reporter), ready: None, samples: Vec::new() };
    for note in &workload.notes {
        reporter.line(&format!("note: {note}"));
    }
    if options.corrected {
        control.log.line(&format!("Corrected: {}", CORRECTED.join("; ")));
    }
    for step in &workload.steps {
        if let Some((seconds, period)) = control.step(step)? {
            return control.load(seconds, period, ready);
        }
    }
    control.log.line("Warning: no run command in the WML script! (--run SECONDS runs it)");
    let report = Report { text: control.log.into_text(), json: json!({ "ran": false }) };
    Ok(Finished { report, backing: Backing::read(&Root::real()) })
}

struct Control<'w> {
    workload: &'w Workload,
    options: &'w Options,
    log: Log<'w>,
    ready: Option<Vec<Ready>>,
    /// Statistics of all periods, the last included.
    samples: Vec<Snapshot>,
}

/// Measurements besides the operation statistics.
struct Measured {
    took: u64,
    cpu_ns: Option<u64>,
    backing: Backing,
}

impl Control<'_> {
    /// Executes one step; returns the run instead of executing it.
    fn step(&mut self, step: &Step) -> Result<Option<(u64, Option<Period>)>, Failure> {
        match step {
            Step::Echo(text) => self.log.line(text),
            Step::Sleep(seconds) => {
                self.log.line("Sleeping...");
                std::thread::sleep(Duration::from_secs(*seconds));
                self.log.line(&format!("Slept for {seconds} seconds..."));
            }
            Step::System(command) => self.system(command)?,
            Step::ListFileSets => self.list_sets(),
            Step::ListFlowOps => self.list_operations(),
            Step::Create => self.create()?,
            Step::Run { seconds, period } => {
                self.create()?;
                return Ok(Some((*seconds, *period)));
            }
        }
        Ok(None)
    }

    fn system(&mut self, command: &str) -> Result<(), Failure> {
        let output = Command::new("sh").arg("-c").arg(command).output();
        let output =
            output.map_err(|error| super::io_error::unable("start", Path::new("sh"), &error))?;
        self.log.verbatim(&String::from_utf8_lossy(&output.stdout));
        if !output.stderr.is_empty() {
            self.log.reporter().line(String::from_utf8_lossy(&output.stderr).trim_end());
        }
        Ok(())
    }

    fn list_sets(&mut self) {
        self.log.line("File or Fileset name           file size   dir width   entries");
        for set in &self.workload.sets {
            let name = format!("{}/{}", set.path.display(), set.name);
            let (size, width) = (set.size.mean() as u64, set.width.mean() as u64);
            self.log.line(&if set.single {
                format!("{name:<30}{size:9}     (Single File)")
            } else {
                format!("{name:<30}{size:9}{width:12}{:10}", set.entries)
            });
        }
    }

    fn list_operations(&mut self) {
        for line in self.workload.lines.iter().rev() {
            self.log.line(&format!("flow-op {}", line.name));
        }
    }

    /// Creates all file sets, once.
    fn create(&mut self) -> Result<(), Failure> {
        if self.ready.is_some() {
            self.log.line("Attempting to create fileset more than once, ignoring");
            return Ok(());
        }
        size::check_storage(self.workload, self.options.anyway, self.log.reporter())?;
        self.log.line("Populating and pre-allocating filesets");
        let seed = self.options.seed;
        let source = seed.map_or_else(Drand48::unseeded, Drand48::seeded);
        let mut draws = Draws {
            source: self.workload.source.as_deref().unwrap_or(&source),
            rand: Rand::seeded(seed.unwrap_or(1) as u32),
            own: ThreadRandom::seeded(seed.unwrap_or(0)),
        };
        let threads = self.workload.thread_count() as usize;
        let mut ready: Vec<Option<Ready>> = self.workload.sets.iter().map(|_| None).collect();
        // filebench keeps its sets in a list that grows at its head: the last one defined comes
        // first.
        for at in (0..ready.len()).rev() {
            let (set, reporter) = (&self.workload.sets[at], self.log.reporter());
            let what = format!("{}: files", set.name);
            let progress = |done, all| reporter.progress(&what, done, all);
            let mut log = |line: String| self.log.line(&line);
            ready[at] = Some(prepare(set, &mut draws, threads, &mut log, &progress)?);
        }
        self.log
            .line("Waiting for pre-allocation to finish (in case of a parallel pre-allocation)");
        self.log.line("Population and pre-allocation of filesets completed");
        self.ready = Some(ready.into_iter().flatten().collect());
        Ok(())
    }

    fn load(
        mut self,
        seconds: u64,
        period: Option<Period>,
        start_barrier: &dyn Fn() -> Result<u64, Failure>,
    ) -> Result<Finished, Failure> {
        let ready = self.ready.take().unwrap_or_default();
        for process in &self.workload.processes {
            self.log.line(&format!("Starting {} {} instances", process.instances, process.name));
        }
        let seed = self.options.seed.unwrap_or(0);
        let (options, reporter) = (self.options, self.log.reporter());
        // From here on Ctrl-C ends the run with the results so far; before, it ends the process.
        signal::note_interruptions();
        let run = Run::new(self.workload, &ready, options.corrected, options.huge, seed, reporter);
        start_barrier()?;
        let measured = run.execute(|run| self.watch(run, seconds, period))?;
        self.log.record("Shutting down processes");
        validate(&ready)?;
        let json = self.json(&ready, &measured);
        let report = Report { text: self.log.into_text(), json };
        Ok(Finished { report, backing: measured.backing })
    }

    /// Waits while the threads work, and takes snapshots.
    fn watch(&mut self, run: &Run<'_>, seconds: u64, period: Option<Period>) -> Measured {
        self.log.line("Running...");
        let pid = std::process::id();
        let cpu_before = clock::process_cpu_ns(pid);
        let began = Instant::now();
        let mut cleared = began;
        let end = (seconds > 0).then(|| began + Duration::from_secs(seconds));
        let mut next = period.map(|period| began + Duration::from_secs(period.seconds));
        loop {
            let until = match (end, next) {
                (Some(end), Some(next)) => Some(end.min(next)),
                (end, next) => end.or(next),
            };
            let over = run.wait(until) || end.is_some_and(|end| Instant::now() >= end);
            if over {
                break;
            }
            self.snapshot(run, cleared, true);
            if let (Some(period), Some(at)) = (period, &mut next) {
                *at += Duration::from_secs(period.seconds);
                if period.clears {
                    run.clear();
                    cleared = Instant::now();
                }
            }
        }
        let cpu_ns =
            clock::process_cpu_ns(pid).zip(cpu_before).map(|(after, before)| after - before);
        let took = began.elapsed().as_secs_f64().round() as u64;
        if !run.has_failed() {
            self.log.record(&format!("Run took {took} seconds..."));
            self.snapshot(run, cleared, false);
        }
        Measured { took, cpu_ns, backing: Backing::read(&Root::real()) }
    }

    fn snapshot(&mut self, run: &Run<'_>, since: Instant, live: bool) {
        let elapsed = since.elapsed().as_secs_f64();
        let snapshot = Snapshot { totals: run.totals(), elapsed };
        let lines = &self.workload.lines;
        let breakdown = output::breakdown(lines, &snapshot, self.options.corrected);
        let summary = output::summary_line(lines, &snapshot);
        if live {
            self.log.line(&breakdown);
            self.log.line(&summary);
        } else {
            self.log.record(&breakdown);
            self.log.record(&summary);
        }
        self.samples.push(snapshot);
    }

    fn json(&self, ready: &[Ready], measured: &Measured) -> Value {
        let (lines, corrected) = (&self.workload.lines, self.options.corrected);
        let mut all = self.samples.iter().map(|sample| output::json(lines, sample, corrected));
        let mut json = all.next_back().unwrap_or_default();
        let ops = json["summary"]["ops"].as_u64().unwrap_or(0);
        let sets: Vec<Value> = ready
            .iter()
            .map(|set| {
                json!({
                    "name": set.name,
                    "path": set.root.display().to_string(),
                    "entries": set.nodes.len(),
                    "files_at_end": set.file_pool.existing(),
                })
            })
            .collect();
        json["ran"] = true.into();
        json["script"] = self.options.script.as_str().into();
        json["language"] = super::VERSION.into();
        json["threads"] = self.workload.thread_count().into();
        json["run_s"] = measured.took.into();
        if let Some(signal) = signal::interrupted_by() {
            json["ended_by"] = signal.into();
        }
        // Flat metrics with units, for scripts.
        for name in ["ops_per_s", "reads_per_s", "writes_per_s", "mib_per_s", "latency_mean_ms"] {
            json["metrics"][name] = json["summary"][name].clone();
        }
        json["file_sets"] = sets.into();
        json["corrected"] = if corrected { json!(CORRECTED) } else { json!([]) };
        json["cpu_us_per_op"] = match measured.cpu_ns {
            Some(ns) if ops > 0 => json!(ns as f64 / 1e3 / ops as f64),
            Some(_) => json!({ "not_available": "no operation was done" }),
            None => json!({ "not_available": "the CPU clock of the process cannot be read" }),
        };
        let periods: Vec<Value> = all.collect();
        if !periods.is_empty() {
            json["periods"] = periods.into();
        }
        json
    }
}

/// The trees on disk must hold as many files as the run expects, otherwise its results are void. A
/// reused tree may hold more.
fn validate(ready: &[Ready]) -> Result<(), Failure> {
    for set in ready.iter().filter(|set| set.is_new) {
        let actual = files_below(&set.root)?;
        let expected = set.file_pool.existing();
        if actual != expected {
            return Err(Failure::Wrong(format!(
                "{} holds {actual} files after the run, expected {expected}: something else \
                 has changed the tree",
                set.root.display()
            )));
        }
    }
    Ok(())
}

fn files_below(directory: &Path) -> Result<usize, Failure> {
    let fail = |error: std::io::Error| super::io_error::unable("list", directory, &error);
    let mut count = 0;
    for entry in std::fs::read_dir(directory).map_err(fail)? {
        let entry = entry.map_err(fail)?;
        if entry.file_type().map_err(fail)?.is_dir() {
            count += files_below(&entry.path())?;
        } else {
            count += 1;
        }
    }
    Ok(count)
}
