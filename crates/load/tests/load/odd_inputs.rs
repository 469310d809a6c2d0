//! What is read of a file that the command line names is a regular file, and not more than such a file
//! can have.
// A failure in what the tests share is a failure of the test.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use assay_kernel::fifo::Fifo;

/// Every reader, by the words that lead to it; `FILE` stands for the file.
const READERS: [&str; 5] = [
    "filebench FILE --predict",
    "ycsb load basic -P FILE --predict",
    "ycsb load basic -P workloada -p fieldlengthdistribution=histogram \
     -p fieldlengthhistogram=FILE --predict",
    "blackscholes 1 FILE out --predict",
    "streamcluster 2 5 4 0 10 5 FILE out 1 --predict",
];

/// Exit code and complaint; one that waits, or reads without end, is ended.
fn said(words: &str, file: &Path) -> (Option<i32>, String) {
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
    let mut complaint = String::new();
    child.stderr.take().unwrap().read_to_string(&mut complaint).unwrap();
    (code, complaint)
}

#[test]
fn nothing_that_is_read_is_a_pipe_or_a_device() {
    let place = tempfile::tempdir().unwrap();
    // Nobody has it open, so that whoever opens it waits.
    drop(Fifo::make(place.path(), "fifo").unwrap());
    for words in READERS {
        for file in [place.path().join("fifo").as_path(), Path::new("/dev/zero")] {
            let (code, complaint) = said(words, file);
            assert_eq!(code, Some(2), "{words} of {}: {complaint}", file.display());
            assert!(complaint.contains("no regular file"), "{words}: {complaint}");
        }
    }
}

/// Rows of streamcluster alone may be as many as a disk holds.
#[test]
fn nothing_that_is_read_whole_is_longer_than_such_a_file_can_be() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("long");
    File::create(&path).unwrap().set_len(60 << 30).unwrap();
    for words in &READERS[..4] {
        let (code, complaint) = said(words, &path);
        assert_eq!(code, Some(2), "{words}: {complaint}");
        assert!(complaint.contains("longer than"), "{words}: {complaint}");
    }
}
