//! A source on a thread of its own: some files of a process keep their reader waiting for as long as the owner of that
//! process likes (`sys::kernel::process`). Other sources go on without it, and the recording says which process it was.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use assay_sys::kernel::clock::thread_cpu_ns;

use super::{Depth, Rows, Source};
use crate::sample::registry::TableInfo;

/// How long a round waits for the source while that reads one file, and in all; what comes later is taken by a later round.
const PATIENCE: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(5);

/// The process whose files a source reads now, and how often it has read one.
#[derive(Debug, Default)]
pub(super) struct Asked {
    pid: AtomicU32,
    times: AtomicU32,
}

impl Asked {
    pub(super) fn note(&self, pid: u32) {
        self.pid.store(pid, Ordering::Relaxed);
        self.times.fetch_add(1, Ordering::Relaxed);
    }
}

/// Rows to add to, and how much to read.
type Request = (Rows, Depth);

/// What a read of the source gives.
struct Answer {
    rows: Rows,
    reasons: Vec<(String, String)>,
    spent_ns: u64,
}

struct Aside {
    table: TableInfo,
    asked: Arc<Asked>,
    /// Until the first round: its thread inherits the sampler's affinity and group.
    source: Option<Box<dyn Source>>,
    thread: Option<(Sender<Request>, Receiver<Answer>)>,
    /// Whether an answer is still to come, with all rows.
    is_owed: bool,
    reasons: Vec<(String, String)>,
    spent_ns: u64,
}

/// An opened source, from now on read aside.
pub(super) fn aside<S: Source + 'static>(
    opened: Result<S, String>,
    asked: fn(&S) -> &Arc<Asked>,
) -> Result<Box<dyn Source>, String> {
    let source = opened?;
    Ok(Box::new(Aside {
        table: source.table().clone(),
        asked: Arc::clone(asked(&source)),
        reasons: source.reasons(),
        source: Some(Box::new(source)),
        thread: None,
        is_owed: false,
        spent_ns: 0,
    }))
}

impl Aside {
    fn begin(&mut self) {
        let Some(mut source) = self.source.take() else { return };
        let (to, requests) = channel::<Request>();
        let (answers, from) = channel();
        let begun = std::thread::Builder::new().spawn(move || {
            for (mut rows, depth) in requests {
                source.read(&mut rows, depth);
                let (reasons, helper_ns) = (source.reasons(), source.helper_thread_ns());
                let spent_ns = thread_cpu_ns() + helper_ns;
                if answers.send(Answer { rows, reasons, spent_ns }).is_err() {
                    return;
                }
            }
        });
        match begun {
            Ok(_) => self.thread = Some((to, from)),
            Err(cause) => {
                let why = format!("cannot start a thread: {cause}");
                self.reasons.push((self.table.name.to_owned(), why));
            }
        }
    }

    /// Takes the answer that is owed, if it comes within this time.
    fn take(&mut self, rows: &mut Rows, patience: Duration) {
        let Some((_, from)) = &self.thread else { return };
        let begun = Instant::now();
        loop {
            let times = self.asked.times.load(Ordering::Relaxed);
            if let Ok(answer) = from.recv_timeout(patience) {
                *rows = answer.rows;
                (self.reasons, self.spent_ns) = (answer.reasons, answer.spent_ns);
                self.is_owed = false;
                return;
            }
            let goes_on = self.asked.times.load(Ordering::Relaxed) != times;
            if !goes_on || patience.is_zero() || begun.elapsed() > LONGEST {
                return;
            }
        }
    }
}

impl Source for Aside {
    fn table(&self) -> &TableInfo {
        &self.table
    }

    fn reasons(&self) -> Vec<(String, String)> {
        let mut reasons = self.reasons.clone();
        if self.is_owed {
            let pid = self.asked.pid.load(Ordering::Relaxed);
            let why = format!(
                "not to the end: process {pid} keeps readers of its files in /proc waiting"
            );
            reasons.push((self.table.name.to_owned(), why));
        }
        reasons
    }

    fn helper_thread_ns(&self) -> u64 {
        self.spent_ns
    }

    fn read(&mut self, rows: &mut Rows, depth: Depth) {
        self.begin();
        if self.is_owed {
            // The last round waits once more.
            self.take(rows, if depth == Depth::Full { PATIENCE } else { Duration::ZERO });
        }
        if !self.is_owed
            && let Some((to, _)) = &self.thread
        {
            self.is_owed = to.send((rows.take(), depth)).is_ok();
            self.take(rows, PATIENCE);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    /// Reads a process that answers once the test has sent something.
    struct Waits {
        table: TableInfo,
        asked: Arc<Asked>,
        answers: Receiver<()>,
    }

    impl Source for Waits {
        fn table(&self) -> &TableInfo {
            &self.table
        }

        fn read(&mut self, rows: &mut Rows, _: Depth) {
            self.asked.note(77);
            let _ = self.answers.recv();
            let subject = rows.subject("a");
            rows.add(subject, &[Some(7)]);
        }
    }

    #[test]
    fn a_source_that_hangs_is_named_and_its_rows_are_taken_once_it_goes_on() {
        let (answer, answers) = channel();
        let table = TableInfo::new("waits", vec!["one".to_owned()], Vec::new());
        let waits = Waits { table, asked: Arc::default(), answers };
        let mut source = aside(Ok(waits), |waits| &waits.asked).unwrap();
        let mut rows = source.rows(|| 1);
        answer.send(()).unwrap();
        source.read(&mut rows, Depth::Full);
        assert_eq!((rows.len(), source.reasons()), (1, Vec::new()));
        let begun = Instant::now();
        for _ in 0..20 {
            source.read(&mut rows, Depth::Whole);
        }
        let waited = begun.elapsed();
        assert!(waited >= PATIENCE && waited < 10 * PATIENCE, "it waits once: {waited:?}");
        let [(name, why)] = &source.reasons()[..] else { panic!("{:?}", source.reasons()) };
        assert!(name == "waits" && why.contains("process 77"), "{name}: {why}");
        answer.send(()).unwrap();
        answer.send(()).unwrap();
        source.read(&mut rows, Depth::Full);
        assert_eq!((rows.len(), source.reasons()), (3, Vec::new()));
    }
}
