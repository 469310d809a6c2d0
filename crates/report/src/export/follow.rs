//! Follows a running run by reading its folder while it is written.
//!
//! No lock is held and the run is not involved: its sample streams are append-only, and the
//! follower reads only whole lines. When a stream is converted to Parquet its file is removed,
//! but stays readable through an open descriptor. At most a megabyte of one stream is in memory.
//!
//! The folder is opened once: if its name comes to refer to another folder or to a link, that is not
//! read.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use assay_record::run_folder::{
    Budget, RepeatId, RunFolder, SampleFile, State, Table, Tail, sample_files, summarize_dir,
};
use assay_sys::files::Dir;
use serde_json::{Value, json};

use crate::export::error::Error;
use crate::export::lines::write_each;
use crate::export::tables::name;

/// Maximum size of events.jsonl in bytes.
const MAX_EVENTS: u64 = 256 << 20;

/// Maximum size of one event line in bytes. Real lines have some hundred; parsed into a value, a
/// line takes many times its size.
const MAX_EVENT: usize = 1 << 20;

/// Maximum numbers of files of samples and of sources in a run, as in a merge of samples. Every stream takes a
/// descriptor.
const MAX_FILES: usize = 1 << 17;
const MAX_SOURCES: usize = 256;

/// The folder of a followed run.
enum Folder {
    /// It did not exist yet when it was last looked for.
    Missing(PathBuf),
    /// It was found and opened.
    Open(Dir),
    /// It was open from the beginning.
    Run(RunFolder),
}

impl Folder {
    /// The directory, opened at the first call that finds it.
    fn dir(&mut self) -> Result<Option<&Dir>, assay_record::run_folder::Error> {
        if let Self::Missing(path) = self {
            match Dir::open(path) {
                Err(error) if error.is_missing() => return Ok(None),
                dir => *self = Self::Open(dir?),
            }
        }
        Ok(match self {
            Self::Missing(_) => None,
            Self::Open(dir) => Some(dir),
            Self::Run(folder) => Some(folder.dir()),
        })
    }
}

/// Follows one run.
pub struct Follower {
    folder: Folder,
    name: String,
    /// Open streams by path in the folder.
    tails: BTreeMap<PathBuf, (RepeatId, Tail)>,
    /// Sources that are or were followed, by repeat and name.
    known: BTreeSet<(RepeatId, String)>,
    /// Their sources.
    sources: BTreeSet<String>,
    /// Remaining limits on sample data.
    budget: Budget,
    events_read: usize,
}

impl Follower {
    /// Follows the run in this folder, which need not exist yet.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        Self::at(Folder::Missing(folder.to_owned()), name(folder))
    }

    /// Follows the run in this open folder, even if it is renamed or replaced.
    #[must_use]
    pub fn from_folder(folder: &RunFolder) -> Self {
        Self::at(Folder::Run(folder.clone()), name(folder.path()))
    }

    fn at(folder: Folder, name: String) -> Self {
        Self {
            folder,
            name,
            tails: BTreeMap::new(),
            known: BTreeSet::new(),
            sources: BTreeSet::new(),
            budget: Budget::default(),
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
    pub fn is_over(&mut self) -> bool {
        let Ok(Some(dir)) = self.folder.dir() else { return false };
        matches!(summarize_dir(dir).state, State::Whole | State::EndedEarly(_))
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
        let Ok(Some(dir)) = self.folder.dir() else { return String::new() };
        let Ok(text) = dir.text("events.jsonl", MAX_EVENTS) else { return String::new() };
        // The last line may be incomplete.
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        let fresh = whole.get(self.events_read..).unwrap_or_default().to_owned();
        self.events_read = whole.len();
        fresh
    }

    /// Passes new samples to `take`, one table at a time, until it returns an error.
    pub fn samples(&mut self, take: &mut Take<'_>) -> Result<(), Error> {
        self.open_new_streams(take)?;
        let Some(dir) = self.folder.dir()? else { return Ok(()) };
        let mut finished = Vec::new();
        for (path, (id, tail)) in &mut self.tails {
            // Check for removal before reading: otherwise data written in between would be lost.
            let removed = !dir.has_file(path);
            let budget = &mut self.budget;
            read_until_error(
                |on_table| tail.read(budget, &mut |table, _| Ok(on_table(table))),
                |table| take(*id, table),
            )?;
            if removed {
                finished.push(path.clone());
            }
        }
        finished.iter().for_each(|path| {
            self.tails.remove(path);
        });
        // The end of the run would never be recorded there.
        match dir.is_removed() {
            true => Err(error(dir.path(), "the folder was removed before its run was over")),
            false => Ok(()),
        }
    }

    /// Opens new streams. A repeat that ended before its stream was noticed has only a Parquet
    /// file, which is read instead.
    fn open_new_streams(&mut self, take: &mut Take<'_>) -> Result<(), Error> {
        let Some(dir) = self.folder.dir()? else { return Ok(()) };
        let samples = match dir.dir("samples") {
            Err(error) if error.is_missing() => return Ok(()),
            samples => samples.map_err(assay_record::run_folder::Error::from)?,
        };
        let names = samples.names().map_err(assay_record::run_folder::Error::from)?;
        let mut repeats: Vec<(RepeatId, OsString)> = names
            .into_iter()
            .filter_map(|name| Some((RepeatId::parse(name.to_str()?)?, name)))
            .collect();
        repeats.sort();
        for (id, name) in repeats {
            let folder = samples.dir(&name).map_err(assay_record::run_folder::Error::from)?;
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
        self.sources.insert(known.1.clone());
        if self.known.len() >= MAX_FILES || self.sources.len() > MAX_SOURCES {
            let why = format!(
                "the files up to this one are more than {MAX_FILES} or of more than {MAX_SOURCES} sources, the \
                 limit of a run"
            );
            return Err(error(&folder.path().join(&file.name), &why));
        }
        if file.is_stream {
            let tail = match Tail::open(folder, Path::new(&file.name)) {
                // It was converted to Parquet since the folder was listed; the next call finds that.
                Err(_) if folder.read(&file.name).is_err_and(|why| why.is_missing()) => {
                    return Ok(());
                }
                tail => tail?,
            };
            self.tails.insert(path, (id, tail));
        } else {
            let budget = &mut self.budget;
            read_until_error(
                |on_table| file.each(folder, budget, on_table),
                |table| take(id, table),
            )?;
        }
        self.known.insert(known);
        Ok(())
    }
}

/// Callback for new samples.
type Take<'t> = dyn FnMut(RepeatId, &Table) -> Result<(), Error> + 't;

/// Reads until `take` fails, and returns its error.
fn read_until_error(
    read: impl FnOnce(&mut dyn FnMut(Table) -> bool) -> Result<(), assay_record::run_folder::Error>,
    mut take: impl FnMut(&Table) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut failed = None;
    read(&mut |table| {
        failed = take(&table).err();
        failed.is_none()
    })?;
    failed.map_or(Ok(()), Err)
}

fn error(path: &Path, why: &str) -> Error {
    Error::Run(assay_record::run_folder::Error {
        operation: "follow",
        path: path.to_owned(),
        cause: why.to_owned(),
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
mod tests;
