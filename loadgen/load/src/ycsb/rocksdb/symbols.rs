//! The functions used of RocksDB's C interface, as declared in `rocksdb/c.h` (7.8, and unchanged
//! since 6.8), and the names under which the library is installed.

use std::ffi::{c_char, c_void};

/// An object of RocksDB; the function tells which.
pub(super) type Object = *mut c_void;
/// Where an error text is stored, to be freed by `rocksdb_free`.
pub(super) type ErrorText = *mut *mut c_char;
pub(super) type Text = *const c_char;

/// Debian 12, 11 and 13, Ubuntu, others, and the link name of the development package.
pub(super) const NAMES: &[&str] = &[
    "librocksdb.so.7.8",
    "librocksdb.so.6.11",
    "librocksdb.so.9.10",
    "librocksdb.so.8.9",
    "librocksdb.so.9",
    "librocksdb.so.8",
    "librocksdb.so.7",
    "librocksdb.so.6",
    "librocksdb.so",
];

/// Calls `$with` with the list of functions. A name stands for `rocksdb_` and itself.
macro_rules! functions {
    ($with:ident) => {
        $with! {
            free(*mut c_void);
            create_default_env() -> Object;
            env_destroy(Object);
            options_create() -> Object;
            options_create_copy(Object) -> Object;
            options_destroy(Object);
            options_increase_parallelism(Object, c_int);
            options_optimize_level_style_compaction(Object, u64);
            options_set_create_if_missing(Object, c_uchar);
            options_set_create_missing_column_families(Object, c_uchar);
            options_set_max_background_compactions(Object, c_int);
            options_set_info_log_level(Object, c_int);
            options_set_level_compaction_dynamic_level_bytes(Object, c_uchar);
            options_set_block_based_table_factory(Object, Object);
            options_set_compression_per_level(Object, *const i32, usize);
            block_based_options_create() -> Object;
            block_based_options_destroy(Object);
            block_based_options_set_format_version(Object, c_int);
            block_based_options_set_checksum(Object, c_char);
            block_based_options_set_block_cache(Object, Object);
            cache_create_lru(usize) -> Object;
            cache_destroy(Object);
            load_latest_options(
                Text, Object, bool, Object, *mut Object, *mut usize, *mut *mut *mut c_char,
                *mut *mut Object, ErrorText
            );
            load_latest_options_destroy(Object, *mut *mut c_char, *mut Object, usize);
            list_column_families(Object, Text, *mut usize, ErrorText) -> *mut *mut c_char;
            list_column_families_destroy(*mut *mut c_char, usize);
            open_column_families(
                Object, Text, c_int, *const Text, *const Object, *mut Object, ErrorText
            ) -> Object;
            create_column_family(Object, Object, Text, ErrorText) -> Object;
            column_family_handle_destroy(Object);
            close(Object);
            readoptions_create() -> Object;
            readoptions_destroy(Object);
            writeoptions_create() -> Object;
            writeoptions_destroy(Object);
            get_pinned_cf(Object, Object, Object, Text, usize, ErrorText) -> Object;
            pinnableslice_value(Object, *mut usize) -> Text;
            pinnableslice_destroy(Object);
            put_cf(Object, Object, Object, Text, usize, Text, usize, ErrorText);
            create_iterator_cf(Object, Object, Object) -> Object;
            iter_seek(Object, Text, usize);
            iter_valid(Object) -> c_uchar;
            iter_next(Object);
            iter_value(Object, *mut usize) -> Text;
            iter_get_error(Object, ErrorText);
            iter_destroy(Object);
        }
    };
}
pub(super) use functions;
