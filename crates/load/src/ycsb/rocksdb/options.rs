//! The options of the Java binding, and those of an options file.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use super::error::{Doing, wrong};
use super::families::DEFAULT;
use super::ffi::{Api, Database, Family, Options};
use crate::failure::Failure;
use crate::input;

/// RocksJava's budget where `optimizeLevelStyleCompaction` is not told one.
const MEMTABLE_BUDGET: u64 = 512 << 20;
/// What RocksDB 6.2, which the Java binding uses, takes by default, and newer versions do not.
/// Without them it could not read what was written here.
const FORMAT_VERSION: i32 = 2;
const CRC32C: i8 = 1;
const BLOCK_CACHE: usize = 8 << 20;
/// None on the first two levels and Snappy below: `optimizeLevelStyleCompaction` of 7.8 takes LZ4
/// where it has it.
const COMPRESSION: [i32; 7] = [0, 0, 1, 1, 1, 1, 1];
/// `InfoLogLevel.INFO_LEVEL`.
const INFO: i32 = 1;

/// How a database will be opened.
#[derive(Debug)]
pub(super) struct Plan {
    database: Options,
    families: Vec<(String, Options)>,
    /// For a table that is not there yet.
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

/// Threads for flushes and compactions, by the number of CPUs that the Java machine would see.
fn threads() -> i32 {
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    i32::try_from(cpus * 2).unwrap_or(i32::MAX)
}

impl Plan {
    /// As the Java binding does it without an options file.
    pub(super) fn of_binding(api: &'static Api, families: &[String]) -> Self {
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
    /// family `default`, as the Java binding gives them to a new table.
    pub(super) fn of_file(
        api: &'static Api,
        file: &Path,
        families: &[String],
    ) -> Result<Self, Failure> {
        let refused = |text: &str| wrong(Doing::Reading, file, text);
        let text = input::read(file, input::MOST).map_err(|error| refused(&error.to_string()))?;
        // The C interface reads only the latest options file of a data directory, so that it is
        // given one that holds nothing else.
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

    /// The families that will be opened.
    pub(super) fn families(&self) -> impl Iterator<Item = &str> {
        self.families.iter().map(|(name, _)| name.as_str())
    }

    /// Opens it, or says why not in RocksDB's words.
    pub(super) fn open(
        &self,
        api: &'static Api,
        directory: &Path,
    ) -> Result<(Database, Vec<(String, Family)>), String> {
        api.open(&self.database, directory, &self.families)
    }
}

/// A folder with one options file in it, which goes when it is dropped.
struct Folder(std::path::PathBuf);

impl Folder {
    /// Below a folder that everybody may write to: its name cannot be guessed, it must not be there
    /// before, and nobody else may look into it.
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

    /// Root works here too, and a link that somebody has laid there would lead its writing elsewhere.
    #[test]
    fn the_folder_of_an_options_file_is_new_and_its_owner_s_alone() {
        let [first, second] = [b"a", b"b"].map(|text| Folder::with(text).unwrap());
        assert_ne!(first.0, second.0);
        let path = first.0.clone();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(std::fs::read(path.join("OPTIONS-000001")).unwrap(), b"a");
        drop((first, second));
        assert!(!path.exists());
    }
}
