//! Tests of following a run, also against a user who exchanges its folder.

use std::fs;

use assay_record::run_folder::{Column, Event, EventLog, SampleStream, to_parquet};

use super::*;

fn table(from: u64) -> Table {
    Table {
        source: "io".to_owned(),
        time_ns: vec![from],
        subject: vec![0],
        subjects: vec!["a".to_owned()],
        columns: vec![Column { name: "read_bytes".to_owned(), values: vec![Some(from)] }],
    }
}

fn new_times(follower: &mut Follower) -> Vec<u64> {
    let mut times = Vec::new();
    let mut take = |_: RepeatId, table: &Table| {
        times.extend(&table.time_ns);
        Ok(())
    };
    follower.samples(&mut take).unwrap();
    times
}

fn new_events(follower: &mut Follower) -> Vec<Value> {
    let fresh = follower.fresh_events();
    fresh.lines().filter_map(|line| event(follower.run(), line)).collect()
}

#[test]
fn each_sample_is_reported_once_during_and_after_the_run() {
    let dir = tempfile::tempdir().unwrap();
    let run = RunFolder::create(&dir.path().join("run"), assay_sys::files::Trust::Checked).unwrap();
    let mut follower = Follower::new(run.path());
    assert!(new_times(&mut follower).is_empty() && !follower.is_over());
    let repeat = run.make_dir(Path::new("samples/trial-00-repeat-00")).unwrap();
    let mut stream = SampleStream::create(&repeat, "io", &["read_bytes".to_owned()]).unwrap();
    stream.append(&table(1)).unwrap();
    assert_eq!(new_times(&mut follower), [1]);
    stream.append(&table(2)).unwrap();
    stream.append(&table(3)).unwrap();
    // The stream is converted before the next read.
    to_parquet(&repeat).unwrap();
    assert_eq!(new_times(&mut follower), [2, 3]);
    assert!(new_times(&mut follower).is_empty());
    // A repeat that started and ended between two reads.
    let next = run.make_dir(Path::new("samples/trial-01-repeat-02")).unwrap();
    let mut stream = SampleStream::create(&next, "io", &["read_bytes".to_owned()]).unwrap();
    stream.append(&table(9)).unwrap();
    to_parquet(&next).unwrap();
    assert_eq!(new_times(&mut follower), [9]);
    run.write_text("manifest.json", r#"{"schema": 1, "restored": true}"#).unwrap();
    assert!(follower.is_over());
}

/// A run folder may be renamed and another one created under its name.
#[test]
fn follower_stays_with_the_open_folder() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run");
    let write = |time| {
        let run = RunFolder::create(&path, assay_sys::files::Trust::Checked).unwrap();
        let repeat = run.make_dir(Path::new("samples/trial-00-repeat-00")).unwrap();
        let mut stream = SampleStream::create(&repeat, "io", &["read_bytes".to_owned()]).unwrap();
        stream.append(&table(time)).unwrap();
        run
    };
    let mut follower = Follower::from_folder(&write(1));
    fs::rename(&path, dir.path().join("moved")).unwrap();
    write(7).write_text("manifest.json", r#"{"schema": 1, "restored": true}"#).unwrap();
    assert_eq!(new_times(&mut follower), [1]);
    assert!(!follower.is_over());
    assert_eq!(follower.run(), "run");
}

/// The owner of the folder above may exchange names at any time, also for links.
#[test]
fn folders_exchanged_for_others_are_never_read() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let dir = tempfile::tempdir().unwrap();
    let run = |name: &str, time| {
        let path = dir.path().join(name);
        let run = RunFolder::create(&path, assay_sys::files::Trust::Checked).unwrap();
        let repeat = run.make_dir(Path::new("samples/trial-00-repeat-00")).unwrap();
        let columns = ["read_bytes".to_owned()];
        let mut stream = SampleStream::create(&repeat, "io", &columns).unwrap();
        stream.append(&table(time)).unwrap();
        let text = format!("{{\"time_ns\": {time}}}\n");
        fs::write(path.join("events.jsonl"), text).unwrap();
        (path, stream)
    };
    let (path, mut stream) = run("run", 1);
    let (other, _) = run("other", 7);
    let ended = r#"{"schema": 1, "restored": true}"#;
    fs::write(other.join("manifest.json"), ended).unwrap();
    let link = dir.path().join("link");
    std::os::unix::fs::symlink(&other, &link).unwrap();
    let (away, stop) = (dir.path().join("away"), AtomicBool::new(false));
    let mut follower = Follower::new(&path);
    let mut lines = Vec::new();
    follower.write(&mut lines).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Acquire) {
                for attacker in [&other, &link] {
                    fs::rename(&path, &away).unwrap();
                    fs::rename(attacker, &path).unwrap();
                    fs::rename(&path, attacker).unwrap();
                    fs::rename(&away, &path).unwrap();
                }
            }
        });
        for time in 2..500 {
            stream.append(&table(time)).unwrap();
            follower.write(&mut lines).unwrap();
            let is_over = follower.is_over();
            if is_over || String::from_utf8_lossy(&lines).contains("\"time_ns\":7}") {
                stop.store(true, Ordering::Release);
            }
            assert!(!is_over, "the end of another run");
        }
        stop.store(true, Ordering::Release);
    });
    let lines = String::from_utf8(lines).unwrap();
    let times: Vec<u64> = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|line| line["table"] == "live")
        .map(|line| line["time_ns"].as_u64().unwrap())
        .collect();
    assert_eq!(times, (1..500).collect::<Vec<u64>>());
    assert_eq!(lines.matches("\"events\"").count(), 1, "{lines}");
}

#[test]
fn the_removal_of_the_followed_folder_ends_the_follower() {
    let dir = tempfile::tempdir().unwrap();
    let run = long_run(dir.path(), 2);
    let mut follower = Follower::new(run.path());
    assert_eq!(new_times(&mut follower), [0, 1, 0, 1]);
    fs::remove_dir_all(run.path()).unwrap();
    fs::create_dir(run.path()).unwrap();
    let error = follower.write(&mut Vec::new()).unwrap_err().to_string();
    assert!(error.contains("removed") && error.contains("/run"), "{error}");
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(Follower::new(&file).write(&mut Vec::new()).is_err(), "it could never be opened");
}

#[test]
fn a_stream_that_cannot_be_opened_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let run = RunFolder::create(&dir.path().join("run"), assay_sys::files::Trust::Checked).unwrap();
    let repeat = run.make_dir(Path::new("samples/trial-00-repeat-00")).unwrap();
    std::os::unix::fs::symlink("/dev/null", repeat.join("io.csv")).unwrap();
    let mut follower = Follower::new(run.path());
    let error = follower.samples(&mut |_, _| Ok(())).unwrap_err().to_string();
    assert!(error.contains("trial-00-repeat-00/io.csv"), "{error}");
}

#[test]
fn sources_of_a_followed_run_are_limited() {
    let dir = tempfile::tempdir().unwrap();
    let run = RunFolder::create(&dir.path().join("run"), assay_sys::files::Trust::Checked).unwrap();
    let repeat = run.make_dir(Path::new("samples/trial-00-repeat-00")).unwrap();
    let mut follower = Follower::new(run.path());
    for number in 0..256 {
        fs::write(repeat.join(format!("x{number:03}.csv")), "").unwrap();
    }
    follower.samples(&mut |_, _| Ok(())).unwrap();
    fs::write(repeat.join("x256.csv"), "").unwrap();
    let error = follower.samples(&mut |_, _| Ok(())).unwrap_err().to_string();
    assert!(error.contains("samples/trial-00-repeat-00/x256.csv"), "{error}");
    assert!(error.contains("256 sources"), "{error}");
}

#[test]
fn events_are_reported_once_and_only_complete_lines() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = EventLog::create(dir.path()).unwrap();
    let event = |text: &str| Event {
        time_ns: 1,
        kind: "phase".to_owned(),
        trial: None,
        repeat: None,
        text: text.to_owned(),
    };
    let mut follower = Follower::new(dir.path());
    log.append(&event("one")).unwrap();
    assert_eq!(new_events(&mut follower)[0]["text"], "one");
    log.append(&event("two")).unwrap();
    let path = dir.path().join("events.jsonl");
    let mut text = fs::read_to_string(&path).unwrap();
    text.push_str("{\"time_ns\": 2, ");
    fs::write(&path, text).unwrap();
    let events = new_events(&mut follower);
    assert_eq!((events.len(), events[0]["text"].as_str()), (1, Some("two")));
    assert_eq!(events[0]["table"], "events");
    let long = format!("{{\"text\": \"{}\"}}", "x".repeat(MAX_EVENT));
    assert_eq!(super::event("r", &long), None, "longer than any line a run writes");
}

/// A running run with a stream of `rows` rows in each of two repeats.
fn long_run(dir: &Path, rows: u64) -> RunFolder {
    let run = RunFolder::create(&dir.join("run"), assay_sys::files::Trust::Checked).unwrap();
    for repeat in 0..2 {
        let name = format!("samples/trial-00-repeat-0{repeat}");
        let repeat = run.make_dir(Path::new(&name)).unwrap();
        let columns = ["read_bytes".to_owned()];
        let mut stream = SampleStream::create(&repeat, "io", &columns).unwrap();
        (0..rows).for_each(|time| stream.append(&table(time)).unwrap());
    }
    run
}

/// Each file alone is within every limit; together they are not.
#[test]
fn followed_streams_share_one_budget() {
    let dir = tempfile::tempdir().unwrap();
    let run = long_run(dir.path(), 20);
    let mut follower = Follower::new(run.path());
    follower.budget = Budget::new(100, 0);
    let mut rows = 0;
    let mut take = |_: RepeatId, table: &Table| {
        rows += table.time_ns.len();
        Ok(())
    };
    let error = follower.samples(&mut take).unwrap_err().to_string();
    assert!(error.contains("io.csv") && error.contains("more values"), "{error}");
    assert_eq!(rows, 20, "60 values of the first, and none of the second");
}

/// A writer that fails after a number of lines.
struct FailsAfter(usize);

impl Write for FailsAfter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let lines = bytes.iter().filter(|byte| **byte == b'\n').count();
        self.0 = self.0.checked_sub(lines).ok_or(std::io::ErrorKind::BrokenPipe)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn no_row_is_built_after_a_failed_write() {
    let table = Table {
        time_ns: (0..1000).collect(),
        subject: vec![0; 1000],
        columns: Vec::new(),
        ..table(0)
    };
    let mut built = 0;
    let rows = rows("r", RepeatId { trial: 0, repeat: 0 }, &table).inspect(|_| built += 1);
    let error = write_each(rows, &mut FailsAfter(9)).unwrap_err();
    assert!(matches!(error, Error::ReaderClosed), "{error}");
    assert_eq!(built, 10);
    let dir = tempfile::tempdir().unwrap();
    let run = long_run(dir.path(), 20);
    let error = Follower::new(run.path()).write(&mut FailsAfter(9)).unwrap_err();
    assert!(matches!(error, Error::ReaderClosed), "{error}");
    let mut lines: Vec<u8> = Vec::new();
    Follower::new(run.path()).write(&mut lines).unwrap();
    assert_eq!(lines.iter().filter(|byte| **byte == b'\n').count(), 40);
}
