//! A directory of runs: `runs/`.

use std::ffi::{OsStr, OsString};

use assay_sys::files::Dir;
use serde::Deserialize;

use crate::run_folder::error::Error;
use crate::run_folder::json::parse_json;
use crate::run_folder::limit;

/// What tells runs apart, read without their samples; empty where a manifest cannot be read.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct RunSummary {
    /// The study's name.
    pub study: String,
    /// When the run began, RFC 3339, UTC.
    pub started_at: String,
}

/// The names of all runs in a directory, finished or only begun, in order.
pub fn runs(folder: &Dir) -> Result<Vec<OsString>, Error> {
    let mut names = folder.names()?;
    names.retain(|name| is_run(folder, name));
    Ok(names)
}

/// Each run in a directory, open, with its summary, in order of names.
pub fn summaries(folder: &Dir) -> Result<impl Iterator<Item = (Dir, RunSummary)>, Error> {
    let open = |name: OsString| folder.dir(name).ok();
    Ok(runs(folder)?.into_iter().filter_map(open).map(|run| {
        let summary = summarize(&run);
        (run, summary)
    }))
}

fn summarize(run: &Dir) -> RunSummary {
    let text = run.text("manifest.json", limit::document()).ok();
    text.and_then(|text| parse_json(&text).ok()).unwrap_or_default()
}

/// A folder with a manifest, or with the empty parts that a run creates before its manifest. Links are not
/// followed: otherwise anyone who may write here could make every list of runs read files elsewhere. Nor are mounts
/// entered, which may never answer.
fn is_run(folder: &Dir, name: &OsStr) -> bool {
    folder.dir_on_mount(name).is_ok_and(|run| {
        run.has_file("manifest.json") || (run.dir("samples").is_ok() && run.dir("logs").is_ok())
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use assay_sys::files::Trust;

    use super::*;
    use crate::run_folder::folder::RunFolder;

    #[test]
    fn runs_are_recognised_by_their_content() {
        let place = tempfile::tempdir().unwrap();
        RunFolder::create(&place.path().join("b-begun"), Trust::Checked).unwrap();
        fs::create_dir(place.path().join("no-run")).unwrap();
        let whole = RunFolder::create(&place.path().join("a-whole"), Trust::Checked).unwrap();
        whole.write_text("manifest.json", "{}").unwrap();
        let folder = Dir::open(place.path()).unwrap();
        assert_eq!(runs(&folder).unwrap(), ["a-whole", "b-begun"]);
    }

    #[test]
    fn a_link_among_the_runs_is_not_a_run() {
        let place = tempfile::tempdir().unwrap();
        let (own_runs, elsewhere) = (place.path().join("runs"), place.path().join("elsewhere"));
        fs::create_dir_all(own_runs.join("run")).unwrap();
        fs::create_dir(&elsewhere).unwrap();
        let manifest = r#"{"schema": 1, "study": "secret"}"#;
        fs::write(elsewhere.join("manifest.json"), manifest).unwrap();
        symlink(&elsewhere, own_runs.join("link")).unwrap();
        symlink(elsewhere.join("manifest.json"), own_runs.join("run/manifest.json")).unwrap();
        for part in ["samples", "logs"] {
            fs::create_dir(own_runs.join("run").join(part)).unwrap();
        }
        let folder = Dir::open(&own_runs).unwrap();
        assert_eq!(runs(&folder).unwrap(), ["run"]);
        let listed: Vec<_> = summaries(&folder).unwrap().collect();
        assert!(listed.len() == 1 && listed[0].1.study.is_empty(), "{listed:?}");
    }
}
