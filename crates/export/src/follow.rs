//! A run that goes on, read from its folder while it is written.
//!
//! Nothing is asked of the run and nothing is locked: its streams of samples are append-only, and
//! whoever follows reads the batches that are whole. A stream that becomes Parquet is removed, but
//! stays readable for those who have it open. No more than one batch is in memory, and what is not
//! whole yet.

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

/// Bytes of all events of a run.
const MOST_EVENTS: u64 = 256 << 20;

/// Bytes of one, which is a line of some hundred; as a value a line takes many times that.
const MOST_EVENT: usize = 1 << 20;

/// Bytes that all streams together may hold of batches whose rest is still to come: as many as one alone.
/// They cost nothing whoever makes a file that is mostly a hole.
const MOST_WAITING: usize = 1 << 30;

/// Follows one run.
pub struct Follower {
    folder: PathBuf,
    /// Keeps the folder open, where that is what `folder` leads to.
    _held: Option<RunFolder>,
    name: String,
    /// By their place in the folder.
    tails: BTreeMap<PathBuf, (RepeatId, Tail)>,
    /// Sources that are or were followed, by folder and name.
    known: Vec<(RepeatId, String)>,
    /// What may still be read of its samples.
    budget: Budget,
    most_waiting: usize,
    events_read: usize,
}

impl Follower {
    /// Follows the run in this folder, which may be about to be made.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        Self::in_place(folder.to_owned(), name(folder), None)
    }

    /// Follows the run in this very folder, whatever has its name by then.
    #[must_use]
    pub fn of(folder: &RunFolder) -> Self {
        Self::in_place(folder.dir().here(), name(folder.path()), Some(folder.clone()))
    }

    fn in_place(folder: PathBuf, name: String, held: Option<RunFolder>) -> Self {
        Self {
            folder,
            _held: held,
            name,
            tails: BTreeMap::new(),
            known: Vec::new(),
            budget: Budget::default(),
            most_waiting: MOST_WAITING,
            events_read: 0,
        }
    }

    /// What the run is called.
    #[must_use]
    pub fn run(&self) -> &str {
        &self.name
    }

    /// Whether the run says that it is over.
    #[must_use]
    pub fn is_over(&self) -> bool {
        matches!(summarize(&self.folder).state, State::Whole | State::EndedEarly(_))
    }

    /// Writes what is new as lines, first the events (`table = "events"`), then the samples (`"live"`).
    pub fn write(&mut self, out: &mut dyn Write) -> Result<(), Error> {
        let fresh = self.fresh_events();
        write_each(fresh.lines().filter_map(|line| event(&self.name, line)), out)?;
        let run = self.name.clone();
        self.samples(&mut |place, table| write_each(rows(&run, place, table), out))
    }

    /// The lines of events that are new.
    fn fresh_events(&mut self) -> String {
        let dir = Dir::open(&self.folder);
        let text = dir.and_then(|dir| dir.text("events.jsonl", MOST_EVENTS));
        let Ok(text) = text else { return String::new() };
        // The last line may be half there.
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        let fresh = whole.get(self.events_read..).unwrap_or_default().to_owned();
        self.events_read = whole.len();
        fresh
    }

    /// Samples that are new, a batch at a time. An error of `take` ends it.
    pub fn samples(&mut self, take: &mut Take<'_>) -> Result<(), Error> {
        let Ok(dir) = Dir::open(&self.folder) else { return Ok(()) };
        self.look_around(&dir, take)?;
        let mut over = Vec::new();
        let mut waiting = 0;
        for (path, (place, tail)) in &mut self.tails {
            // Whether it is complete must be known before it is read: what is written in between
            // would be lost.
            let removed = !dir.has_file(path);
            let budget = &mut self.budget;
            until_refused(|hand_over| tail.read(budget, hand_over), |table| take(*place, table))?;
            if removed {
                over.push(path.clone());
                continue;
            }
            waiting += tail.waiting();
            if waiting > self.most_waiting {
                return Err(too_much_waits(&dir.path().join(path)));
            }
        }
        over.iter().for_each(|path| {
            self.tails.remove(path);
        });
        Ok(())
    }

    /// Opens streams that are new. A repeat that was over before anybody looked has no stream any
    /// more, and is taken from its Parquet.
    fn look_around(&mut self, dir: &Dir, take: &mut Take<'_>) -> Result<(), Error> {
        let samples = match dir.dir("samples") {
            Err(error) if error.is_missing() => return Ok(()),
            samples => samples.map_err(assay_run_folder::Error::from)?,
        };
        let names = samples.names().map_err(assay_run_folder::Error::from)?;
        let mut found: Vec<(RepeatId, OsString)> = names
            .into_iter()
            .filter_map(|name| Some((RepeatId::parse(name.to_str()?)?, name)))
            .collect();
        found.sort();
        for (place, name) in found {
            let folder = samples.dir(&name).map_err(assay_run_folder::Error::from)?;
            for file in sample_files(&folder)? {
                let path = Path::new("samples").join(&name).join(&file.name);
                self.begin(place, (&folder, &file), path, take)?;
            }
        }
        Ok(())
    }

    fn begin(
        &mut self,
        place: RepeatId,
        (folder, file): (&Dir, &SampleFile),
        path: PathBuf,
        take: &mut Take<'_>,
    ) -> Result<(), Error> {
        let known = (place, file.source.clone());
        if self.known.contains(&known) {
            return Ok(());
        }
        if file.is_stream {
            // It may have become Parquet since the folder was read; the next round finds that.
            let Ok(tail) = Tail::open(folder, Path::new(&file.name)) else { return Ok(()) };
            self.tails.insert(path, (place, tail));
        } else {
            let budget = &mut self.budget;
            until_refused(
                |hand_over| file.each(folder, budget, hand_over),
                |table| take(place, table),
            )?;
        }
        self.known.push(known);
        Ok(())
    }
}

/// Takes a table of samples that are new.
type Take<'t> = dyn FnMut(RepeatId, &Table) -> Result<(), Error> + 't;

/// Reads until `take` fails, which is then the error.
fn until_refused(
    read: impl FnOnce(&mut dyn FnMut(Table) -> bool) -> Result<(), assay_run_folder::Error>,
    mut take: impl FnMut(&Table) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut refused = None;
    read(&mut |table| {
        refused = take(&table).err();
        refused.is_none()
    })?;
    refused.map_or(Ok(()), Err)
}

fn too_much_waits(path: &Path) -> Error {
    Error::Run(assay_run_folder::Error {
        operation: "follow",
        path: path.to_owned(),
        cause: "the streams up to this one have begun more batches than are held".to_owned(),
        hint: None,
    })
}

/// An event as one object, with `table = "events"`; none of what is no event.
fn event(run: &str, line: &str) -> Option<Value> {
    let line = (line.len() <= MOST_EVENT).then_some(line)?;
    let mut event: Value = serde_json::from_str(line).ok()?;
    let object = event.as_object_mut()?;
    object.insert("table".to_owned(), Value::from("events"));
    object.insert("run".to_owned(), Value::from(run));
    Some(event)
}

/// The rows of a table as objects, one a subject and instant, made one by one: `table`, `run`, `trial`,
/// `repeat`, `source`, `subject`, `time_ns` and every counter under its own name.
fn rows(run: &str, place: RepeatId, table: &Table) -> impl Iterator<Item = Value> {
    (0..table.time_ns.len()).map(move |row| {
        let mut object = json!({
            "table": "live", "run": run, "trial": place.trial, "repeat": place.repeat,
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

    fn seen(follower: &mut Follower) -> Vec<u64> {
        let mut times = Vec::new();
        let mut take = |_: RepeatId, table: &Table| {
            times.extend(&table.time_ns);
            Ok(())
        };
        follower.samples(&mut take).unwrap();
        times
    }

    fn told(follower: &mut Follower) -> Vec<Value> {
        let fresh = follower.fresh_events();
        fresh.lines().filter_map(|line| event(follower.run(), line)).collect()
    }

    #[test]
    fn samples_are_seen_once_while_they_are_written_and_after() {
        let place = tempfile::tempdir().unwrap();
        let run =
            RunFolder::create(&place.path().join("run"), assay_files::Trust::Checked).unwrap();
        let mut follower = Follower::new(run.path());
        assert!(seen(&mut follower).is_empty() && !follower.is_over());
        let repeat = run.make_dir(Path::new("samples/trial-00-repeat-00")).unwrap();
        let mut stream = SampleStream::create(&repeat, "io", &["read_bytes".to_owned()]).unwrap();
        stream.append(&table(1)).unwrap();
        assert_eq!(seen(&mut follower), [1]);
        stream.append(&table(2)).unwrap();
        stream.append(&table(3)).unwrap();
        stream.finish().unwrap();
        // The stream is gone before anybody looks again.
        to_parquet(&repeat).unwrap();
        assert_eq!(seen(&mut follower), [2, 3]);
        assert!(seen(&mut follower).is_empty());
        // A repeat that nobody saw running.
        let next = run.make_dir(Path::new("samples/trial-01-repeat-02")).unwrap();
        let mut stream = SampleStream::create(&next, "io", &["read_bytes".to_owned()]).unwrap();
        stream.append(&table(9)).unwrap();
        stream.finish().unwrap();
        to_parquet(&next).unwrap();
        assert_eq!(seen(&mut follower), [9]);
        run.write_text("manifest.json", r#"{"schema": 1, "restored": true}"#).unwrap();
        assert!(follower.is_over());
    }

    /// Whoever may rename a run folder puts another one into its place.
    #[test]
    fn the_run_that_is_followed_is_the_one_that_is_open() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("run");
        let write = |time| {
            let run = RunFolder::create(&path, assay_files::Trust::Checked).unwrap();
            let repeat = run.make_dir(Path::new("samples/trial-00-repeat-00")).unwrap();
            let mut stream =
                SampleStream::create(&repeat, "io", &["read_bytes".to_owned()]).unwrap();
            stream.append(&table(time)).unwrap();
            stream.finish().unwrap();
            run
        };
        let mut follower = Follower::of(&write(1));
        fs::rename(&path, place.path().join("moved")).unwrap();
        write(7).write_text("manifest.json", r#"{"schema": 1, "restored": true}"#).unwrap();
        assert_eq!(seen(&mut follower), [1]);
        assert!(!follower.is_over());
        assert_eq!(follower.run(), "run");
    }

    #[test]
    fn events_are_told_once_and_only_whole_lines() {
        let place = tempfile::tempdir().unwrap();
        let mut log = EventLog::create(place.path()).unwrap();
        let event = |text: &str| Event {
            time_ns: 1,
            kind: "phase".to_owned(),
            trial: None,
            repeat: None,
            text: text.to_owned(),
        };
        let mut follower = Follower::new(place.path());
        log.append(&event("one")).unwrap();
        assert_eq!(told(&mut follower)[0]["text"], "one");
        log.append(&event("two")).unwrap();
        let path = place.path().join("events.jsonl");
        let mut text = fs::read_to_string(&path).unwrap();
        text.push_str("{\"time_ns\": 2, ");
        fs::write(&path, text).unwrap();
        let said = told(&mut follower);
        assert_eq!((said.len(), said[0]["text"].as_str()), (1, Some("two")));
        assert_eq!(said[0]["table"], "events");
        let long = format!("{{\"text\": \"{}\"}}", "x".repeat(MOST_EVENT));
        assert_eq!(super::event("r", &long), None, "it is no line that any run writes");
    }

    /// A run that goes on, with a stream of so many rows in each of two repeats.
    fn long_run(place: &Path, rows: u64) -> (RunFolder, Vec<PathBuf>) {
        let run = RunFolder::create(&place.join("run"), assay_files::Trust::Checked).unwrap();
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

    /// Each file alone is within every limit.
    #[test]
    fn the_streams_that_are_followed_share_one_budget() {
        let place = tempfile::tempdir().unwrap();
        let (run, _) = long_run(place.path(), 20);
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

    /// A batch that says that it is long costs its writer nothing, and whoever waits for it memory.
    #[test]
    fn batches_that_never_end_are_not_waited_for_without_end() {
        let place = tempfile::tempdir().unwrap();
        let (run, streams) = long_run(place.path(), 1);
        for stream in &streams {
            let bytes = fs::read(stream).unwrap();
            // Without the mark of the end, and some of the batch before it.
            fs::write(stream, &bytes[..bytes.len() - 24]).unwrap();
        }
        let mut follower = Follower::new(run.path());
        assert!(seen(&mut follower).is_empty());
        let one = follower.tails.values().next().unwrap().1.waiting();
        assert!(one > 0);
        follower.most_waiting = 2 * one;
        assert!(seen(&mut follower).is_empty());
        follower.most_waiting = 2 * one - 1;
        let error = follower.samples(&mut |_, _| Ok(())).unwrap_err().to_string();
        assert!(error.contains("repeat-01/io.arrows"), "{error}");
    }

    /// Takes so many lines, and no more.
    struct Takes(usize);

    impl Write for Takes {
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
    fn no_row_is_made_after_one_that_cannot_be_written() {
        let table = Table {
            time_ns: (0..1000).collect(),
            subject: vec![0; 1000],
            columns: Vec::new(),
            ..table(0)
        };
        let mut made = 0;
        let rows = rows("r", RepeatId { trial: 0, repeat: 0 }, &table).inspect(|_| made += 1);
        let error = write_each(rows, &mut Takes(9)).unwrap_err();
        assert!(matches!(error, Error::NobodyReads), "{error}");
        assert_eq!(made, 10);
        let place = tempfile::tempdir().unwrap();
        let (run, _) = long_run(place.path(), 20);
        let error = Follower::new(run.path()).write(&mut Takes(9)).unwrap_err();
        assert!(matches!(error, Error::NobodyReads), "{error}");
        let mut lines: Vec<u8> = Vec::new();
        Follower::new(run.path()).write(&mut lines).unwrap();
        assert_eq!(lines.iter().filter(|byte| **byte == b'\n').count(), 40);
    }
}
