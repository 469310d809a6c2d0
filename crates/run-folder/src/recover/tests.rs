//! Tests of reading streams that grow, are damaged or forged.

use std::fs;
use std::io::Write;
use std::time::{Duration, Instant};

use super::*;
use crate::arrow::names;
use crate::run::read_tables;
use crate::stream::SampleStream;
use crate::table::Column;

/// A stream with one batch, as written by [`SampleStream`], and the offset of its second message.
fn stream(columns: usize, rows: usize) -> (Vec<u8>, usize) {
    let place = tempfile::tempdir().unwrap();
    let names: Vec<String> = (0..columns).map(|column| format!("counter_{column}")).collect();
    let mut stream = SampleStream::create(place.path(), "io", &names).unwrap();
    let columns = names.into_iter().map(|name| Column { name, values: vec![Some(0); rows] });
    let table = Table {
        source: "io".to_owned(),
        time_ns: vec![0; rows],
        subject: vec![0; rows],
        subjects: vec![String::new()],
        columns: columns.collect(),
    };
    stream.append(&table).unwrap();
    stream.finish().unwrap();
    let bytes = fs::read(place.path().join("io.arrows")).unwrap();
    let second = PREFIX + description(&bytes).unwrap().len();
    (bytes, second)
}

fn rows(batches: &[RecordBatch]) -> usize {
    batches.iter().map(RecordBatch::num_rows).sum()
}

/// The rows of a stream that has ended, and those that a program following it has read by then.
fn rows_of(bytes: &[u8]) -> (usize, usize) {
    let mut growing = Growing::default();
    let followed = rows(&growing.add(bytes));
    (followed + rows(&growing.finish()), followed)
}

/// Each header finds the rows of the next one behind it, and takes what follows as its own.
#[test]
fn nested_batches_cost_no_more_than_the_file() {
    const ROWS: usize = 4096;
    const HEADERS: usize = 64;
    let (bytes, second) = stream(1, ROWS);
    let header = PREFIX + description(&bytes[second..]).unwrap().len();
    assert!(HEADERS * header < ROWS * 8, "they fit into the column of times");
    let mut forged = bytes[..second + header].to_vec();
    for _ in 1..HEADERS {
        forged.extend_from_slice(&bytes[second..second + header]);
    }
    forged.extend_from_slice(&bytes[second + header..]);
    assert_eq!(rows_of(&bytes).0, ROWS);
    let most = 4 * forged.len() / (3 * 8);
    let (whole, followed) = rows_of(&forged);
    assert!(whole <= most && followed <= most, "{whole} rows of {} bytes", forged.len());
}

/// Markers every 16 bytes lead to one long metadata block that is damaged at its end.
#[test]
fn markers_that_share_metadata_cost_no_more_than_the_file() {
    const MARKS: usize = 8192;
    let (bytes, _) = stream(2000, 1);
    let mut long = description(&bytes).unwrap().to_vec();
    let last = long.windows(13).position(|part| part == b"counter_1999\0").unwrap();
    long[last] = 0xff;
    let root = u32::from_le_bytes(long[..4].try_into().unwrap()) as usize;
    let whole = 16 * MARKS + long.len();
    let mut forged = Vec::new();
    for mark in 0..MARKS {
        let begin = 16 * mark + PREFIX;
        forged.extend_from_slice(&MARK);
        forged.extend_from_slice(&((whole - begin) as u32).to_le_bytes());
        forged.extend_from_slice(&((16 * MARKS + root - begin) as u32).to_le_bytes());
        forged.extend_from_slice(&[0; 4]);
    }
    forged.extend_from_slice(&long);
    assert!(read(&long).is_none());
    let begun = Instant::now();
    assert_eq!(rows_of(&forged).0, 0);
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

/// Arrow counts the bytes of all names of a batch in 31 bits, and panics where there are more.
#[test]
fn names_beyond_arrows_offsets_are_refused() {
    let bytes =
        |ends: &[u32]| -> Vec<u8> { ends.iter().flat_map(|end| end.to_le_bytes()).collect() };
    // Untouched pages take no memory.
    let text = vec![0_u8; (1 << 31) + 1];
    assert!(names(&bytes(&[0, 1 << 31]), &text, 1).is_none());
    let rows = 1_u32 << 19;
    let ends: Vec<u32> = (0..=rows).map(|name| name * 4096).collect();
    assert!(names(&bytes(&ends), &text, rows as usize).is_none());
    assert!(names(&bytes(&[0, 4097]), &text, 1).is_none(), "a name that is too long");
    assert!(names(&bytes(&[8, 0]), &text, 1).is_none());
    assert_eq!(names(&bytes(&[0, 4096, 4096]), &text, 2).unwrap().value(0).len(), 4096);
}

fn two_rows(from: u64) -> Table {
    Table {
        source: "io".to_owned(),
        time_ns: vec![from, from + 1],
        subject: vec![0, 1],
        subjects: vec!["a".to_owned(), "b".to_owned()],
        columns: vec![Column { name: "bytes".to_owned(), values: vec![Some(from), None] }],
    }
}

fn stream_in(folder: &Path) -> PathBuf {
    let mut stream = SampleStream::create(folder, "io", &["bytes".to_owned()]).unwrap();
    (0..5).for_each(|batch| stream.append(&two_rows(10 * batch)).unwrap());
    stream.finish().unwrap();
    folder.join("io.arrows")
}

#[test]
fn a_tail_returns_each_batch_once_however_the_bytes_arrive() {
    let place = tempfile::tempdir().unwrap();
    let whole = fs::read(stream_in(place.path())).unwrap();
    let growing = place.path().join("growing.arrows");
    let mut file = File::create(&growing).unwrap();
    let dir = Dir::open(place.path()).unwrap();
    let mut tail = Tail::open(&dir, Path::new("growing.arrows")).unwrap();
    let mut times = Vec::new();
    for piece in whole.chunks(37) {
        file.write_all(piece).unwrap();
        let mut take = |table: Table| {
            times.extend(table.time_ns);
            true
        };
        tail.read(&mut Budget::default(), &mut take).unwrap();
    }
    assert_eq!(times, [0, 1, 10, 11, 20, 21, 30, 31, 40, 41]);
    tail.read(&mut Budget::default(), &mut |_| panic!("everything was already read")).unwrap();
}

/// A reader that follows a damaged stream reaches its end, and so does one that reads it afterwards.
#[test]
fn a_damaged_stream_is_followed_to_its_end() {
    let place = tempfile::tempdir().unwrap();
    let whole = fs::read(stream_in(place.path())).unwrap();
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x80;
        fs::write(place.path().join("io.arrows"), &bytes).unwrap();
        let dir = Dir::open(place.path()).unwrap();
        let mut rows = 0;
        let mut take = |table: Table| {
            rows += table.time_ns.len();
            true
        };
        let mut tail = Tail::open(&dir, Path::new("io.arrows")).unwrap();
        tail.read(&mut Budget::default(), &mut take).unwrap();
        let later = read_tables(place.path()).unwrap()[0].time_ns.len();
        assert!(rows <= 10 && later <= 10, "byte {at}: {rows} and {later}");
    }
}

/// Ten rows of three columns; the budget covers all but one value.
#[test]
fn a_tail_stays_within_the_budget_of_its_run() {
    let place = tempfile::tempdir().unwrap();
    stream_in(place.path());
    let dir = Dir::open(place.path()).unwrap();
    let tail = || Tail::open(&dir, Path::new("io.arrows")).unwrap();
    tail().read(&mut Budget::new(30, 0), &mut |_| true).unwrap();
    let mut rows = 0;
    let mut take = |table: Table| {
        rows += table.time_ns.len();
        true
    };
    let error = tail().read(&mut Budget::new(29, 0), &mut take).unwrap_err().to_string();
    assert!(error.contains("io.arrows") && error.contains("more values"), "{error}");
    assert_eq!(rows, 8);
    let mut rows = 0;
    let mut take = |table: Table| {
        rows += table.time_ns.len();
        rows < 4
    };
    tail().read(&mut Budget::default(), &mut take).unwrap();
    assert_eq!(rows, 4, "`take` ended it early");
}
