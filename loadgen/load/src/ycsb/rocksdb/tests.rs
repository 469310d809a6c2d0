//! The binding with the real library, in temporary directories.

use std::path::Path;

use super::*;
use crate::ycsb::distribution::Lengths;
use crate::ycsb::random::Random;
use crate::ycsb::record::{Shape, fields};
use crate::ycsb::store::{Session, Status};

/// Whether the library is installed; if not, the test is reported as skipped.
pub(crate) fn has_library(test: &str) -> bool {
    let loaded = Api::load(None);
    if let Err(reason) = &loaded {
        assay_test_support::skip(test, &reason.to_string());
    }
    loaded.is_ok()
}

fn location(directory: &Path) -> Location {
    Location {
        directory: directory.join("data"),
        options_file: None,
        library: None,
        table: "usertable".to_owned(),
    }
}

fn record() -> Vec<u8> {
    let mut record = Vec::new();
    Shape::new("field", 3, Lengths::Constant(8), false).write(
        b"k",
        &mut Random::new(1, 0),
        &mut record,
    );
    record
}

#[test]
fn records_persist_when_the_directory_is_reopened() {
    if !has_library("records_are_there_again_when_the_directory_is_opened_again") {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let location = location(place.path());
    let store = RocksDb::open(&location).unwrap();
    assert_eq!(store.session().insert(b"user1", &record()), Status::Ok);
    assert_eq!(store.session().update(b"user1", &[(b"field2", b"new")]), Status::Ok);
    assert_eq!(store.session().update(b"user2", &[(b"field2", b"new")]), Status::NotFound);
    RocksDb::release(Arc::new(store)).unwrap();
    let names = std::fs::read_to_string(location.directory.join("CF_NAMES")).unwrap();
    assert_eq!(names, "default\nusertable\n");

    let store = RocksDb::open(&location).unwrap();
    let mut read = Vec::new();
    assert_eq!(store.session().read(b"user1", Some(&mut read)), Status::Ok);
    let cell = fields(&read).flatten().find(|cell| cell.name == b"field2").unwrap();
    assert_eq!(cell.value, b"new");
    assert_eq!(store.session().read(b"user2", None), Status::NotFound);
}

#[test]
fn a_run_that_was_killed_leaves_a_directory_that_opens() {
    if !has_library("a_run_that_was_killed_leaves_a_directory_that_opens") {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let location = location(place.path());
    drop(RocksDb::open(&location).unwrap());
    // As the Java binding would leave it: the family exists but is not recorded.
    std::fs::remove_file(location.directory.join("CF_NAMES")).unwrap();
    drop(RocksDb::open(&location).unwrap());
    // As the Java binding leaves it after closing a second time.
    std::fs::write(location.directory.join("CF_NAMES"), "default\ndefault\nusertable\n").unwrap();
    RocksDb::open(&location).unwrap();
}

#[test]
fn scans_end_at_their_length_or_at_the_last_record() {
    if !has_library("scans_end_at_their_length_or_at_the_last_record") {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let store = RocksDb::open(&location(place.path())).unwrap();
    let mut session = store.session();
    for key in [b"user1", b"user2", b"user3"] {
        session.insert(key, &record());
    }
    assert_eq!(session.scan(b"user1", 2), (Status::Ok, 2));
    assert_eq!(session.scan(b"user2", 100), (Status::Ok, 2));
    assert_eq!(session.scan(b"user9", 100), (Status::Ok, 0));
    assert_eq!(session.scan(b"user1", 0), (Status::Ok, 0));
}

#[test]
fn a_directory_in_use_is_refused_with_its_remedy() {
    if !has_library("a_directory_in_use_is_refused_with_its_remedy") {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let location = location(place.path());
    let _first = RocksDb::open(&location).unwrap();
    let refused = RocksDb::open(&location).unwrap_err();
    assert_eq!(refused.exit_code(), 4);
    assert!(refused.to_string().contains("another process has the directory open"), "{refused}");
}

#[test]
fn a_table_of_another_open_database_is_refused() {
    if !has_library("a_table_of_another_open_database_is_refused") {
        return;
    }
    let (place, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = RocksDb::open(&location(place.path())).unwrap();
    let other = RocksDb::open(&location(other.path())).unwrap();
    let (database, foreign) = (&store.database, &other.table);
    let refused = "the family belongs to another database";
    assert_eq!(database.put(foreign, b"user1", b"value").unwrap_err(), refused);
    assert_eq!(database.get(foreign, b"user1", |_| ()).unwrap_err(), refused);
    assert_eq!(database.scan(foreign, b"user1", |_| true).unwrap_err(), refused);
    database.put(&store.table, b"user1", b"value").unwrap();
    assert_eq!(other.database.get(foreign, b"user1", |_| ()).unwrap(), None);
}

#[test]
fn a_directory_that_cannot_be_created_is_refused() {
    if !has_library("a_directory_that_cannot_be_made_is_refused") {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("data"), "a file").unwrap();
    let refused = RocksDb::open(&location(place.path())).unwrap_err().to_string();
    assert!(refused.contains("cannot create the data directory"), "{refused}");
}

#[test]
fn a_foreign_record_is_an_error_without_a_panic() {
    if !has_library("a_record_of_something_else_is_an_error_and_no_panic") {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let store = RocksDb::open(&location(place.path())).unwrap();
    let mut session = store.session();
    session.insert(b"user1", b"not a record");
    assert_eq!(session.read(b"user1", None), Status::Error);
    assert_eq!(session.update(b"user1", &[(b"field0", b"x")]), Status::Error);
    assert_eq!(session.scan(b"user1", 1), (Status::Error, 1));
    assert!(store.first_error().unwrap().contains("`user1` does not have the layout"));
}

#[test]
fn the_options_are_those_of_the_java_binding() {
    if !has_library("the_options_are_those_of_the_java_binding") {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let location = location(place.path());
    drop(RocksDb::open(&location).unwrap());
    let text = latest_options(&location.directory);
    let table = &text[text.find("[CFOptions \"usertable\"]").unwrap()..];
    // As written by RocksDB 6.2.2 for the Java binding.
    for option in [
        "write_buffer_size=134217728",
        "min_write_buffer_number_to_merge=2",
        "max_write_buffer_number=6",
        "level0_file_num_compaction_trigger=2",
        "target_file_size_base=67108864",
        "max_bytes_for_level_base=536870912",
        "level_compaction_dynamic_level_bytes=false",
        "compression_per_level=kNoCompression:kNoCompression:kSnappyCompression:",
        "format_version=2",
        "checksum=kCRC32c",
        "block_size=4096",
    ] {
        assert!(table.contains(option), "{option} is not in {table}");
    }
}

/// The newest options file of a data directory.
fn latest_options(directory: &Path) -> String {
    let mut files: Vec<PathBuf> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("OPTIONS-"))
        .collect();
    files.sort();
    std::fs::read_to_string(files.pop().unwrap()).unwrap()
}

#[test]
fn an_options_file_overrides_the_options() {
    if !has_library("an_options_file_decides_over_the_options") {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let mut location = location(place.path());
    drop(RocksDb::open(&location).unwrap());
    let file = place.path().join("my-options.ini");
    let changed = latest_options(&location.directory)
        .replace("write_buffer_size=134217728", "write_buffer_size=1048576");
    std::fs::write(&file, changed).unwrap();
    location.options_file = Some(file.clone());
    let store = RocksDb::open(&location).unwrap();
    assert_eq!(store.session().insert(b"user1", &record()), Status::Ok);
    drop(store);
    let written = latest_options(&location.directory);
    assert!(written.contains("write_buffer_size=1048576"), "{written}");

    std::fs::write(&file, "no options").unwrap();
    let refused = RocksDb::open(&location).unwrap_err().to_string();
    assert!(refused.contains("cannot read") && refused.contains("my-options.ini"), "{refused}");
}

#[test]
fn a_missing_library_is_reported_with_its_package() {
    let failure = Api::try_names(&["libassay-absent.so.1"]).unwrap_err();
    assert_eq!(failure.exit_code(), 4);
    let text = failure.to_string();
    assert!(
        text.contains("libassay-absent.so.1") && text.contains("apt install librocksdb"),
        "{text}"
    );
}
