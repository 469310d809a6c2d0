//! The sampling thread.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use crate::run_folder::{Error, SampleStream, SamplerCost, SourceCost};
use assay_sys::kernel::clock::{monotonic_ns, thread_cpu_ns};

use crate::sample::activity::{Activity, Step, WaitError};
use crate::sample::sampler_affinity::{AppliedAffinity, SamplerAffinity};
use crate::sample::source::{Depth, Prepared, Rows, Source};

/// A running sampler. If dropped without [`Sampler::stop`], its thread ends by itself after the current
/// round.
pub struct Sampler {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
    outcome: Receiver<Outcome>,
    doing: Arc<Activity>,
    folder: PathBuf,
}

/// Result of sampling.
#[derive(Debug)]
pub struct Outcome {
    /// Cost of sampling.
    pub cost: SamplerCost,
    /// Counters that turned out to be missing while reading, by `source.column`.
    pub not_available: BTreeMap<String, String>,
    /// Why samples are missing, if writing them failed or a source hangs.
    pub failure: Option<Error>,
}

/// One source with its waiting rows and its output stream.
struct SourceWriter {
    source: Box<dyn Source>,
    rows: Rows,
    stream: SampleStream,
    period_ns: u64,
    due_ns: u64,
    rounds: u64,
    written: u64,
    cost_ns: u64,
}

/// Rows are written to the file this often; a killed run loses no more than that.
const FLUSH_EVERY: Duration = Duration::from_secs(1);

/// Up to this many files every round reads everything: at 4 us a file, the cost when workloads occupy the
/// caches, that is 0.8 % of a core at ten rounds a second.
const MAX_FILES_EVERY_ROUND: usize = 200;

/// A round is late if it begins more than this fraction (1/n) of the interval after its time.
const LATE: u64 = 10;

/// With more files only every tenth round reads all, besides the first and the last.
const WHOLE_ROUND_EVERY: u64 = 10;

impl Sampler {
    /// Starts sampling into `folder`, one stream per source, on a thread with this affinity. The first round
    /// is complete when this returns, so that every series has a row from before the workloads start. A
    /// source that hangs is an error.
    pub fn start(
        prepared: Prepared,
        folder: &Path,
        interval: Duration,
        affinity: SamplerAffinity,
    ) -> Result<Self, Error> {
        let mut writers = Vec::new();
        for source in prepared.sources {
            let stream = SampleStream::create(folder, source.name(), &source.table().columns)?;
            let rows = source.rows(monotonic_ns);
            let period_ns = u64::try_from(source.table().period.as_nanos()).unwrap_or(u64::MAX);
            writers.push(SourceWriter {
                source,
                rows,
                stream,
                period_ns,
                due_ns: 0,
                rounds: 0,
                written: 0,
                cost_ns: 0,
            });
        }
        let stop = Arc::new(AtomicBool::new(false));
        let doing = Arc::new(Activity::new());
        let (first_round, first_round_done) = channel();
        let (last_word, outcome) = channel();
        let (thread_stop, activity) = (Arc::clone(&stop), Arc::clone(&doing));
        let thread = Builder::new().spawn(move || {
            let applied = affinity.apply();
            let mut work = Work::new(writers, interval, applied, activity);
            work.round(Depth::Full);
            // The receiver may have given up waiting.
            let _ = first_round.send(());
            work.run_until(&thread_stop);
            let _ = last_word.send(work.finish());
        });
        let thread = thread
            .map_err(|cause| Error::new("start a thread that samples into", folder, cause))?;
        let sampler = Self { stop, thread, outcome, doing, folder: folder.to_owned() };
        match sampler.doing.wait(&first_round_done) {
            // stop() reports why it ended early.
            Ok(()) | Err(WaitError::Ended) => Ok(sampler),
            Err(WaitError::Hangs(step)) => {
                sampler.stop.store(true, Ordering::SeqCst);
                Err(sampler.hangs(step))
            }
        }
    }

    /// Takes a last round and returns the result. A thread that hangs is left behind, and
    /// its unwritten rows are lost.
    #[must_use]
    pub fn stop(self) -> Outcome {
        self.stop.store(true, Ordering::SeqCst);
        self.thread.thread().unpark();
        let step = match self.doing.wait(&self.outcome) {
            Ok(outcome) => return outcome,
            Err(WaitError::Hangs(step)) => step,
            Err(WaitError::Ended) => {
                let failure = self.hangs(Step::Idle);
                if let Err(panic) = self.thread.join() {
                    std::panic::resume_unwind(panic);
                }
                return Outcome::without_samples(failure);
            }
        };
        Outcome::without_samples(self.hangs(step))
    }

    fn hangs(&self, step: Step) -> Error {
        let why = format!("{step} hangs: no progress within {:?}", step.limit());
        Error::refused("sample into", &self.folder, why).with_hint(
            "/proc/PID/task/*/wchan of this process shows what it waits for; samples taken before are kept",
        )
    }
}

impl Outcome {
    fn without_samples(failure: Error) -> Self {
        Self {
            cost: SamplerCost::default(),
            not_available: BTreeMap::new(),
            failure: Some(failure),
        }
    }
}

/// The state of the sampling thread.
struct Work {
    writers: Vec<SourceWriter>,
    doing: Arc<Activity>,
    /// Every n-th round reads everything.
    whole_every: u64,
    interval_ns: u64,
    began_ns: u64,
    cpu_began_ns: u64,
    flushed_ns: u64,
    cost: SamplerCost,
    not_available: BTreeMap<String, String>,
    failure: Option<Error>,
}

impl Work {
    fn new(
        writers: Vec<SourceWriter>,
        interval: Duration,
        applied: AppliedAffinity,
        doing: Arc<Activity>,
    ) -> Self {
        let now = monotonic_ns();
        let interval_ns = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX).max(1);
        // Sources with a longer period are not read in every round.
        let rounds = |writer: &SourceWriter| {
            usize::try_from(writer.period_ns / interval_ns).unwrap_or(1).max(1)
        };
        let files: usize =
            writers.iter().map(|writer| writer.source.table().files / rounds(writer)).sum();
        Self {
            writers,
            doing,
            whole_every: if files <= MAX_FILES_EVERY_ROUND { 1 } else { WHOLE_ROUND_EVERY },
            interval_ns,
            began_ns: now,
            cpu_began_ns: thread_cpu_ns(),
            flushed_ns: now,
            cost: SamplerCost {
                interval_s: interval.as_secs_f64(),
                cpu: applied.cpu,
                group: applied.group,
                ..SamplerCost::default()
            },
            not_available: applied.not_available,
            failure: None,
        }
    }

    fn run_until(&mut self, stop: &AtomicBool) {
        let mut due = self.began_ns + self.interval_ns;
        while !stop.load(Ordering::SeqCst) {
            let now = monotonic_ns();
            if now < due {
                std::thread::park_timeout(Duration::from_nanos(due - now));
                self.cost.wakeups += 1;
                continue;
            }
            self.cost.latest_s = self.cost.latest_s.max((now - due) as f64 / 1e9);
            self.cost.late += u64::from(now - due > self.interval_ns / LATE);
            self.round(self.next_depth());
            self.flush_if_due();
            due += self.interval_ns;
            // Overdue rounds are skipped: two at once would give the same values.
            let missed = monotonic_ns().saturating_sub(due) / self.interval_ns;
            self.cost.missed += missed;
            due += missed * self.interval_ns;
        }
    }

    const fn next_depth(&self) -> Depth {
        if self.cost.rounds.is_multiple_of(self.whole_every) {
            Depth::Whole
        } else {
            Depth::Essential
        }
    }

    /// Takes one round; in the first and the last round every source is read, whatever its period.
    fn round(&mut self, depth: Depth) {
        self.cost.rounds += 1;
        let now = monotonic_ns();
        let mut before = thread_cpu_ns();
        for writer in &mut self.writers {
            // Half a round early is better than a whole one late.
            if depth != Depth::Full && now + self.interval_ns / 2 < writer.due_ns {
                continue;
            }
            writer.due_ns = now.saturating_add(writer.period_ns);
            writer.rounds += 1;
            self.doing.set(Step::Reading(writer.source.name()));
            writer.source.read(&mut writer.rows, depth);
            // The end of one source's read is the start of the next: each query of the clock is a system
            // call.
            let after = thread_cpu_ns();
            writer.cost_ns += after - before;
            before = after;
        }
        self.doing.set(Step::Idle);
    }

    fn flush_if_due(&mut self) {
        let now = monotonic_ns();
        if now - self.flushed_ns >= u64::try_from(FLUSH_EVERY.as_nanos()).unwrap_or(u64::MAX) {
            self.flushed_ns = now;
            self.flush();
        }
    }

    /// Writes all waiting rows. After a failed write nothing more is written: the samples before it are
    /// complete.
    fn flush(&mut self) {
        for writer in &mut self.writers {
            self.doing.set(Step::Writing);
            let rows = writer.rows.len() as u64;
            if self.failure.is_none() && rows > 0 {
                self.failure = writer.stream.append_rows(&writer.rows).err();
                writer.written += if self.failure.is_none() { rows } else { 0 };
            }
            writer.rows.clear();
        }
        self.doing.set(Step::Idle);
    }

    fn finish(mut self) -> Outcome {
        self.round(Depth::Full);
        self.flush();
        self.cost.wall_s = (monotonic_ns() - self.began_ns) as f64 / 1e9;
        self.cost.cpu_s = (thread_cpu_ns() - self.cpu_began_ns) as f64 / 1e9;
        let mut not_available = std::mem::take(&mut self.not_available);
        for writer in self.writers {
            let helper_ns = writer.source.helper_thread_ns();
            self.cost.cpu_s += helper_ns as f64 / 1e9;
            let cpu_s = (writer.cost_ns + helper_ns) as f64 / 1e9;
            let name = writer.source.name().to_owned();
            let period_s = (writer.period_ns.max(self.interval_ns)) as f64 / 1e9;
            let cost = SourceCost { period_s, rounds: writer.rounds, rows: writer.written, cpu_s };
            self.cost.sources.insert(name.clone(), cost);
            self.cost.by_source_s.insert(name, cpu_s);
            not_available.extend(writer.source.reasons());
        }
        Outcome { cost: self.cost, not_available, failure: self.failure }
    }
}
