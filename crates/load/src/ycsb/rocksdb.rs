//! The binding to RocksDB, by the C interface of the library that the distribution ships: the same
//! options, column families and records as YCSB's Java binding, so that a data directory written
//! by one can be read by the other.

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
use self::error::{Doing, wrong};
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
    trouble: OnceLock<String>,
}

/// Where a store lives and how it is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Location {
    /// `rocksdb.dir`.
    pub(super) directory: PathBuf,
    /// `rocksdb.optionsfile`.
    pub(super) options_file: Option<PathBuf>,
    /// `rocksdb.library`: which library to load, where the usual names are not wanted.
    pub(super) library: Option<String>,
    /// `table`, which is the name of the column family.
    pub(super) table: String,
}

impl RocksDb {
    /// Loads the library, opens or makes the data directory, and makes the table where there is
    /// none.
    pub(super) fn open(location: &Location) -> Result<Self, Failure> {
        let api = Api::load(location.library.as_deref())?;
        let directory = &location.directory;
        std::fs::create_dir_all(directory)
            .map_err(|error| wrong(Doing::Making, directory, &error.to_string()))?;
        let families = families::of(api, directory);
        let plan = match &location.options_file {
            None => Plan::of_binding(api, &families),
            Some(file) => Plan::of_file(api, file, &families)?,
        };
        let refused = |text: String| wrong(Doing::Opening, directory, &text);
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
            trouble: OnceLock::new(),
        };
        // The Java binding writes it when it closes. Written now, a run that is killed leaves a
        // directory that the Java binding can open.
        store.write_families()?;
        Ok(store)
    }

    fn write_families(&self) -> Result<(), Failure> {
        families::write(&self.directory, &self.families)
            .map_err(|error| wrong(Doing::Naming, &self.directory, &error.to_string()))
    }

    /// Keeps the text of the first error.
    fn note(&self, text: String) {
        let _ = self.trouble.set(text);
    }
}

impl Store for RocksDb {
    type Session<'s> = RocksSession<'s>;

    fn session(&self) -> RocksSession<'_> {
        RocksSession::of(self)
    }

    /// The last reference closes it by being dropped. There is nothing to write: on a full disk
    /// even `CF_NAMES` would fail, and the result with it.
    fn release(store: Arc<Self>) -> Result<(), Failure> {
        drop(store);
        Ok(())
    }

    fn trouble(&self) -> Option<String> {
        self.trouble.get().cloned()
    }
}

#[cfg(test)]
pub(super) mod tests;
