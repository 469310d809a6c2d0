//! A recorded run: opens it, and keeps the list of runs around it.

use std::path::Path;

use assay_record::run_folder::{Run, RunFolder, runs, unlisted_samples};
use assay_sys::exit::Error;
use assay_sys::files::Dir;

use crate::observer::Observer;

/// File name of a run's report.
pub const REPORT: &str = "report.html";

/// Opens and reads a recorded run.
///
/// # Errors
/// The folder holds no run that this version can read.
pub fn open_run(path: &Path, observer: &mut dyn Observer) -> Result<(RunFolder, Run), Error> {
    let folder = RunFolder::open(path).map_err(|mut error| {
        error.hint = newest_below(path).or(error.hint);
        Error::usage(error)
    })?;
    let run = read_run(&folder, observer)?;
    Ok((folder, run))
}

/// What to name instead of a folder of runs.
fn newest_below(path: &Path) -> Option<String> {
    // Names begin with the time.
    let newest = runs(&Dir::open(path).ok()?).ok()?.pop()?;
    Some(format!("it holds runs: name one of them, such as {}", path.join(newest).display()))
}

/// Reads the run in an open folder; the observer learns which samples are left out.
///
/// # Errors
/// As [`open_run`].
pub fn read_run(folder: &RunFolder, observer: &mut dyn Observer) -> Result<Run, Error> {
    let run = Run::from_folder(folder).map_err(Error::usage)?;
    for name in unlisted_samples(folder, &run.manifest).unwrap_or_default() {
        observer.message(&format!(
            "note: samples/{name} belongs to no finished repeat and is left out: the repeat is still \
             running, or the run was killed"
        ));
    }
    Ok(run)
}

/// Updates the list of runs (`index.html`) if the run's parent folder has one that is ours. A list that cannot be
/// written does not fail the run.
pub fn update_index(folder: &RunFolder, observer: &mut dyn Observer) {
    let Ok(around) = folder.dir().current_parent() else { return };
    if let Err(error) = assay_report::export::update_own_index(&around) {
        observer.message(&format!("note: the list of runs: {error}"));
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};
    use std::path::PathBuf;

    use assay_sys::files::Trust;

    use super::*;
    use crate::transcript::Transcript;

    const MANIFEST: &str = include_str!("../../test-support/faults/one-cpu/manifest.json");

    /// A run in a folder `runs` that `change` has changed.
    fn after(change: impl FnOnce(&Path)) -> (tempfile::TempDir, PathBuf) {
        let place = tempfile::tempdir().unwrap();
        let runs = place.path().join("runs");
        let run = RunFolder::create(&runs.join("one"), Trust::Checked).unwrap();
        run.write_text("manifest.json", MANIFEST).unwrap();
        change(&runs);
        update_index(&run, &mut Transcript::default());
        (place, runs.join("index.html"))
    }

    /// A list whose only run has never existed.
    fn forged_list() -> String {
        let (_place, page) = after(|_| ());
        fs::read_to_string(page).unwrap().replace("one-cpu", "forged")
    }

    #[test]
    fn the_list_of_another_user_is_neither_believed_nor_replaced() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let forged = forged_list();
        let (_place, page) = after(|runs| {
            fs::write(runs.join("index.html"), &forged).unwrap();
            chown(runs.join("index.html"), Some(65534), Some(65534)).unwrap();
        });
        assert!(fs::read_to_string(&page).unwrap() == forged);
        assert!(
            assay_report::export::update_index(page.parent().unwrap()).is_err(),
            "not even on request"
        );
        assert!(fs::read_to_string(&page).unwrap() == forged);
    }

    #[test]
    fn a_page_that_cannot_be_read_is_kept() {
        let (_place, page) = after(|runs| symlink("elsewhere", runs.join("index.html")).unwrap());
        assert!(page.is_symlink());
        let (_place, page) = after(|runs| fs::write(runs.join("index.html"), b"\xff").unwrap());
        assert_eq!(fs::read(page).unwrap(), b"\xff");
    }

    /// Of a folder with runs of someone else, root changes only the run that was named.
    #[test]
    fn nothing_is_written_beside_a_run_in_a_folder_of_another_user() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let (_place, page) = after(|runs| chown(runs, Some(65534), Some(65534)).unwrap());
        assert!(!page.exists());
        let open = fs::Permissions::from_mode(0o777);
        let (_place, page) = after(|runs| fs::set_permissions(runs, open).unwrap());
        assert!(!page.exists());
    }

    /// The folder of runs may be renamed and replaced by a link while the run is open.
    #[test]
    fn the_list_is_updated_in_the_folder_that_holds_the_run() {
        let folder = tempfile::tempdir().unwrap();
        let [user, victim] = ["user", "victim"].map(|name| folder.path().join(name));
        fs::create_dir_all(victim.join("runs/one")).unwrap();
        let run = RunFolder::create(&user.join("runs/one"), Trust::Checked).unwrap();
        fs::rename(&user, folder.path().join("moved")).unwrap();
        symlink(&victim, &user).unwrap();
        update_index(&run, &mut Transcript::default());
        assert!(!victim.join("runs/index.html").exists());
        assert!(folder.path().join("moved/runs/index.html").exists());
    }
}
