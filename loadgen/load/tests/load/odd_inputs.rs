//! Files named on the command line are read only if they are regular files, and up to a size limit.
// A failure in what the tests share is a failure of the test.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use assay_sys::kernel::fifo::Fifo;

/// Every reader with its command line; `FILE` stands for the file.
const READERS: [&str; 5] = [
    "filebench FILE --predict",
    "ycsb load basic -P FILE --predict",
    "ycsb load basic -P workloada -p fieldlengthdistribution=histogram \
     -p fieldlengthhistogram=FILE --predict",
    "blackscholes 1 FILE out --predict",
    "streamcluster 2 5 4 0 10 5 FILE out 1 --predict",
];

/// Exit code and error message; a process that blocks or reads for ever is killed.
fn error_of(words: &str, file: &Path) -> (Option<i32>, String) {
    let words = words.split_whitespace().map(|word| word.replace("FILE", file.to_str().unwrap()));
    let mut child = Command::new(env!("CARGO_BIN_EXE_assay-load"))
        .args(words)
        .current_dir(file.parent().unwrap())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() && begun.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let _ = child.kill();
    let code = child.wait().unwrap().code();
    let mut message = String::new();
    child.stderr.take().unwrap().read_to_string(&mut message).unwrap();
    (code, message)
}

#[test]
fn pipes_and_devices_are_not_read() {
    let place = tempfile::tempdir().unwrap();
    // No process has it open, so opening it blocks.
    drop(Fifo::make(place.path(), "fifo").unwrap());
    for words in READERS {
        for file in [place.path().join("fifo").as_path(), Path::new("/dev/zero")] {
            let (code, message) = error_of(words, file);
            assert_eq!(code, Some(2), "{words} of {}: {message}", file.display());
            assert!(message.contains("not a regular file"), "{words}: {message}");
        }
    }
}

/// Only rows of streamcluster have no size limit.
#[test]
fn files_read_completely_have_a_size_limit() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("long");
    File::create(&path).unwrap().set_len(60 << 30).unwrap();
    for words in &READERS[..4] {
        let (code, message) = error_of(words, &path);
        assert_eq!(code, Some(2), "{words}: {message}");
        assert!(message.contains("longer than"), "{words}: {message}");
    }
}
