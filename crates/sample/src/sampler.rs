//! The sampling thread.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use assay_kernel::clock::{monotonic_ns, thread_cpu_ns};
use assay_run_folder::{Error, SampleStream, SamplerCost, SourceCost};

use crate::activity::{Activity, Step, Waited};
use crate::sampler_affinity::{SamplerAffinity, Taken};
use crate::source::{Depth, Prepared, Rows, Source};

/// A sampler at work. Dropping it without [`Sampler::stop`] leaves its thread to end by itself
/// after the round it is in.
pub struct Sampler {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
    outcome: Receiver<Outcome>,
    doing: Arc<Activity>,
    folder: PathBuf,
}

/// What a sampler leaves when it is stopped.
#[derive(Debug)]
pub struct Outcome {
    /// What it cost.
    pub cost: SamplerCost,
    /// What sources turned out to lack while they were read, by `source.column`.
    pub not_available: BTreeMap<String, String>,
    /// Why samples are missing, if writing them failed or a source hangs.
    pub failure: Option<Error>,
}

/// One source with the rows that wait and the stream they go to.
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

/// Rows are handed to the file this often; a killed run loses no more than that.
const FLUSH_EVERY: Duration = Duration::from_secs(1);

/// Up to so many files every round reads everything: at 4 us a file, which is what they cost when
/// the caches belong to the workloads, that is 0.8 % of a core at ten rounds a second.
const FEW: usize = 200;

/// A round is late that begins more than this part of the interval after its time.
const LATE: u64 = 10;

/// With more files only every so-many-th round reads all, besides the first and the last.
const SELDOM: u64 = 10;

impl Sampler {
    /// Begins to sample into `folder`, one stream a source, with a thread at `seat`. The first round has been taken when
    /// this returns, so that every series has a row from before the workloads start. A source that hangs
    /// is an error.
    pub fn start(
        prepared: Prepared,
        folder: &Path,
        interval: Duration,
        seat: SamplerAffinity,
    ) -> Result<Self, Error> {
        let mut lanes = Vec::new();
        for source in prepared.sources {
            let stream = SampleStream::create(folder, source.name(), source.columns())?;
            let rows = Rows::new(source.as_ref(), monotonic_ns);
            let period_ns = u64::try_from(source.period().as_nanos()).unwrap_or(u64::MAX);
            lanes.push(SourceWriter {
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
        let doing = Arc::new(Activity::beginning());
        let (first_round, taken) = channel();
        let (last_word, outcome) = channel();
        let (seen, at) = (Arc::clone(&stop), Arc::clone(&doing));
        let thread = std::thread::spawn(move || {
            let taken = seat.take();
            let mut work = Work::new(lanes, interval, taken, at);
            work.round(Depth::Full);
            // The starter may have given up on us, which is not this thread's trouble.
            let _ = first_round.send(());
            work.run_until(&seen);
            let _ = last_word.send(work.finish());
        });
        let sampler = Self { stop, thread, outcome, doing, folder: folder.to_owned() };
        match sampler.doing.wait(&taken) {
            // One that has ended early says in stop() why.
            Ok(()) | Err(Waited::Ended) => Ok(sampler),
            Err(Waited::Hangs(step)) => {
                sampler.stop.store(true, Ordering::SeqCst);
                Err(sampler.hangs(step))
            }
        }
    }

    /// Takes a last round, ends the streams and returns what sampling cost. A thread that hangs is left
    /// behind, and what it has not written is lost.
    #[must_use]
    pub fn stop(self) -> Outcome {
        self.stop.store(true, Ordering::SeqCst);
        self.thread.thread().unpark();
        let step = match self.doing.wait(&self.outcome) {
            Ok(outcome) => return outcome,
            Err(Waited::Hangs(step)) => step,
            Err(Waited::Ended) => {
                let failure = self.hangs(Step::Resting);
                if let Err(panic) = self.thread.join() {
                    std::panic::resume_unwind(panic);
                }
                return Outcome::without_samples(failure);
            }
        };
        Outcome::without_samples(self.hangs(step))
    }

    fn hangs(&self, step: Step) -> Error {
        Error {
            operation: "sample into",
            path: self.folder.clone(),
            cause: format!("{step} hangs: nothing came of it within {:?}", step.limit()),
            hint: Some(
                "what it waits for stands in /proc/PID/task/*/wchan of this process; what was sampled \
                 before is kept"
                    .to_owned(),
            ),
        }
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
    lanes: Vec<SourceWriter>,
    doing: Arc<Activity>,
    /// Every so-many-th round reads everything.
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
        lanes: Vec<SourceWriter>,
        interval: Duration,
        taken: Taken,
        doing: Arc<Activity>,
    ) -> Self {
        let now = monotonic_ns();
        let interval_ns = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX).max(1);
        // A source with a pace of its own is not in every round.
        let rounds =
            |lane: &SourceWriter| usize::try_from(lane.period_ns / interval_ns).unwrap_or(1).max(1);
        let files: usize = lanes.iter().map(|lane| lane.source.files() / rounds(lane)).sum();
        Self {
            lanes,
            doing,
            whole_every: if files <= FEW { 1 } else { SELDOM },
            interval_ns,
            began_ns: now,
            cpu_began_ns: thread_cpu_ns(),
            flushed_ns: now,
            cost: SamplerCost {
                interval_s: interval.as_secs_f64(),
                cpu: taken.cpu,
                group: taken.group,
                ..SamplerCost::default()
            },
            not_available: taken.not_available,
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
            // Rounds whose time has passed are left out: two at once would only tell the same.
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

    /// One round; the first and the last are read by every source, whatever its pace.
    fn round(&mut self, depth: Depth) {
        self.cost.rounds += 1;
        let now = monotonic_ns();
        let mut before = thread_cpu_ns();
        for lane in &mut self.lanes {
            // Half a round early is better than a whole one late.
            if depth != Depth::Full && now + self.interval_ns / 2 < lane.due_ns {
                continue;
            }
            lane.due_ns = now.saturating_add(lane.period_ns);
            lane.rounds += 1;
            self.doing.set(Step::Reading(lane.source.name()));
            lane.source.read(&mut lane.rows, depth);
            // The end of one is the beginning of the next: asking costs a system call.
            let after = thread_cpu_ns();
            lane.cost_ns += after - before;
            before = after;
        }
        self.doing.set(Step::Resting);
    }

    fn flush_if_due(&mut self) {
        let now = monotonic_ns();
        if now - self.flushed_ns >= u64::try_from(FLUSH_EVERY.as_nanos()).unwrap_or(u64::MAX) {
            self.flushed_ns = now;
            self.flush();
        }
    }

    /// After a failed write nothing more is written: the samples before it are whole.
    fn flush(&mut self) {
        for lane in &mut self.lanes {
            self.doing.set(Step::Writing);
            let rows = lane.rows.waiting().len() as u64;
            if self.failure.is_none() && rows > 0 {
                self.failure = lane.stream.append_rows(lane.rows.waiting()).err();
                lane.written += if self.failure.is_none() { rows } else { 0 };
            }
            lane.rows.clear();
        }
        self.doing.set(Step::Resting);
    }

    fn finish(mut self) -> Outcome {
        self.round(Depth::Full);
        self.flush();
        self.cost.wall_s = (monotonic_ns() - self.began_ns) as f64 / 1e9;
        self.cost.cpu_s = (thread_cpu_ns() - self.cpu_began_ns) as f64 / 1e9;
        let mut not_available = std::mem::take(&mut self.not_available);
        for lane in self.lanes {
            self.doing.set(Step::Writing);
            let aside_ns = lane.source.aside_ns();
            self.cost.cpu_s += aside_ns as f64 / 1e9;
            let cpu_s = (lane.cost_ns + aside_ns) as f64 / 1e9;
            let name = lane.source.name().to_owned();
            let period_s = (lane.period_ns.max(self.interval_ns)) as f64 / 1e9;
            let cost = SourceCost { period_s, rounds: lane.rounds, rows: lane.written, cpu_s };
            self.cost.sources.insert(name.clone(), cost);
            self.cost.by_source_s.insert(name, cpu_s);
            not_available.extend(lane.source.reasons());
            if let Err(error) = lane.stream.finish() {
                self.failure.get_or_insert(error);
            }
        }
        Outcome { cost: self.cost, not_available, failure: self.failure }
    }
}
