//! One thread's part of the work: chooses operations and keys as YCSB's `CoreWorkload` does, has
//! them done, and notes how long they took.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use assay_kernel::clock::monotonic_ns;

use super::distribution::Keys;
use super::measure::{Book, Operation, Rules, Times};
use super::random::Random;
use super::record::Shape;
use super::sequence::Acknowledged;
use super::settings::{Settings, Workload};
use super::store::{NewValue, Session, Status};
use crate::output::Reporter;

/// What a thread shows to the others while it works.
#[derive(Debug)]
pub(super) struct Desk {
    /// Operations that are done.
    pub(super) done: AtomicU64,
    book: Mutex<Book>,
}

impl Desk {
    pub(super) fn new() -> Self {
        Self { done: AtomicU64::new(0), book: Mutex::new(Book::new()) }
    }

    pub(super) fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes how long the thread's reference to the store took to go.
    pub(super) fn note_cleanup(&self, rules: &Rules, start: u64) {
        let times = Times { intended: start, start, end: monotonic_ns() };
        self.book().add(rules, Operation::Cleanup, None, times);
    }
}

/// What all threads share.
pub(super) struct Shared<'r> {
    pub(super) settings: &'r Settings,
    /// Of the insertions while loading.
    pub(super) next_key: &'r AtomicU64,
    /// Of the insertions among the operations.
    pub(super) inserted: &'r Acknowledged,
    pub(super) talk: &'r dyn Reporter,
}

/// A thread's own.
pub(super) struct Client<'r, S> {
    shared: &'r Shared<'r>,
    desk: &'r Desk,
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
    pub(super) fn new(shared: &'r Shared<'r>, desk: &'r Desk, session: S, random: Random) -> Self {
        let keys = shared.settings.workload.keys.clone();
        let buffer = || Vec::with_capacity(2048);
        Self {
            shared,
            desk,
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
        self.spell(number);
        self.shape().write(&self.key, &mut self.random, &mut self.record);
        let retries = self.workload().retries;
        for attempt in 1.. {
            if self.insert() == Status::Ok {
                return true;
            }
            if attempt > retries.limit {
                self.shared.talk.say(&format!(
                    "Error inserting, not retrying any more. number of attempts: {attempt}Insertion \
                     Retry Limit: {}",
                    retries.limit
                ));
                break;
            }
            self.shared.talk.say(&format!("Retrying insertion, retry count: {attempt}"));
            let seconds = retries.seconds as f64 * (0.8 + 0.4 * self.random.unit());
            std::thread::sleep(Duration::from_secs_f64(seconds));
        }
        retries.keep_going
    }

    /// One operation of the mix; false when there is none to choose from.
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

    fn spell(&mut self, number: u64) {
        self.workload().spelling.write(number, &mut self.key);
    }

    /// Spells the key of a record that is there.
    fn choose_key(&mut self) {
        let newest = self.shared.inserted.newest();
        let number = self.keys.draw(newest, &mut self.random);
        self.spell(number);
    }

    fn note(&self, operation: Operation, status: Option<Status>, start: u64) -> u64 {
        let end = monotonic_ns();
        let times = Times { intended: self.intended.unwrap_or(start), start, end };
        self.desk.book().add(self.rules(), operation, status, times);
        end
    }

    fn insert(&mut self) -> Status {
        let start = monotonic_ns();
        let status = self.session.insert(&self.key, &self.record);
        self.note(Operation::Insert, Some(status), start);
        status
    }

    fn insert_new(&mut self) {
        let number = self.shared.inserted.next();
        self.spell(number);
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
        self.note(Operation::Read, Some(status), start);
    }

    /// `dataintegrity`: nothing read is an error, another value an unexpected state.
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
        self.desk.book().add_plain(self.rules(), Operation::Verify, Some(status), times);
    }

    /// Makes new values, one behind the other in `record`; the fields with where each ends.
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
        self.note(Operation::Update, Some(status), start);
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
        self.note(Operation::ReadModifyWrite, None, start);
        self.verify();
    }

    fn scan(&mut self) {
        self.choose_key();
        let length = self.workload().scan_lengths.draw(&mut self.random);
        let start = monotonic_ns();
        let (status, found) = self.session.scan(&self.key, length);
        let end = self.note(Operation::Scan, Some(status), start);
        // YCSB divides by nothing here when nothing was found, and ends.
        if let Some(each) = (end - start).checked_div(found) {
            let times = (start, start + each);
            self.desk.book().add_plain(self.rules(), Operation::ScanPerRecord, None, times);
        }
    }
}
