//! The operations of one thread on RocksDB.

use super::RocksDb;
use crate::ycsb::record::{fields, replace};
use crate::ycsb::store::{NewValue, Session, Status};

/// A thread's session: the store, and a buffer for the record being changed.
pub(in crate::ycsb) struct RocksSession<'s> {
    store: &'s RocksDb,
    changed: Vec<u8>,
}

impl<'s> RocksSession<'s> {
    pub(super) fn new(store: &'s RocksDb) -> Self {
        Self { store, changed: Vec::with_capacity(2048) }
    }

    fn failed(&self, text: String) -> Status {
        self.store.note_error(text);
        Status::Error
    }

    fn malformed(&self, key: &[u8]) -> Status {
        let key = String::from_utf8_lossy(key);
        self.failed(format!("the record `{key}` does not have the layout of YCSB's records"))
    }
}

/// Parses the whole record, as the Java binding does on every read.
fn is_whole(record: &[u8]) -> bool {
    fields(record).all(|cell| cell.is_ok())
}

impl Session for RocksSession<'_> {
    fn read(&mut self, key: &[u8], keep: Option<&mut Vec<u8>>) -> Status {
        let read = self.store.database.get(&self.store.table, key, |record| {
            if let Some(copy) = keep {
                copy.clear();
                copy.extend_from_slice(record);
            }
            is_whole(record)
        });
        match read {
            Ok(Some(true)) => Status::Ok,
            Ok(Some(false)) => self.malformed(key),
            Ok(None) => Status::NotFound,
            Err(text) => self.failed(text),
        }
    }

    fn scan(&mut self, key: &[u8], count: u64) -> (Status, u64) {
        let mut count_found = 0;
        if count == 0 {
            return (Status::Ok, count_found);
        }
        let mut whole = true;
        let scanned = self.store.database.scan(&self.store.table, key, |record| {
            whole &= is_whole(record);
            count_found += 1;
            count_found < count
        });
        match scanned {
            Ok(()) if whole => (Status::Ok, count_found),
            Ok(()) => (self.malformed(key), count_found),
            Err(text) => (self.failed(text), count_found),
        }
    }

    fn update(&mut self, key: &[u8], values: &[NewValue<'_>]) -> Status {
        let changed = &mut self.changed;
        let read = self
            .store
            .database
            .get(&self.store.table, key, |record| replace(record, values, changed).is_ok());
        match read {
            Ok(Some(true)) => {
                match self.store.database.put(&self.store.table, key, &self.changed) {
                    Ok(()) => Status::Ok,
                    Err(text) => self.failed(text),
                }
            }
            Ok(Some(false)) => self.malformed(key),
            Ok(None) => Status::NotFound,
            Err(text) => self.failed(text),
        }
    }

    fn insert(&mut self, key: &[u8], record: &[u8]) -> Status {
        match self.store.database.put(&self.store.table, key, record) {
            Ok(()) => Status::Ok,
            Err(text) => self.failed(text),
        }
    }
}
