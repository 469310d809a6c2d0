//! `events.jsonl`: the timeline of a run, written as it happens.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use assay_sys::files::Dir;
use serde::{Deserialize, Serialize};

use crate::run_folder::error::Error;
use crate::run_folder::folder::RunFolder;

/// The name of the file.
const EVENTS: &str = "events.jsonl";

/// One line of `events.jsonl`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// CLOCK_MONOTONIC nanoseconds.
    pub time_ns: u64,
    /// Kind of event: `phase`, `change`, `start`, `release`, `stop`, `end`, `fault`.
    pub kind: String,
    /// Index of the trial it belongs to, if any.
    pub trial: Option<usize>,
    /// The repeat it belongs to, if any.
    pub repeat: Option<u32>,
    /// One line of text.
    pub text: String,
}

/// The file that events are appended to.
#[derive(Debug)]
pub struct EventLog {
    file: File,
    path: PathBuf,
}

impl EventLog {
    /// Opens the log of a run folder.
    pub fn create(folder: &Path) -> Result<Self, Error> {
        let path = folder.join(EVENTS);
        let file = Dir::open(folder)?.append(EVENTS)?;
        Ok(Self { file, path })
    }

    /// Appends one event with a single write, so that a killed run leaves only whole lines.
    pub fn append(&mut self, event: &Event) -> Result<(), Error> {
        let mut line = serde_json::to_string(event)
            .map_err(|cause| Error::refused("write", &self.path, &cause))?;
        line.push('\n');
        self.file.write_all(line.as_bytes()).map_err(|cause| Error::new("write", &self.path, cause))
    }
}

/// Reads the events of a run folder.
pub fn read_events(folder: &RunFolder) -> Result<Vec<Event>, Error> {
    Ok(parse_events(&folder.text(EVENTS)?))
}

/// Parses events from text. An incomplete last line, as a full disk leaves it, is skipped.
#[must_use]
pub fn parse_events(text: &str) -> Vec<Event> {
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_incomplete_last_line_is_skipped() {
        let place = tempfile::tempdir().unwrap();
        let event = Event {
            time_ns: 5,
            kind: "phase".to_owned(),
            trial: Some(0),
            repeat: None,
            text: "prepare".to_owned(),
        };
        EventLog::create(place.path()).unwrap().append(&event).unwrap();
        let path = place.path().join("events.jsonl");
        let mut text = std::fs::read_to_string(&path).unwrap();
        text.push_str("{\"time_ns\": 6, \"ki");
        std::fs::write(&path, text).unwrap();
        std::fs::write(place.path().join("manifest.json"), "{}").unwrap();
        let folder = RunFolder::open(place.path()).unwrap();
        assert_eq!(read_events(&folder).unwrap(), [event]);
    }
}
