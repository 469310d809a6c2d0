//! Maintains `runs/index.html`, the list of all runs.

use std::path::Path;

use assay_files::Dir;
use assay_report::{IndexEntry, index_entries, index_html};
use assay_run_folder::RunsDir;

use crate::error::Error;
use crate::link::link;

/// Maximum size of the page in bytes; a page of ten thousand runs has some ten million.
const MAX_PAGE: u64 = 256 << 20;

/// File name of the page.
const PAGE: &str = "index.html";

/// Writes the list of all runs in a folder and returns their number. Unchanged runs are not read
/// again. Concurrent updates are serialized: the lock is taken before the folder is listed, so each
/// update includes the runs of those before it.
///
/// A page that assay did not write is left unchanged.
pub fn update_index(folder: &Path) -> Result<usize, Error> {
    update(&RunsDir::lock(folder)?)
}

/// Same as [`update_index`], for an open folder, even if it has been renamed.
pub fn update_index_in(folder: Dir) -> Result<usize, Error> {
    update(&RunsDir::from_dir(folder)?)
}

fn update(runs_dir: &RunsDir) -> Result<usize, Error> {
    let page = runs_dir.path().join(PAGE);
    let known = match runs_dir.text(PAGE) {
        Ok(text) => index_entries(&text).ok_or_else(|| {
            Error::NotApplicable(format!(
                "{} was not written by assay and is left alone\n  hint: move it away, and `assay \
                 report --index {}` writes the list of runs",
                page.display(),
                assay_escape::shell_word(&runs_dir.path().to_string_lossy())
            ))
        })?,
        Err(_) => Vec::new(),
    };
    let mut entries = Vec::new();
    for name in runs_dir.runs()? {
        let (link, stamp) = (link(&name), runs_dir.stamp(&name));
        let same = known.iter().find(|entry| entry.link == link && entry.stamp == stamp);
        entries.push(same.cloned().unwrap_or_else(|| IndexEntry {
            name: name.to_string_lossy().into_owned(),
            link,
            stamp,
            summary: runs_dir.summarize(&name),
        }));
    }
    let text = index_html(&entries).map_err(|cause| Error::write(&page, &cause))?;
    runs_dir.write_text(PAGE, &text)?;
    Ok(entries.len())
}

/// Whether this parent folder of a run gets an index: it is called `runs`, or has an index written
/// by assay. Any other folder, such as /tmp, does not.
#[must_use]
pub fn has_index(folder: &Dir) -> bool {
    let is_runs = folder.path().file_name().is_some_and(|name| name == "runs");
    let ours = || {
        let page = folder.text(PAGE, MAX_PAGE);
        page.is_ok_and(|page| index_entries(&page).is_some())
    };
    is_runs || ours()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    fn entries(folder: &Path) -> Vec<IndexEntry> {
        index_entries(&fs::read_to_string(folder.join(PAGE)).unwrap()).unwrap()
    }

    #[test]
    fn incomplete_crashed_and_newer_runs_are_listed_with_their_state() {
        let dir = tempfile::tempdir().unwrap();
        let make = |name: &[u8], manifest: &str| {
            let run = dir.path().join(std::ffi::OsStr::from_bytes(name));
            fs::create_dir(&run).unwrap();
            fs::write(run.join("manifest.json"), manifest).unwrap();
        };
        make(b"crashed", r#"{"schema": 1, "study": "s", "restored": null}"#);
        make(b"half", r#"{"schema": 1, "stu"#);
        make(b"newer \xff", r#"{"schema": 9}"#);
        assert_eq!(update_index(dir.path()).unwrap(), 3);
        let page = fs::read_to_string(dir.path().join(PAGE)).unwrap();
        // The template engine escapes the slash as well.
        let page = page.replace("&#x2f;", "/");
        for text in ["it is still running, or it was killed", "ends in the middle", "schema 9"] {
            assert!(page.contains(text), "{text}");
        }
        assert!(page.contains("./newer%20%FF/"), "a name that is not UTF-8 is still linked");
    }

    #[test]
    fn only_changed_runs_are_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let run = dir.path().join("run");
        fs::create_dir(&run).unwrap();
        let manifest = run.join("manifest.json");
        fs::write(&manifest, r#"{"schema": 1, "study": "before"}"#).unwrap();
        update_index(dir.path()).unwrap();
        // Data of an unchanged run comes from the page itself.
        let page = fs::read_to_string(dir.path().join(PAGE)).unwrap();
        fs::write(dir.path().join(PAGE), page.replace("before", "cached")).unwrap();
        update_index(dir.path()).unwrap();
        assert_eq!(entries(dir.path())[0].summary.study, "cached");
        fs::write(&manifest, r#"{"schema": 1, "study": "changed"}"#).unwrap();
        update_index(dir.path()).unwrap();
        assert_eq!(entries(dir.path())[0].summary.study, "changed");
    }

    #[test]
    fn foreign_page_is_left_unchanged() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(PAGE), "<html>mine</html>").unwrap();
        let error = update_index(dir.path()).unwrap_err().to_string();
        assert!(error.contains("left alone"), "{error}");
        assert!(!has_index(&Dir::open(dir.path()).unwrap()));
        assert_eq!(fs::read_to_string(dir.path().join(PAGE)).unwrap(), "<html>mine</html>");
    }

    #[test]
    fn runs_that_end_concurrently_are_all_listed() {
        let dir = tempfile::tempdir().unwrap();
        let end = |number: usize| {
            let run = dir.path().join(format!("run-{number}"));
            fs::create_dir(&run).unwrap();
            fs::write(run.join("manifest.json"), r#"{"schema": 1}"#).unwrap();
            update_index(dir.path()).unwrap();
        };
        std::thread::scope(|scope| {
            for number in 0..16 {
                scope.spawn(move || end(number));
            }
        });
        assert_eq!(entries(dir.path()).len(), 16);
    }
}
