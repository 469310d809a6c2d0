//! Follows a running run by reading its folder while it is written.
//!
//! No lock is held and the run is not involved: its sample streams are append-only, and the
//! follower reads only complete batches. When a stream is converted to Parquet its file is removed,
//! but stays readable through an open descriptor. At most one batch and the incomplete tail of each
//! stream are in memory.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use assay_files::Dir;
use assay_run_folder::{
    Budget, RepeatId, RunFolder, SampleFile, State, Table, Tail, sample_files, summarize,
};
use serde_json::{Value, json};

use crate::error::Error;
use crate::lines::write_each;
use crate::tables::name;

/// Maximum size of events.jsonl in bytes.
const MAX_EVENTS: u64 = 256 << 20;

/// Maximum size of one event line in bytes. Real lines have some hundred; parsed into a value, a
/// line takes many times its size.
const MAX_EVENT: usize = 1 << 20;

/// Maximum bytes that incomplete batches of all streams together may take: as many as one stream
/// may. Declaring a large batch costs the writer nothing (a sparse file), so the total is bounded
/// too.
const MAX_INCOMPLETE: usize = 1 << 30;

/// Follows one run.
pub struct Follower {
    folder: PathBuf,
    /// Keeps the folder open when `folder` is a path through its descriptor.
    _held: Option<RunFolder>,
    name: String,
    /// Open streams by path in the folder.
    tails: BTreeMap<PathBuf, (RepeatId, Tail)>,
    /// Sources that are or were followed, by repeat and name.
    known: Vec<(RepeatId, String)>,
    /// Remaining limits on sample data.
    budget: Budget,
    max_incomplete: usize,
    events_read: usize,
}

impl Follower {
    /// Follows the run in this folder, which need not exist yet.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        Self::at(folder.to_owned(), name(folder), None)
    }

    /// Follows the run in this open folder, even if it is renamed or replaced.
    #[must_use]
    pub fn from_folder(folder: &RunFolder) -> Self {
        Self::at(folder.dir().proc_path(), name(folder.path()), Some(folder.clone()))
    }

    fn at(folder: PathBuf, name: String, held: Option<RunFolder>) -> Self {
        Self {
            folder,
            _held: held,
            name,
            tails: BTreeMap::new(),
            known: Vec::new(),
            budget: Budget::default(),
            max_incomplete: MAX_INCOMPLETE,
            events_read: 0,
        }
    }

    /// The run's name.
    #[must_use]
    pub fn run(&self) -> &str {
        &self.name
    }

    /// Whether the manifest records the end of the run.
    #[must_use]
    pub fn is_over(&self) -> bool {
        matches!(summarize(&self.folder).state, State::Whole | State::EndedEarly(_))
    }

    /// Writes new data as lines, first the events (`table = "events"`), then the samples
    /// (`"live"`).
    pub fn write(&mut self, out: &mut dyn Write) -> Result<(), Error> {
        let fresh = self.fresh_events();
        write_each(fresh.lines().filter_map(|line| event(&self.name, line)), out)?;
        let run = self.name.clone();
        self.samples(&mut |id, table| write_each(rows(&run, id, table), out))
    }

    /// New event lines.
    fn fresh_events(&mut self) -> String {
        let dir = Dir::open(&self.folder);
        let text = dir.and_then(|dir| dir.text("events.jsonl", MAX_EVENTS));
        let Ok(text) = text else { return String::new() };
        // The last line may be incomplete.
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        let fresh = whole.get(self.events_read..).unwrap_or_default().to_owned();
        self.events_read = whole.len();
        fresh
    }

    /// Passes new samples to `take`, one batch at a time, until it returns an error.
    pub fn samples(&mut self, take: &mut Take<'_>) -> Result<(), Error> {
        let Ok(dir) = Dir::open(&self.folder) else { return Ok(()) };
        self.open_new_streams(&dir, take)?;
        let mut finished = Vec::new();
        let mut incomplete = 0;
        for (path, (id, tail)) in &mut self.tails {
            // Check for removal before reading: otherwise data written in between would be lost.
            let removed = !dir.has_file(path);
            let budget = &mut self.budget;
            read_until_error(|on_table| tail.read(budget, on_table), |table| take(*id, table))?;
            if removed {
                finished.push(path.clone());
                continue;
            }
            incomplete += tail.waiting();
            if incomplete > self.max_incomplete {
                return Err(too_much_incomplete(&dir.path().join(path)));
            }
        }
        finished.iter().for_each(|path| {
            self.tails.remove(path);
        });
        Ok(())
    }

    /// Opens new streams. A repeat that ended before its stream was noticed has only a Parquet
    /// file, which is read instead.
    fn open_new_streams(&mut self, dir: &Dir, take: &mut Take<'_>) -> Result<(), Error> {
        let samples = match dir.dir("samples") {
            Err(error) if error.is_missing() => return Ok(()),
            samples => samples.map_err(assay_run_folder::Error::from)?,
        };
        let names = samples.names().map_err(assay_run_folder::Error::from)?;
        let mut repeats: Vec<(RepeatId, OsString)> = names
            .into_iter()
            .filter_map(|name| Some((RepeatId::parse(name.to_str()?)?, name)))
            .collect();
        repeats.sort();
        for (id, name) in repeats {
            let folder = samples.dir(&name).map_err(assay_run_folder::Error::from)?;
            for file in sample_files(&folder)? {
                let path = Path::new("samples").join(&name).join(&file.name);
                self.open_source(id, (&folder, &file), path, take)?;
            }
        }
        Ok(())
    }

    fn open_source(
        &mut self,
        id: RepeatId,
        (folder, file): (&Dir, &SampleFile),
        path: PathBuf,
        take: &mut Take<'_>,
    ) -> Result<(), Error> {
        let known = (id, file.source.clone());
        if self.known.contains(&known) {
            return Ok(());
        }
        if file.is_stream {
            // It may have been converted to Parquet since the folder was listed; the next call
            // finds that.
            let Ok(tail) = Tail::open(folder, Path::new(&file.name)) else { return Ok(()) };
            self.tails.insert(path, (id, tail));
        } else {
            let budget = &mut self.budget;
            read_until_error(
                |on_table| file.each(folder, budget, on_table),
                |table| take(id, table),
            )?;
        }
        self.known.push(known);
        Ok(())
    }
}

/// Callback for new samples.
type Take<'t> = dyn FnMut(RepeatId, &Table) -> Result<(), Error> + 't;

/// Reads until `take` fails, and returns its error.
fn read_until_error(
    read: impl FnOnce(&mut dyn FnMut(Table) -> bool) -> Result<(), assay_run_folder::Error>,
    mut take: impl FnMut(&Table) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut failed = None;
    read(&mut |table| {
        failed = take(&table).err();
        failed.is_none()
    })?;
    failed.map_or(Ok(()), Err)
}

fn too_much_incomplete(path: &Path) -> Error {
    Error::Run(assay_run_folder::Error {
        operation: "follow",
        path: path.to_owned(),
        cause: "incomplete batches of the streams up to this one exceed the memory limit"
            .to_owned(),
        hint: None,
    })
}

/// An event line as a JSON object with `table = "events"`; `None` for invalid lines.
fn event(run: &str, line: &str) -> Option<Value> {
    let line = (line.len() <= MAX_EVENT).then_some(line)?;
    let mut event: Value = serde_json::from_str(line).ok()?;
    let object = event.as_object_mut()?;
    object.insert("table".to_owned(), Value::from("events"));
    object.insert("run".to_owned(), Value::from(run));
    Some(event)
}

/// The rows of a table as JSON objects, built lazily, one per subject and instant: `table`, `run`,
/// `trial`, `repeat`, `source`, `subject`, `time_ns` and each counter under its own name.
fn rows(run: &str, id: RepeatId, table: &Table) -> impl Iterator<Item = Value> {
    (0..table.time_ns.len()).map(move |row| {
        let mut object = json!({
            "table": "live", "run": run, "trial": id.trial, "repeat": id.repeat,
            "source": table.source, "subject": table.subjects[table.subject[row] as usize],
            "time_ns": table.time_ns[row],
        });
        for column in &table.columns {
            if let Some(value) = column.values[row] {
                object[column.name.as_str()] = Value::from(value);
            }
        }
        object
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use assay_run_folder::{Column, Event, EventLog, SampleStream, to_parquet};

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
        let run = RunFolder::create(&dir.path().join("run"), assay_files::Trust::Checked).unwrap();
        let mut follower = Follower::new(run.path());
        assert!(new_times(&mut follower).is_empty() && !follower.is_over());
        let repeat = run.make_dir(Path::new("samples/trial-00-repeat-00")).unwrap();
        let mut stream = SampleStream::create(&repeat, "io", &["read_bytes".to_owned()]).unwrap();
        stream.append(&table(1)).unwrap();
        assert_eq!(new_times(&mut follower), [1]);
        stream.append(&table(2)).unwrap();
        stream.append(&table(3)).unwrap();
        stream.finish().unwrap();
        // The stream is converted before the next read.
        to_parquet(&repeat).unwrap();
        assert_eq!(new_times(&mut follower), [2, 3]);
        assert!(new_times(&mut follower).is_empty());
        // A repeat that started and ended between two reads.
        let next = run.make_dir(Path::new("samples/trial-01-repeat-02")).unwrap();
        let mut stream = SampleStream::create(&next, "io", &["read_bytes".to_owned()]).unwrap();
        stream.append(&table(9)).unwrap();
        stream.finish().unwrap();
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
            let run = RunFolder::create(&path, assay_files::Trust::Checked).unwrap();
            let repeat = run.make_dir(Path::new("samples/trial-00-repeat-00")).unwrap();
            let mut stream =
                SampleStream::create(&repeat, "io", &["read_bytes".to_owned()]).unwrap();
            stream.append(&table(time)).unwrap();
            stream.finish().unwrap();
            run
        };
        let mut follower = Follower::from_folder(&write(1));
        fs::rename(&path, dir.path().join("moved")).unwrap();
        write(7).write_text("manifest.json", r#"{"schema": 1, "restored": true}"#).unwrap();
        assert_eq!(new_times(&mut follower), [1]);
        assert!(!follower.is_over());
        assert_eq!(follower.run(), "run");
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
    fn long_run(dir: &Path, rows: u64) -> (RunFolder, Vec<PathBuf>) {
        let run = RunFolder::create(&dir.join("run"), assay_files::Trust::Checked).unwrap();
        let repeats = [0, 1].map(|repeat| {
            let name = format!("samples/trial-00-repeat-0{repeat}");
            let repeat = run.make_dir(Path::new(&name)).unwrap();
            let columns = ["read_bytes".to_owned()];
            let mut stream = SampleStream::create(&repeat, "io", &columns).unwrap();
            (0..rows).for_each(|time| stream.append(&table(time)).unwrap());
            stream.finish().unwrap();
            repeat.join("io.arrows")
        });
        (run, repeats.to_vec())
    }

    /// Each file alone is within every limit; together they are not.
    #[test]
    fn followed_streams_share_one_budget() {
        let dir = tempfile::tempdir().unwrap();
        let (run, _) = long_run(dir.path(), 20);
        let mut follower = Follower::new(run.path());
        follower.budget = Budget::new(100, 0);
        let mut rows = 0;
        let mut take = |_: RepeatId, table: &Table| {
            rows += table.time_ns.len();
            Ok(())
        };
        let error = follower.samples(&mut take).unwrap_err().to_string();
        assert!(error.contains("io.arrows") && error.contains("more values"), "{error}");
        assert_eq!(rows, 100 / 3);
    }

    /// Declaring a long batch costs the writer nothing, but the reader memory.
    #[test]
    fn total_size_of_incomplete_batches_is_limited() {
        let dir = tempfile::tempdir().unwrap();
        let (run, streams) = long_run(dir.path(), 1);
        for stream in &streams {
            let bytes = fs::read(stream).unwrap();
            // Cut off the end-of-stream marker and part of the batch before it.
            fs::write(stream, &bytes[..bytes.len() - 24]).unwrap();
        }
        let mut follower = Follower::new(run.path());
        assert!(new_times(&mut follower).is_empty());
        let one = follower.tails.values().next().unwrap().1.waiting();
        assert!(one > 0);
        follower.max_incomplete = 2 * one;
        assert!(new_times(&mut follower).is_empty());
        follower.max_incomplete = 2 * one - 1;
        let error = follower.samples(&mut |_, _| Ok(())).unwrap_err().to_string();
        assert!(error.contains("repeat-01/io.arrows"), "{error}");
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
        let (run, _) = long_run(dir.path(), 20);
        let error = Follower::new(run.path()).write(&mut FailsAfter(9)).unwrap_err();
        assert!(matches!(error, Error::ReaderClosed), "{error}");
        let mut lines: Vec<u8> = Vec::new();
        Follower::new(run.path()).write(&mut lines).unwrap();
        assert_eq!(lines.iter().filter(|byte| **byte == b'\n').count(), 40);
    }
}
