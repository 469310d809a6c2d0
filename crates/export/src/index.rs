//! `runs/index.html`, kept up to date.

use std::path::Path;

use assay_files::Dir;
use assay_report::{IndexEntry, index_entries, index_html};
use assay_run_folder::RunsDir;

use crate::error::Error;
use crate::link::link;

/// Bytes of a page: that of ten thousand runs has some ten million.
const MOST_PAGE: u64 = 256 << 20;

/// The name of the page.
const PAGE: &str = "index.html";

/// Writes the list of all runs in a folder, and returns how many there are. Of runs that have not
/// changed since the last time nothing is read again. Runs that end at the same moment wait for
/// each other, and each sees those before it: the lock is taken before the folder is looked at.
///
/// A page that is not ours is left alone.
pub fn update_index(folder: &Path) -> Result<usize, Error> {
    update(&RunsDir::lock(folder)?)
}

/// The same in a folder that is open, whatever has its name by now.
pub fn update_index_in(folder: Dir) -> Result<usize, Error> {
    update(&RunsDir::over(folder)?)
}

fn update(runs_dir: &RunsDir) -> Result<usize, Error> {
    let page = runs_dir.path().join(PAGE);
    let known = match runs_dir.text(PAGE) {
        Ok(text) => index_entries(&text).ok_or_else(|| {
            Error::DoesNotFit(format!(
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

/// Whether the folder around a run is one whose list is kept: it is called `runs`, or a list of
/// ours is there already. Nobody wants a page in /tmp because a run was put there.
#[must_use]
pub fn belongs(folder: &Dir) -> bool {
    let is_runs = folder.path().file_name().is_some_and(|name| name == "runs");
    let ours = || {
        let page = folder.text(PAGE, MOST_PAGE);
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
    fn half_written_crashed_and_newer_runs_are_listed_as_such() {
        let place = tempfile::tempdir().unwrap();
        let make = |name: &[u8], manifest: &str| {
            let run = place.path().join(std::ffi::OsStr::from_bytes(name));
            fs::create_dir(&run).unwrap();
            fs::write(run.join("manifest.json"), manifest).unwrap();
        };
        make(b"crashed", r#"{"schema": 1, "study": "s", "restored": null}"#);
        make(b"half", r#"{"schema": 1, "stu"#);
        make(b"newer \xff", r#"{"schema": 9}"#);
        assert_eq!(update_index(place.path()).unwrap(), 3);
        let page = fs::read_to_string(place.path().join(PAGE)).unwrap();
        // The template engine escapes the slash as well.
        let page = page.replace("&#x2f;", "/");
        for text in ["it still runs, or it was killed", "ends in the middle", "schema 9"] {
            assert!(page.contains(text), "{text}");
        }
        assert!(page.contains("./newer%20%FF/"), "a name that is no text still leads there");
    }

    #[test]
    fn only_what_changed_is_looked_at_again() {
        let place = tempfile::tempdir().unwrap();
        let run = place.path().join("run");
        fs::create_dir(&run).unwrap();
        let manifest = run.join("manifest.json");
        fs::write(&manifest, r#"{"schema": 1, "study": "before"}"#).unwrap();
        update_index(place.path()).unwrap();
        // What the page says of an unchanged run is taken from the page.
        let page = fs::read_to_string(place.path().join(PAGE)).unwrap();
        fs::write(place.path().join(PAGE), page.replace("before", "cached")).unwrap();
        update_index(place.path()).unwrap();
        assert_eq!(entries(place.path())[0].summary.study, "cached");
        fs::write(&manifest, r#"{"schema": 1, "study": "changed"}"#).unwrap();
        update_index(place.path()).unwrap();
        assert_eq!(entries(place.path())[0].summary.study, "changed");
    }

    #[test]
    fn somebody_else_s_page_is_left_alone() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join(PAGE), "<html>mine</html>").unwrap();
        let error = update_index(place.path()).unwrap_err().to_string();
        assert!(error.contains("left alone"), "{error}");
        assert!(!belongs(&Dir::open(place.path()).unwrap()));
        assert_eq!(fs::read_to_string(place.path().join(PAGE)).unwrap(), "<html>mine</html>");
    }

    #[test]
    fn runs_that_end_together_are_all_listed() {
        let place = tempfile::tempdir().unwrap();
        let end = |number: usize| {
            let run = place.path().join(format!("run-{number}"));
            fs::create_dir(&run).unwrap();
            fs::write(run.join("manifest.json"), r#"{"schema": 1}"#).unwrap();
            update_index(place.path()).unwrap();
        };
        std::thread::scope(|scope| {
            for number in 0..16 {
                scope.spawn(move || end(number));
            }
        });
        assert_eq!(entries(place.path()).len(), 16);
    }
}
