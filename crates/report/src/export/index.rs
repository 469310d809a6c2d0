//! Maintains `runs/index.html`, the list of all runs.

use std::collections::HashMap;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::{IndexEntry, index_entries, index_html};
use assay_record::run_folder::RunsDir;
use assay_sys::files::{Caller, Dir, Trust, check, is_own};

use crate::export::error::Error;
use crate::export::link::link;

/// Maximum size of the page in bytes; a page of ten thousand runs has some ten million.
const MAX_PAGE: u64 = 256 << 20;

/// File name of the page.
const PAGE: &str = "index.html";

/// What has the page's name.
enum Page {
    Missing,
    /// A list that root, this user or the caller of sudo has written, with the runs in it.
    Own(Vec<IndexEntry>),
    /// A page that they did not write, or not with assay, and why.
    Foreign(String),
}

/// Writes the list of all runs in a folder that the user named, and returns their number. Unchanged
/// runs are not read again. Concurrent updates are serialized: the lock is taken before the folder
/// is listed, so each update includes the runs of those before it.
///
/// Only a list of our own is believed and replaced; any other page is an error.
pub fn update_index(folder: &Path) -> Result<usize, Error> {
    let runs_dir = RunsDir::lock(folder)?;
    match read_page(runs_dir.dir())? {
        Page::Missing => write(&runs_dir, Vec::new()),
        Page::Own(known) => write(&runs_dir, known),
        Page::Foreign(why) => Err(left_alone(folder, &why)),
    }
}

/// Updates the list in the folder that holds a run. Nobody has asked for it, so this happens only
/// where nobody else can change anything, and only if the folder has a list or is called `runs`;
/// any other folder, such as /tmp, gets none.
pub fn update_own_index(folder: &Dir) -> Result<(), Error> {
    let is_runs = folder.path().file_name().is_some_and(|name| name == "runs");
    if !is_runs && !folder.has_file(PAGE) {
        return Ok(());
    }
    // Only where it is certain to be ours is the lock taken; the page is read under it.
    let locked = checked(folder).and_then(|dir| Ok(RunsDir::from_dir(dir)?));
    let page = read_page(locked.as_ref().map_or(folder, RunsDir::dir))?;
    match page {
        Page::Missing | Page::Foreign(_) if !is_runs => Ok(()),
        Page::Foreign(why) => Err(left_alone(folder.path(), &why)),
        Page::Missing => write(&locked?, Vec::new()).map(drop),
        Page::Own(known) => write(&locked?, known).map(drop),
    }
}

/// The same folder, if nobody but root, this user and the caller of sudo can change what is in it.
fn checked(folder: &Dir) -> Result<Dir, Error> {
    let checked = check(folder.path(), Caller::from_sudo(), Trust::Checked)
        .and_then(assay_sys::files::Checked::open);
    let dir = checked.map_err(|error| left_alone(folder.path(), &error.cause.to_string()))?;
    match dir.identity()? == folder.identity()? {
        true => Ok(dir),
        false => Err(left_alone(folder.path(), "its folder was renamed meanwhile")),
    }
}

fn read_page(folder: &Dir) -> Result<Page, Error> {
    let unreadable =
        |cause: &std::io::Error| left_alone(folder.path(), &format!("it cannot be read: {cause}"));
    let mut file = match folder.read(PAGE) {
        Err(error) if error.is_missing() => return Ok(Page::Missing),
        file => file.map_err(|error| unreadable(&error.cause))?,
    };
    // Nothing of another user is read: they choose how much there is to parse.
    let owner = file.metadata().map_err(|cause| unreadable(&cause))?.uid();
    if !is_own(owner) {
        return Ok(Page::Foreign(format!("it belongs to user {owner}")));
    }
    let mut bytes = Vec::new();
    file.by_ref().take(MAX_PAGE).read_to_end(&mut bytes).map_err(|cause| unreadable(&cause))?;
    let entries = String::from_utf8(bytes).ok().and_then(|text| index_entries(&text));
    let foreign = || Page::Foreign("it was not written by assay".to_owned());
    Ok(entries.map_or_else(foreign, Page::Own))
}

fn left_alone(folder: &Path, why: &str) -> Error {
    Error::NotApplicable(format!(
        "{} is left alone: {why}\n  hint: `assay report --index {}` writes the list of runs, but \
         replaces only one of your own: move any other page away",
        folder.join(PAGE).display(),
        assay_sys::escape::shell_word(&folder.to_string_lossy())
    ))
}

/// Writes the list of a locked folder. `known` are the entries of the page as it is.
fn write(runs_dir: &RunsDir, known: Vec<IndexEntry>) -> Result<usize, Error> {
    let mut known: HashMap<String, IndexEntry> =
        known.into_iter().map(|entry| (entry.link.clone(), entry)).collect();
    let mut entries = Vec::new();
    for name in runs_dir.runs()? {
        let (link, stamp) = (link(&name), runs_dir.stamp(&name));
        let same = known.remove(&link).filter(|entry| entry.stamp == stamp);
        entries.push(same.unwrap_or_else(|| IndexEntry {
            name: name.to_string_lossy().into_owned(),
            link,
            stamp,
            summary: runs_dir.summarize(&name),
        }));
    }
    runs_dir.write_text(PAGE, &index_html(&entries))?;
    Ok(entries.len())
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
        update_own_index(&Dir::open(dir.path()).unwrap()).unwrap();
        assert_eq!(fs::read_to_string(dir.path().join(PAGE)).unwrap(), "<html>mine</html>");
    }

    /// It could be made of millions of values.
    #[test]
    fn a_page_of_another_user_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let page = dir.path().join(PAGE);
        fs::write(&page, "<html>theirs</html>").unwrap();
        if std::os::unix::fs::chown(&page, Some(65534), None).is_err() {
            return;
        }
        let error = update_index(dir.path()).unwrap_err().to_string();
        assert!(error.contains("it belongs to user 65534"), "{error}");
        update_own_index(&Dir::open(dir.path()).unwrap()).unwrap();
        assert_eq!(fs::read_to_string(&page).unwrap(), "<html>theirs</html>");
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
