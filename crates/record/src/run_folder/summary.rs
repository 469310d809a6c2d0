//! Summary of a run for lists of runs, read without its samples and with little of its manifest.

use std::path::Path;
use std::time::UNIX_EPOCH;

use assay_sys::files::Dir;
use serde::{Deserialize, Serialize};

use crate::run_folder::json::parse_json;
use crate::run_folder::limit;
use crate::run_folder::manifest::SCHEMA;

/// Summary of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RunSummary {
    /// Whether it can be read, and whether it was completed.
    pub state: State,
    /// The study's name; empty where it cannot be read.
    pub study: String,
    /// Its title.
    pub title: String,
    /// When it began, RFC 3339, UTC.
    pub started_at: String,
    /// The host's name.
    pub host: String,
    /// Its kernel.
    pub kernel: String,
    /// Whether it is a guest of the lab.
    pub guest: bool,
    /// Seconds from the first release to the last stop.
    pub seconds: Option<f64>,
    /// Combinations of factors.
    pub trials: usize,
    /// Repeats that were started.
    pub repeats: usize,
    /// The recorded verdict; `None` if the run was not judged or promises nothing.
    pub verdict: Option<String>,
    /// Whether the report exists.
    pub report: bool,
}

/// How far a run got.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "is", content = "why")]
pub enum State {
    /// It completed.
    Whole,
    /// It ended before its last trial, with the reason.
    EndedEarly(String),
    /// It has no recorded end: it is still running, or it was killed.
    #[default]
    Unfinished,
    /// It cannot be read, with the reason.
    Unreadable(String),
}

/// Modification times and sizes of the files that a summary is based on; an equal stamp means an unchanged
/// summary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp(String);

#[derive(Deserialize)]
struct Manifest {
    schema: Option<u32>,
    study: Option<String>,
    title: Option<String>,
    started_at: Option<String>,
    host: Option<Host>,
    guest: Option<serde::de::IgnoredAny>,
    #[serde(default)]
    trials: Vec<Trial>,
    restored: Option<bool>,
    ended_early: Option<String>,
}

#[derive(Deserialize)]
struct Host {
    host_name: Option<String>,
    kernel: Option<String>,
}

#[derive(Deserialize)]
struct Trial {
    #[serde(default)]
    repeats: Vec<Repeat>,
}

#[derive(Deserialize)]
struct Repeat {
    released_ns: u64,
    stopped_ns: u64,
}

#[derive(Deserialize)]
struct Judged {
    verdict: String,
}

/// The current stamp of a run folder.
#[must_use]
pub fn stamp(folder: &Path) -> Stamp {
    stamp_of(Dir::open(folder).ok().as_ref())
}

/// The same for an open folder, or for one that could not be opened.
pub(crate) fn stamp_of(folder: Option<&Dir>) -> Stamp {
    let file_stamp = |name: &str| {
        let metadata = folder.and_then(|folder| folder.read(name).ok()?.metadata().ok());
        metadata.map_or_else(
            || "none".to_owned(),
            |metadata| {
                let changed = metadata.modified().ok();
                let changed = changed.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
                format!("{}.{}", changed.map_or(0, |at| at.as_nanos()), metadata.len())
            },
        )
    };
    let names = ["manifest.json", "verdict.json", "report.html"];
    Stamp(names.map(file_stamp).join(" "))
}

/// Summarizes a run folder. A folder that cannot be read gives a summary that says why.
#[must_use]
pub fn summarize(folder: &Path) -> RunSummary {
    match Dir::open(folder) {
        Ok(folder) => summarize_dir(&folder),
        Err(error) => unreadable(error.cause.to_string()),
    }
}

/// The same for an open folder.
#[must_use]
pub fn summarize_dir(folder: &Dir) -> RunSummary {
    match folder.text("manifest.json", limit::document()) {
        Ok(text) => match parse_json::<Manifest>(&text) {
            Ok(manifest) => from_manifest(manifest, folder),
            Err(cause) if cause.is_eof() => {
                unreadable("manifest.json ends in the middle".to_owned())
            }
            Err(cause) => unreadable(format!("manifest.json: {cause}")),
        },
        Err(error) if error.is_missing() => {
            unreadable("there is no manifest.json: the run ended before it began".to_owned())
        }
        Err(error) => unreadable(format!("manifest.json: {}", error.cause)),
    }
}

fn from_manifest(manifest: Manifest, folder: &Dir) -> RunSummary {
    let state = match manifest.schema {
        Some(SCHEMA) => match (&manifest.ended_early, manifest.restored) {
            (Some(why), _) => State::EndedEarly(why.clone()),
            (None, None) => State::Unfinished,
            (None, Some(_)) => State::Whole,
        },
        Some(other) => State::Unreadable(format!(
            "manifest.json is of schema {other}; this version reads {SCHEMA}"
        )),
        None => State::Unreadable("manifest.json names no schema".to_owned()),
    };
    let repeats = || manifest.trials.iter().flat_map(|trial| &trial.repeats);
    let ran = || repeats().filter(|repeat| repeat.stopped_ns > repeat.released_ns);
    let first = ran().map(|repeat| repeat.released_ns).min();
    let last = ran().map(|repeat| repeat.stopped_ns).max();
    let seconds = first.zip(last).map(|(first, last)| (last - first) as f64 * 1e-9);
    let judged = folder.text("verdict.json", limit::document()).ok();
    let judged: Option<Judged> = judged.and_then(|text| parse_json(&text).ok());
    let host = manifest.host.as_ref();
    RunSummary {
        state,
        seconds,
        trials: manifest.trials.len(),
        repeats: repeats().count(),
        host: host.and_then(|host| host.host_name.clone()).unwrap_or_default(),
        kernel: host.and_then(|host| host.kernel.clone()).unwrap_or_default(),
        guest: manifest.guest.is_some(),
        study: manifest.study.unwrap_or_default(),
        title: manifest.title.unwrap_or_default(),
        started_at: manifest.started_at.unwrap_or_default(),
        verdict: judged.map(|judged| judged.verdict),
        report: folder.has_file("report.html"),
    }
}

pub(crate) fn unreadable(why: String) -> RunSummary {
    RunSummary { state: State::Unreadable(why), ..RunSummary::default() }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn run(manifest: &str) -> tempfile::TempDir {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("manifest.json"), manifest).unwrap();
        place
    }

    const WHOLE: &str = r#"{"schema": 1, "study": "s", "title": "T", "started_at": "2026-01-01T00:00:00Z",
        "host": {"host_name": "h", "kernel": "6.1"}, "restored": true, "ended_early": null,
        "trials": [{"repeats": [{"released_ns": 1000000000, "stopped_ns": 3500000000}]}]}"#;

    #[test]
    fn a_run_that_ended_shows_its_verdict_and_its_time() {
        let place = run(WHOLE);
        let before = stamp(place.path());
        fs::write(place.path().join("verdict.json"), r#"{"schema": 1, "verdict": "kept"}"#)
            .unwrap();
        let summary = summarize(place.path());
        assert_eq!((summary.state, summary.verdict.as_deref()), (State::Whole, Some("kept")));
        assert_eq!((summary.seconds, summary.repeats, summary.report), (Some(2.5), 1, false));
        assert_ne!(stamp(place.path()), before, "a new verdict changes the stamp");
    }

    #[test]
    fn a_run_without_a_recorded_end_is_unfinished() {
        let place = run(&WHOLE.replace("true", "null"));
        assert_eq!(summarize(place.path()).state, State::Unfinished);
    }

    #[test]
    fn an_unreadable_run_has_a_reason() {
        let why = |manifest: &str| match summarize(run(manifest).path()).state {
            State::Unreadable(why) => why,
            other => panic!("{other:?}"),
        };
        assert!(why(&WHOLE[..80]).contains("ends in the middle"));
        assert!(why(&WHOLE.replace("\"schema\": 1", "\"schema\": 2")).contains("schema 2"));
        let empty = tempfile::tempdir().unwrap();
        let State::Unreadable(why) = summarize(empty.path()).state else { panic!() };
        assert!(why.contains("no manifest.json"), "{why}");
    }
}
