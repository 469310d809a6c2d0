//! The only `unsafe` code of the load generators: RocksDB's C interface, loaded at run time, behind
//! types that cannot be misused. It contains no other logic.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int, c_uchar, c_void};
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::null_mut;
use std::sync::{Arc, OnceLock};

use libloading::Library;

use super::symbols::{ErrorText, NAMES, Object, Text, functions};
use crate::failure::Failure;

macro_rules! api {
    ($($name:ident($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// The functions of the library.
        pub(super) struct Api {
            $($name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
            /// Never dropped: RocksDB keeps threads and static objects.
            _library: Library,
        }

        impl Api {
            fn from(library: Library) -> Result<Self, libloading::Error> {
                $(
                    let name = concat!("rocksdb_", stringify!($name), "\0");
                    // SAFETY: the type is that of the function in rocksdb/c.h, and the pointer is
                    // not used beyond the library, which is never unloaded.
                    let $name = unsafe { *library.get(name.as_bytes())? };
                )*
                Ok(Self { $($name,)* _library: library })
            }
        }
    };
}
functions!(api);

impl fmt::Debug for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Api")
    }
}

impl Api {
    /// Loads the library, once per process: the named one, or the first of the usual names.
    pub(super) fn load(named: Option<&str>) -> Result<&'static Self, Failure> {
        static LOADED: OnceLock<Result<Api, Failure>> = OnceLock::new();
        let loaded = LOADED.get_or_init(|| match named {
            Some(name) => Self::try_names(&[name]),
            None => Self::try_names(NAMES),
        });
        loaded.as_ref().map_err(Clone::clone)
    }

    pub(super) fn try_names(names: &[&str]) -> Result<Self, Failure> {
        let mut reason = String::new();
        for name in names {
            // SAFETY: the initialisers of RocksDB set up its own objects and nothing else.
            let loaded = unsafe { Library::new(name) }.and_then(Self::from);
            match loaded {
                Ok(api) => return Ok(api),
                Err(error) if reason.is_empty() => reason = error.to_string(),
                Err(_) => {}
            }
        }
        Err(Failure::Unable {
            what: format!("cannot load the RocksDB library: {reason}"),
            remedy: "apt install librocksdb7.8 (Debian 12; elsewhere librocksdb-dev), or \
                     give the file with -p rocksdb.library=PATH; the binding `basic` needs none"
                .to_owned(),
        })
    }

    /// Runs a call that may set an error text.
    fn checked<T>(&self, call: impl FnOnce(ErrorText) -> T) -> Result<T, String> {
        let mut text: *mut c_char = null_mut();
        let result = call(&raw mut text);
        if text.is_null() {
            return Ok(result);
        }
        // SAFETY: RocksDB has set a NUL-terminated text, which we own until it is freed.
        unsafe {
            let message = CStr::from_ptr(text).to_string_lossy().into_owned();
            (self.free)(text.cast());
            Err(message)
        }
    }

    /// The families of a closed database.
    pub(super) fn list_families(&'static self, directory: &Path) -> Result<Vec<String>, String> {
        let path = path_text(directory)?;
        let options = Options::new(self);
        let mut count = 0;
        // SAFETY: all pointers are valid during the call.
        let names = self.checked(|error| unsafe {
            (self.list_column_families)(options.object, path.as_ptr(), &raw mut count, error)
        })?;
        // SAFETY: without an error there are `count` texts, freed here and not used afterwards.
        unsafe {
            let list = texts(names, count);
            (self.list_column_families_destroy)(names, count);
            Ok(list)
        }
    }

    /// The options in the latest options file of a directory: those of the database, and those of
    /// each family. Options unknown to this version are skipped if a newer one wrote them.
    pub(super) fn load_options(
        &'static self,
        folder: &Path,
    ) -> Result<(Options, Vec<(String, Options)>), String> {
        let path = path_text(folder)?;
        let (mut database, mut names, mut families) = (null_mut(), null_mut(), null_mut());
        let mut count = 0;
        // SAFETY: all pointers are valid during the call. The environment is the default one, which
        // its destructor does not free, and the cache is reference-counted.
        self.checked(|error| unsafe {
            let environment = (self.create_default_env)();
            let cache = (self.cache_create_lru)(8 << 20);
            (self.load_latest_options)(
                path.as_ptr(),
                environment,
                true,
                cache,
                &raw mut database,
                &raw mut count,
                &raw mut names,
                &raw mut families,
                error,
            );
            (self.cache_destroy)(cache);
            (self.env_destroy)(environment);
        })?;
        // SAFETY: without an error there are `count` names and options. They are copied before they
        // are destroyed.
        unsafe {
            let copy = |object| Options { api: self, object: (self.options_create_copy)(object) };
            let options: Vec<Options> =
                (0..count).map(|index| copy(*families.add(index))).collect();
            let named = texts(names, count).into_iter().zip(options).collect();
            let own = copy(database);
            (self.load_latest_options_destroy)(database, names, families, count);
            Ok((own, named))
        }
    }

    /// Opens a database with these families.
    pub(super) fn open(
        &'static self,
        options: &Options,
        directory: &Path,
        families: &[(String, Options)],
    ) -> Result<(Database, Vec<(String, Family)>), String> {
        let path = path_text(directory)?;
        let names = families.iter().map(|(name, _)| text(name)).collect::<Result<Vec<_>, _>>()?;
        let names: Vec<Text> = names.iter().map(|name| name.as_ptr()).collect();
        let each: Vec<Object> = families.iter().map(|(_, options)| options.object).collect();
        let mut handles = vec![null_mut(); families.len()];
        let count = c_int::try_from(families.len()).map_err(|error| error.to_string())?;
        // SAFETY: the three arrays have `count` entries each and are valid during the call, and so
        // are the texts that `names` borrows from.
        let object = self.checked(|error| unsafe {
            (self.open_column_families)(
                options.object,
                path.as_ptr(),
                count,
                names.as_ptr(),
                each.as_ptr(),
                handles.as_mut_ptr(),
                error,
            )
        })?;
        let database = Database { inner: Arc::new(Inner::new(self, object)) };
        let named = families.iter().zip(handles).map(|((name, _), handle)| {
            (name.clone(), Family { of: database.inner.clone(), object: handle })
        });
        let named = named.collect();
        Ok((database, named))
    }
}

/// Copies `count` texts.
///
/// # Safety
/// `list` must point to that many NUL-terminated texts.
unsafe fn texts(list: *mut *mut c_char, count: usize) -> Vec<String> {
    // SAFETY: guaranteed by the caller.
    let one = |index| unsafe { CStr::from_ptr(*list.add(index)).to_string_lossy().into_owned() };
    (0..count).map(one).collect()
}

fn text(text: &str) -> Result<CString, String> {
    CString::new(text).map_err(|error| error.to_string())
}

fn path_text(path: &Path) -> Result<CString, String> {
    CString::new(path.as_os_str().as_bytes()).map_err(|error| error.to_string())
}

/// Options of a database or of a family.
#[derive(Debug)]
pub(super) struct Options {
    api: &'static Api,
    object: Object,
}

impl Options {
    /// RocksDB's defaults.
    pub(super) fn new(api: &'static Api) -> Self {
        // SAFETY: it has no arguments.
        Self { api, object: unsafe { (api.options_create)() } }
    }

    pub(super) fn copy(&self) -> Self {
        // SAFETY: the object lives as long as `self`.
        Self { api: self.api, object: unsafe { (self.api.options_create_copy)(self.object) } }
    }

    pub(super) fn optimize_level_style_compaction(&self, budget: u64) {
        // SAFETY: the object lives as long as `self`, here and below.
        unsafe { (self.api.options_optimize_level_style_compaction)(self.object, budget) }
    }

    pub(super) fn create_if_missing(&self) {
        // SAFETY: as above.
        unsafe {
            (self.api.options_set_create_if_missing)(self.object, 1);
            (self.api.options_set_create_missing_column_families)(self.object, 1);
        }
    }

    pub(super) fn increase_parallelism(&self, threads: i32) {
        // SAFETY: as above.
        unsafe { (self.api.options_increase_parallelism)(self.object, threads) }
    }

    pub(super) fn max_background_compactions(&self, threads: i32) {
        // SAFETY: as above.
        unsafe { (self.api.options_set_max_background_compactions)(self.object, threads) }
    }

    pub(super) fn info_log_level(&self, level: i32) {
        // SAFETY: as above.
        unsafe { (self.api.options_set_info_log_level)(self.object, level) }
    }

    /// Compression of each level, by the numbers of `rocksdb/c.h`.
    pub(super) fn compression(&self, levels: &[i32]) {
        let set = self.api.options_set_compression_per_level;
        // SAFETY: as above; the levels are copied.
        unsafe { set(self.object, levels.as_ptr(), levels.len()) }
    }

    /// Tables of blocks in this format, and levels of fixed size as they were before RocksDB 8.4.
    pub(super) fn block_table(&self, format: i32, checksum: i8, cache: usize) {
        // SAFETY: as above; the factory copies the table's options and counts the cache.
        unsafe {
            let table = (self.api.block_based_options_create)();
            let cache = (self.api.cache_create_lru)(cache);
            (self.api.block_based_options_set_format_version)(table, format);
            (self.api.block_based_options_set_checksum)(table, checksum as c_char);
            (self.api.block_based_options_set_block_cache)(table, cache);
            (self.api.options_set_block_based_table_factory)(self.object, table);
            (self.api.options_set_level_compaction_dynamic_level_bytes)(self.object, 0);
            (self.api.cache_destroy)(cache);
            (self.api.block_based_options_destroy)(table);
        }
    }
}

impl Drop for Options {
    fn drop(&mut self) {
        // SAFETY: it was created by `options_create` and is not used afterwards.
        unsafe { (self.api.options_destroy)(self.object) }
    }
}

/// An open database. It is closed when it and all its families are dropped.
#[derive(Debug)]
pub(super) struct Database {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    api: &'static Api,
    object: Object,
    reading: Object,
    writing: Object,
}

// SAFETY: by RocksDB's documentation (rocksdb/db.h) a DB is safe for concurrent access from
// several threads without external synchronisation; options are only read after their creation.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

impl Inner {
    fn new(api: &'static Api, object: Object) -> Self {
        // SAFETY: they have no arguments.
        let (reading, writing) =
            unsafe { ((api.readoptions_create)(), (api.writeoptions_create)()) };
        Self { api, object, reading, writing }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // SAFETY: families keep this alive, so that the database is dropped last.
        unsafe {
            (self.api.readoptions_destroy)(self.reading);
            (self.api.writeoptions_destroy)(self.writing);
            (self.api.close)(self.object);
        }
    }
}

/// A column family of an open database.
#[derive(Debug)]
pub(super) struct Family {
    of: Arc<Inner>,
    object: Object,
}

// SAFETY: a handle is only read by the calls that take it.
unsafe impl Send for Family {}
// SAFETY: as above.
unsafe impl Sync for Family {}

impl Drop for Family {
    fn drop(&mut self) {
        // SAFETY: the database is still open, since this holds a reference.
        unsafe { (self.of.api.column_family_handle_destroy)(self.object) }
    }
}

impl Database {
    /// Creates a family.
    pub(super) fn create_family(&self, options: &Options, name: &str) -> Result<Family, String> {
        let inner = &self.inner;
        let name = text(name)?;
        // SAFETY: all pointers are valid during the call.
        let object = inner.api.checked(|error| unsafe {
            (inner.api.create_column_family)(inner.object, options.object, name.as_ptr(), error)
        })?;
        Ok(Family { of: inner.clone(), object })
    }

    /// The database, if the family belongs to it: RocksDB does not check this.
    fn with(&self, family: &Family) -> Result<&Inner, String> {
        match Arc::ptr_eq(&self.inner, &family.of) {
            true => Ok(&self.inner),
            false => Err("the family belongs to another database".to_owned()),
        }
    }

    /// Passes a value to `with` without copying, if there is one.
    pub(super) fn get<R>(
        &self,
        family: &Family,
        key: &[u8],
        with: impl FnOnce(&[u8]) -> R,
    ) -> Result<Option<R>, String> {
        let Inner { api, object, reading, .. } = self.with(family)?;
        // SAFETY: the key is valid during the call.
        let pinned = api.checked(|error| unsafe {
            (api.get_pinned_cf)(
                *object,
                *reading,
                family.object,
                key.as_ptr().cast(),
                key.len(),
                error,
            )
        })?;
        if pinned.is_null() {
            return Ok(None);
        }
        // A panic in `with` may leak the slice, but nothing worse.
        // SAFETY: the slice pins the value until the slice is destroyed, after the last use.
        unsafe {
            let mut length = 0;
            let value = (api.pinnableslice_value)(pinned, &raw mut length);
            let result = with(bytes(value, length));
            (api.pinnableslice_destroy)(pinned);
            Ok(Some(result))
        }
    }

    /// Writes a value.
    pub(super) fn put(&self, family: &Family, key: &[u8], value: &[u8]) -> Result<(), String> {
        let Inner { api, object, writing, .. } = self.with(family)?;
        // SAFETY: key and value are valid during the call, which copies them.
        api.checked(|error| unsafe {
            (api.put_cf)(
                *object,
                *writing,
                family.object,
                key.as_ptr().cast(),
                key.len(),
                value.as_ptr().cast(),
                value.len(),
                error,
            );
        })
    }

    /// Passes the values from `key` on to `with`, until it returns false or there are no more.
    pub(super) fn scan(
        &self,
        family: &Family,
        key: &[u8],
        mut with: impl FnMut(&[u8]) -> bool,
    ) -> Result<(), String> {
        let Inner { api, object, reading, .. } = self.with(family)?;
        // SAFETY: the iterator is valid throughout, and a value until the iterator moves.
        unsafe {
            let iterator = (api.create_iterator_cf)(*object, *reading, family.object);
            (api.iter_seek)(iterator, key.as_ptr().cast(), key.len());
            while (api.iter_valid)(iterator) != 0 {
                let mut length = 0;
                let value = (api.iter_value)(iterator, &raw mut length);
                let goes_on = with(bytes(value, length));
                // As in the Java binding, the iterator advances before the count is checked.
                (api.iter_next)(iterator);
                if !goes_on {
                    break;
                }
            }
            let ended = api.checked(|error| (api.iter_get_error)(iterator, error));
            (api.iter_destroy)(iterator);
            ended
        }
    }
}

/// The bytes of a C text with a length.
///
/// # Safety
/// `length` bytes must be readable from `start` on for as long as the result is used.
unsafe fn bytes<'b>(start: Text, length: usize) -> &'b [u8] {
    if start.is_null() {
        return &[];
    }
    // SAFETY: guaranteed by the caller.
    unsafe { std::slice::from_raw_parts(start.cast(), length) }
}
