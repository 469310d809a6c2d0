//! One client thread: chooses operations and keys as YCSB's `CoreWorkload` does, executes them, and
//! records their latencies.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use assay_sys::kernel::clock::monotonic_ns;

use super::distribution::Keys;
use super::measure::{Measurements, Operation, Rules, Times};
use super::random::Random;
use super::record::Shape;
use super::sequence::Acknowledged;
use super::settings::{Settings, Workload};
use super::store::{NewValue, Session, Status};
use crate::output::Reporter;

/// State of a thread that other threads may read while it works.
#[derive(Debug)]
pub(super) struct ThreadStats {
    /// Number of completed operations.
    pub(super) done: AtomicU64,
    measurements: Mutex<Measurements>,
}

impl ThreadStats {
    pub(super) fn new() -> Self {
        Self { done: AtomicU64::new(0), measurements: Mutex::new(Measurements::new()) }
    }

    pub(super) fn measurements(&self) -> MutexGuard<'_, Measurements> {
        self.measurements.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records how long closing the thread's session took.
    pub(super) fn note_cleanup(&self, rules: &Rules, start: u64) {
        let times = Times { intended: start, start, end: monotonic_ns() };
        self.measurements().add(rules, Operation::Cleanup, None, times);
    }
}

/// State shared by all threads.
pub(super) struct Shared<'r> {
    pub(super) settings: &'r Settings,
    /// Next key of the loading phase.
    pub(super) next_key: &'r AtomicU64,
    /// Keys inserted by operations of the mix.
    pub(super) inserted: &'r Acknowledged,
    pub(super) reporter: &'r dyn Reporter,
}

/// A client thread.
pub(super) struct Client<'r, S> {
    shared: &'r Shared<'r>,
    stats: &'r ThreadStats,
    session: S,
    random: Random,
    keys: Keys,
    /// When the next operation should begin; `None` for now.
    pub(super) intended: Option<u64>,
    key: Vec<u8>,
    record: Vec<u8>,
    read: Vec<u8>,
}

impl<'r, S: Session> Client<'r, S> {
    pub(super) fn new(
        shared: &'r Shared<'r>,
        stats: &'r ThreadStats,
        session: S,
        random: Random,
    ) -> Self {
        let keys = shared.settings.workload.keys.clone();
        let buffer = || Vec::with_capacity(2048);
        Self {
            shared,
            stats,
            session,
            random,
            keys,
            intended: None,
            key: Vec::with_capacity(32),
            record: buffer(),
            read: buffer(),
        }
    }

    fn workload(&self) -> &'r Workload {
        &self.shared.settings.workload
    }

    fn shape(&self) -> &'r Shape {
        &self.workload().shape
    }

    fn rules(&self) -> &'r Rules {
        &self.shared.settings.measuring.rules
    }

    /// One insertion of the loading phase; false ends the thread's work.
    pub(super) fn insert_next(&mut self) -> bool {
        let number = self.shared.next_key.fetch_add(1, Ordering::Relaxed);
        self.write_key(number);
        self.shape().write(&self.key, &mut self.random, &mut self.record);
        let retries = self.workload().retries;
        for attempt in 1.. {
            if self.insert() == Status::Ok {
                return true;
            }
            if attempt > retries.limit {
                self.shared.reporter.line(&format!(
                    "Error inserting, not retrying any more. number of attempts: {attempt}Insertion \
                     Retry Limit: {}",
                    retries.limit
                ));
                break;
            }
            self.shared.reporter.line(&format!("Retrying insertion, retry count: {attempt}"));
            let seconds = retries.seconds as f64 * (0.8 + 0.4 * self.random.unit());
            std::thread::sleep(Duration::from_secs_f64(seconds));
        }
        retries.keep_going
    }

    /// One operation of the mix; false if the mix is empty.
    pub(super) fn operate(&mut self) -> bool {
        let Some(mix) = &self.workload().mix else { return false };
        match mix.draw(&mut self.random) {
            Operation::Read => self.read(),
            Operation::Update => self.update(),
            Operation::Insert => self.insert_new(),
            Operation::Scan => self.scan(),
            _ => self.read_modify_write(),
        }
        true
    }

    fn write_key(&mut self, number: u64) {
        self.workload().spelling.write(number, &mut self.key);
    }

    /// Writes the key of an existing record into `key`.
    fn choose_key(&mut self) {
        let newest = self.shared.inserted.newest();
        let number = self.keys.draw(newest, &mut self.random);
        self.write_key(number);
    }

    fn record_latency(&self, operation: Operation, status: Option<Status>, start: u64) -> u64 {
        let end = monotonic_ns();
        let times = Times { intended: self.intended.unwrap_or(start), start, end };
        self.stats.measurements().add(self.rules(), operation, status, times);
        end
    }

    fn insert(&mut self) -> Status {
        let start = monotonic_ns();
        let status = self.session.insert(&self.key, &self.record);
        self.record_latency(Operation::Insert, Some(status), start);
        status
    }

    fn insert_new(&mut self) {
        let number = self.shared.inserted.next();
        self.write_key(number);
        self.shape().write(&self.key, &mut self.random, &mut self.record);
        self.insert();
        self.shared.inserted.acknowledge(number);
    }

    fn read(&mut self) {
        self.choose_key();
        self.timed_read();
        self.verify();
    }

    fn timed_read(&mut self) {
        let integrity = self.shape().integrity;
        self.read.clear();
        let start = monotonic_ns();
        let status = self.session.read(&self.key, integrity.then_some(&mut self.read));
        self.record_latency(Operation::Read, Some(status), start);
    }

    /// `dataintegrity`: a failed read is an error, a different value an unexpected state.
    fn verify(&mut self) {
        if !self.shape().integrity {
            return;
        }
        let start = monotonic_ns();
        let status = if self.read.is_empty() {
            Status::Error
        } else if self.shape().is_intact(&self.key, &self.read, &mut self.record) {
            Status::Ok
        } else {
            Status::UnexpectedState
        };
        let times = (start, monotonic_ns());
        self.stats.measurements().add_plain(self.rules(), Operation::Verify, Some(status), times);
    }

    /// Generates new values, concatenated in `record`; returns the fields and where each value
    /// ends.
    fn new_values(&mut self) -> Vec<(usize, usize)> {
        let shape = self.shape();
        let all = 0..shape.names.len();
        let fields = match self.workload().write_all {
            true => all,
            false => {
                let field = self.random.below(all.end as u64) as usize;
                field..field + 1
            }
        };
        self.record.clear();
        fields
            .map(|field| {
                shape.value(&self.key, field, &mut self.random, &mut self.record);
                (field, self.record.len())
            })
            .collect()
    }

    fn timed_update(&mut self, ends: &[(usize, usize)]) {
        let names = &self.shape().names;
        let mut from = 0;
        let values: Vec<NewValue<'_>> = ends
            .iter()
            .map(|(field, end)| {
                let value = &self.record[from..*end];
                from = *end;
                (names[*field].as_bytes(), value)
            })
            .collect();
        let start = monotonic_ns();
        let status = self.session.update(&self.key, &values);
        self.record_latency(Operation::Update, Some(status), start);
    }

    fn update(&mut self) {
        self.choose_key();
        let ends = self.new_values();
        self.timed_update(&ends);
    }

    fn read_modify_write(&mut self) {
        self.choose_key();
        let ends = self.new_values();
        let start = monotonic_ns();
        self.timed_read();
        self.timed_update(&ends);
        self.record_latency(Operation::ReadModifyWrite, None, start);
        self.verify();
    }

    fn scan(&mut self) {
        self.choose_key();
        let length = self.workload().scan_lengths.draw(&mut self.random);
        let start = monotonic_ns();
        let (status, count) = self.session.scan(&self.key, length);
        let end = self.record_latency(Operation::Scan, Some(status), start);
        // YCSB divides by zero here if no record was found, and ends.
        if let Some(each) = (end - start).checked_div(count) {
            let times = (start, start + each);
            self.stats.measurements().add_plain(
                self.rules(),
                Operation::ScanPerRecord,
                None,
                times,
            );
        }
    }
}
