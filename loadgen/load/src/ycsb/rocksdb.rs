//! The binding to RocksDB through the C interface of the distribution's library: the same options,
//! column families and records as YCSB's Java binding, so that either can read a data directory
//! written by the other.

mod error;
mod families;
mod ffi;
mod options;
mod session;
mod symbols;

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

pub(super) use session::RocksSession;

pub(super) use self::error::remedy;
use self::error::{Action, wrong};
use self::ffi::{Api, Database, Family};
use self::options::Plan;
use super::store::Store;
use crate::failure::Failure;

/// An open data directory.
#[derive(Debug)]
pub(super) struct RocksDb {
    database: Database,
    /// The table's column family.
    table: Family,
    directory: PathBuf,
    families: Vec<String>,
    first_error: OnceLock<String>,
}

/// Where a store is and how it is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Location {
    /// `rocksdb.dir`.
    pub(super) directory: PathBuf,
    /// `rocksdb.optionsfile`.
    pub(super) options_file: Option<PathBuf>,
    /// `rocksdb.library`: the library to load instead of the usual names.
    pub(super) library: Option<String>,
    /// `table`, the name of the column family.
    pub(super) table: String,
}

impl RocksDb {
    /// Loads the library, opens or creates the data directory, and creates the table if necessary.
    pub(super) fn open(location: &Location) -> Result<Self, Failure> {
        let api = Api::load(location.library.as_deref())?;
        let directory = &location.directory;
        std::fs::create_dir_all(directory)
            .map_err(|error| wrong(Action::Create, directory, &error.to_string()))?;
        let families = families::list(api, directory);
        let plan = match &location.options_file {
            None => Plan::for_binding(api, &families),
            Some(file) => Plan::from_file(api, file, &families)?,
        };
        let refused = |text: String| wrong(Action::Open, directory, &text);
        let (database, mut opened) = plan.open(api, directory).map_err(refused)?;
        let table = match opened.iter().position(|(name, _)| *name == location.table) {
            Some(index) => opened.swap_remove(index).1,
            None => database.create_family(&plan.table, &location.table).map_err(refused)?,
        };
        let mut families: Vec<String> = plan.families().map(str::to_owned).collect();
        if !families.contains(&location.table) {
            families.push(location.table.clone());
        }
        let store = Self {
            database,
            table,
            directory: directory.clone(),
            families,
            first_error: OnceLock::new(),
        };
        // The Java binding writes it when it closes. Written at the start, it lets the Java binding
        // open the directory even if this run is killed.
        store.write_families()?;
        Ok(store)
    }

    fn write_families(&self) -> Result<(), Failure> {
        families::write(&self.directory, &self.families)
            .map_err(|error| wrong(Action::WriteNames, &self.directory, &error.to_string()))
    }

    /// Keeps the text of the first error.
    fn note_error(&self, text: String) {
        let _ = self.first_error.set(text);
    }
}

impl Store for RocksDb {
    type Session<'s> = RocksSession<'s>;

    fn session(&self) -> RocksSession<'_> {
        RocksSession::new(self)
    }

    /// Dropping the last reference closes the store. Nothing is written here: on a full disk even
    /// `CF_NAMES` would fail, and the result with it.
    fn release(store: Arc<Self>) -> Result<(), Failure> {
        drop(store);
        Ok(())
    }

    fn first_error(&self) -> Option<String> {
        self.first_error.get().cloned()
    }
}

#[cfg(test)]
pub(super) mod tests;
