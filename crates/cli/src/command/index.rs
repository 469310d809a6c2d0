//! The list of all runs in a folder, `runs/index.html`.

use std::path::Path;

use assay_run_folder::RunFolder;

use crate::exit::Code;
use crate::output;

/// Updates the list of runs if the run's parent folder has one that is ours. A list that cannot be
/// written does not fail the run.
pub(crate) fn update_for_run(folder: &RunFolder) {
    let Ok(around) = folder.dir().current_parent() else { return };
    if let Err(error) = assay_export::update_own_index(&around) {
        output::message(&format!("note: the list of runs: {error}"));
    }
}

/// Writes the list of all runs in a folder.
pub(crate) fn write(folder: &Path) -> Code {
    match assay_export::update_index(folder) {
        Ok(count) => {
            output::data(&folder.join("index.html").display().to_string());
            output::message(&format!("{count} runs"));
            Code::Kept
        }
        Err(error) => {
            output::error(&error);
            Code::Usage
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};
    use std::path::PathBuf;

    use assay_files::Trust;

    use super::*;

    const MANIFEST: &str = include_str!("../../../test-support/faults/one-cpu/manifest.json");

    /// A run in a folder `runs` that `change` has changed.
    fn after(change: impl FnOnce(&Path)) -> (tempfile::TempDir, PathBuf) {
        let place = tempfile::tempdir().unwrap();
        let runs = place.path().join("runs");
        let run = RunFolder::create(&runs.join("one"), Trust::Checked).unwrap();
        run.write_text("manifest.json", MANIFEST).unwrap();
        change(&runs);
        update_for_run(&run);
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
        assert_eq!(write(page.parent().unwrap()), Code::Usage, "not even on request");
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
        update_for_run(&run);
        assert!(!victim.join("runs/index.html").exists());
        assert!(folder.path().join("moved/runs/index.html").exists());
    }
}
