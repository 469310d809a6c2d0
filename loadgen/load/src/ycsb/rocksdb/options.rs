//! The options of the Java binding, and those of an options file.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use super::error::{Action, wrong};
use super::families::DEFAULT;
use super::ffi::{Api, Database, Family, Options};
use crate::failure::Failure;
use crate::input;

/// RocksJava's default budget of `optimizeLevelStyleCompaction`.
const MEMTABLE_BUDGET: u64 = 512 << 20;
/// Defaults of RocksDB 6.2, which the Java binding uses; newer versions have others. Without them
/// 6.2 could not read the data written here.
const FORMAT_VERSION: i32 = 2;
const CRC32C: i8 = 1;
const BLOCK_CACHE: usize = 8 << 20;
/// None on the first two levels and Snappy below: `optimizeLevelStyleCompaction` of 7.8 uses LZ4 if
/// available.
const COMPRESSION: [i32; 7] = [0, 0, 1, 1, 1, 1, 1];
/// `InfoLogLevel.INFO_LEVEL`.
const INFO: i32 = 1;

/// How a database is opened.
#[derive(Debug)]
pub(super) struct Plan {
    database: Options,
    families: Vec<(String, Options)>,
    /// For a table that does not exist yet.
    pub(super) table: Options,
}

/// `optimizeLevelStyleCompaction` on the defaults of RocksDB 6.2.
fn level_style(api: &'static Api) -> Options {
    let options = Options::new(api);
    options.optimize_level_style_compaction(MEMTABLE_BUDGET);
    options.compression(&COMPRESSION);
    options.block_table(FORMAT_VERSION, CRC32C, BLOCK_CACHE);
    options
}

/// Threads for flushes and compactions, by the number of CPUs that Java would report.
fn threads() -> i32 {
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    i32::try_from(cpus * 2).unwrap_or(i32::MAX)
}

impl Plan {
    /// As in the Java binding without an options file.
    pub(super) fn for_binding(api: &'static Api, families: &[String]) -> Self {
        let database = level_style(api);
        database.create_if_missing();
        database.increase_parallelism(threads());
        database.max_background_compactions(threads());
        database.info_log_level(INFO);
        let named: Vec<&str> = match families {
            [] => vec![DEFAULT],
            some => some.iter().map(String::as_str).collect(),
        };
        let families = named.iter().map(|name| ((*name).to_owned(), level_style(api))).collect();
        Self { database, families, table: level_style(api) }
    }

    /// With an options file of RocksDB. Families that it does not name get the options of its
    /// family `default`, as in the Java binding for a new table.
    pub(super) fn from_file(
        api: &'static Api,
        file: &Path,
        families: &[String],
    ) -> Result<Self, Failure> {
        let refused = |text: &str| wrong(Action::Reading, file, text);
        let text =
            input::read(file, input::MAX_BYTES).map_err(|error| refused(&error.to_string()))?;
        // The C interface reads only the latest options file of a data directory, so that it gets a
        // directory with nothing else.
        let folder = Folder::with(&text).map_err(|error| refused(&error.to_string()))?;
        let (database, mut named) = api.load_options(&folder.0).map_err(|text| refused(&text))?;
        let base = |named: &[(String, Options)]| {
            named
                .iter()
                .find(|(name, _)| name == DEFAULT)
                .map_or_else(|| Options::new(api), |(_, options)| options.copy())
        };
        for name in families {
            if !named.iter().any(|(known, _)| known == name) {
                let options = base(&named);
                named.push((name.clone(), options));
            }
        }
        Ok(Self { database, table: base(&named), families: named })
    }

    /// The families to open.
    pub(super) fn families(&self) -> impl Iterator<Item = &str> {
        self.families.iter().map(|(name, _)| name.as_str())
    }

    /// Opens it, or returns RocksDB's error text.
    pub(super) fn open(
        &self,
        api: &'static Api,
        directory: &Path,
    ) -> Result<(Database, Vec<(String, Family)>), String> {
        api.open(&self.database, directory, &self.families)
    }
}

/// A temporary directory with one options file, removed when dropped.
struct Folder(std::path::PathBuf);

impl Folder {
    /// Creates it in a world-writable directory: with an unpredictable name, only if it does not
    /// exist, and accessible to its owner alone.
    fn with(text: &[u8]) -> std::io::Result<Self> {
        // The keys of a RandomState come from the kernel's random numbers.
        let number = RandomState::new().build_hasher().finish();
        let path = std::env::temp_dir().join(format!("assay-ycsb-options-{number:016x}"));
        std::fs::DirBuilder::new().mode(0o700).create(&path)?;
        let folder = Self(path);
        std::fs::write(folder.0.join("OPTIONS-000001"), text)?;
        Ok(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// This also runs as root, where a prepared link would redirect the write.
    #[test]
    fn the_directory_of_an_options_file_is_new_and_private() {
        let [first, second] = [b"a", b"b"].map(|text| Folder::with(text).unwrap());
        assert_ne!(first.0, second.0);
        let path = first.0.clone();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(std::fs::read(path.join("OPTIONS-000001")).unwrap(), b"a");
        drop((first, second));
        assert!(!path.exists());
    }
}
