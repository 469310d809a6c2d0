//! A run that goes on, read from its folder while it is written.
//!
//! Nothing is asked of the run and nothing is locked: its streams of samples are append-only, and
//! whoever follows reads the batches that are whole. A stream that becomes Parquet is removed, but
//! stays readable for those who have it open.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use assay_files::Dir;
use assay_record::{SampleFile, State, Table, Tail, glance, sample_files};
use serde_json::{Value, json};

use crate::error::Error;
use crate::tables::name;

/// Bytes of all events of a run.
const MOST_EVENTS: u64 = 256 << 20;

/// Which repeat of which trial, both from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The trial.
    pub trial: usize,
    /// The repeat.
    pub repeat: usize,
}

impl Place {
    /// `trial-03-repeat-00`, as folders of samples are called.
    fn parse(folder: &str) -> Option<Self> {
        let (trial, repeat) = folder.strip_prefix("trial-")?.split_once("-repeat-")?;
        Some(Self { trial: trial.parse().ok()?, repeat: repeat.parse().ok()? })
    }
}

/// Follows one run.
pub struct Follower {
    folder: PathBuf,
    name: String,
    /// By their place in the folder.
    tails: BTreeMap<PathBuf, (Place, Tail)>,
    /// Sources that are or were followed, by folder and name.
    known: Vec<(Place, String)>,
    events_read: usize,
}

impl Follower {
    /// Follows the run in this folder, which may be about to be made.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            name: name(folder),
            tails: BTreeMap::new(),
            known: Vec::new(),
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
        matches!(glance(&self.folder).state, State::Whole | State::EndedEarly(_))
    }

    /// Events that are new, each as one object with `table = "events"`.
    pub fn events(&mut self) -> Vec<Value> {
        let dir = Dir::open(&self.folder);
        let text = dir.and_then(|dir| dir.text("events.jsonl", MOST_EVENTS));
        let Ok(text) = text else { return Vec::new() };
        // The last line may be half there.
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        let fresh = whole.get(self.events_read..).unwrap_or_default();
        self.events_read = whole.len();
        let parse = |line: &str| {
            let mut event: Value = serde_json::from_str(line).ok()?;
            let object = event.as_object_mut()?;
            object.insert("table".to_owned(), Value::from("events"));
            object.insert("run".to_owned(), Value::from(self.name.as_str()));
            Some(event)
        };
        fresh.lines().filter_map(parse).collect()
    }

    /// Samples that are new.
    pub fn samples(&mut self, take: &mut dyn FnMut(Place, &Table)) -> Result<(), Error> {
        let Ok(dir) = Dir::open(&self.folder) else { return Ok(()) };
        self.look_around(&dir, take)?;
        let mut over = Vec::new();
        for (path, (place, tail)) in &mut self.tails {
            // Whether it is complete must be known before it is read: what is written in between
            // would be lost.
            let removed = !dir.has_file(path);
            tail.read(&mut |table| take(*place, &table))?;
            if removed {
                over.push(path.clone());
            }
        }
        over.iter().for_each(|path| {
            self.tails.remove(path);
        });
        Ok(())
    }

    /// Opens streams that are new. A repeat that was over before anybody looked has no stream any
    /// more, and is taken from its Parquet.
    fn look_around(&mut self, dir: &Dir, take: &mut dyn FnMut(Place, &Table)) -> Result<(), Error> {
        let samples = match dir.dir("samples") {
            Err(error) if error.is_missing() => return Ok(()),
            samples => samples.map_err(assay_record::Error::from)?,
        };
        let names = samples.names().map_err(assay_record::Error::from)?;
        let mut found: Vec<(Place, OsString)> = names
            .into_iter()
            .filter_map(|name| Some((Place::parse(name.to_str()?)?, name)))
            .collect();
        found.sort();
        for (place, name) in found {
            let folder = samples.dir(&name).map_err(assay_record::Error::from)?;
            for file in sample_files(&folder)? {
                let path = Path::new("samples").join(&name).join(&file.name);
                self.begin(place, (&folder, &file), path, take)?;
            }
        }
        Ok(())
    }

    fn begin(
        &mut self,
        place: Place,
        (folder, file): (&Dir, &SampleFile),
        path: PathBuf,
        take: &mut dyn FnMut(Place, &Table),
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
            file.each(folder, &mut |table| {
                take(place, &table);
                true
            })?;
        }
        self.known.push(known);
        Ok(())
    }

    /// The rows of a table as objects, one a subject and instant: `table`, `run`, `trial`, `repeat`,
    /// `source`, `subject`, `time_ns` and every counter under its own name.
    #[must_use]
    pub fn rows(&self, place: Place, table: &Table) -> Vec<Value> {
        let row = |row: usize| {
            let mut object = json!({
                "table": "live", "run": self.name, "trial": place.trial, "repeat": place.repeat,
                "source": table.source, "subject": table.subjects[table.subject[row] as usize],
                "time_ns": table.time_ns[row],
            });
            for column in &table.columns {
                if let Some(value) = column.values[row] {
                    object[column.name.as_str()] = Value::from(value);
                }
            }
            object
        };
        (0..table.time_ns.len()).map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use assay_record::{Column, Event, EventLog, RunFolder, SampleStream, to_parquet};

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
        follower.samples(&mut |_, table| times.extend(&table.time_ns)).unwrap();
        times
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
        assert_eq!(follower.events()[0]["text"], "one");
        log.append(&event("two")).unwrap();
        let path = place.path().join("events.jsonl");
        let mut text = fs::read_to_string(&path).unwrap();
        text.push_str("{\"time_ns\": 2, ");
        fs::write(&path, text).unwrap();
        let said = follower.events();
        assert_eq!((said.len(), said[0]["text"].as_str()), (1, Some("two")));
        assert_eq!(said[0]["table"], "events");
    }
}
