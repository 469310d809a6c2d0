//! Running a study in a guest of the lab and copying its run folder back.

use std::path::{Path, PathBuf};

use assay_record::run_folder::RunFolder;
use assay_run::load::Loaded;
use assay_run::overrides::StudyChoice;
use assay_study::{DiskOverride, DiskSource};
use assay_sys::exit::Error;
use assay_sys::files::{Dir, Trust};
use assay_sys::units::Bytes;
use jiff::Timestamp;

use crate::run_words::run_words;
use crate::{Argument, Cache, Ended, GuestSpec, GuestTask, ReadOnlyMount, Results, WORK, Watcher};

/// Size of the guest's disk for images of scratch disks, since its memory is small.
const WORK_SIZE: Bytes = Bytes::mebi(8 << 10);

/// Where the folder of a study file is mounted in the guest.
const STUDY: &str = "/run/assay/study";

/// A study that is ready to run in a guest.
#[derive(Debug)]
pub struct LabStudy {
    spec: GuestSpec,
    task: GuestTask,
    folder: PathBuf,
}

/// Prepares a run in a guest, and checks everything that can be checked before its slow boot. `loaded` is
/// the chosen study, checked without its disk, which exists only in the guest. The task has the caller's
/// directory and environment; the disks of the guest follow from the choice.
///
/// # Errors
/// The guest cannot be made as specified, the lab lacks a program, or the run folder cannot be created.
pub fn prepare_lab_study(
    loaded: &Loaded,
    choice: &StudyChoice,
    out: Option<&Path>,
    (spec, task): (GuestSpec, GuestTask),
    cache: &Cache,
) -> Result<LabStudy, Error> {
    let spec = GuestSpec { disks: in_guest(choice.disk.as_ref()), ..spec };
    spec.check().map_err(Error::usage)?;
    let (program, shown_program) = program_in_guest()?;
    crate::ready(cache).map_err(Error::host)?;
    let uses_images = match &choice.disk {
        Some(disk) => matches!(disk, DiskOverride::Loop(_)),
        None => loaded.study.disks.values().any(|disk| disk.source == DiskSource::Loop),
    };
    let stamp = Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string();
    let default = || PathBuf::from("runs").join(format!("{stamp}-{}", loaded.study.name));
    let out = out.map_or_else(default, Path::to_owned);
    let folder = RunFolder::create(&out, Trust::Checked).map_err(Error::host)?;
    let (study, shown_study) = study_in_guest(&choice.study);
    let results = format!("{WORK}/run");
    let mut command = vec![Argument::Text(program)];
    command.extend(["run", "--yes"].map(|word| Argument::Text(word.to_owned())));
    command.extend(run_words(&StudyChoice { study, ..choice.clone() }));
    command.extend(["--out", results.as_str()].map(|word| Argument::Text(word.to_owned())));
    let task = GuestTask {
        command,
        mounts: std::iter::once(shown_program).chain(shown_study).collect(),
        results: Some(Results { from: results, to: folder.path().to_owned() }),
        work: uses_images.then_some(WORK_SIZE),
        ..task
    };
    Ok(LabStudy { spec, task, folder: folder.path().to_owned() })
}

/// Boots the guest and runs the study there. Returns the folder of the run, if the run has a verdict.
///
/// # Errors
/// The guest could not be started.
pub fn run_lab_study(
    study: &LabStudy,
    cache: &Cache,
    watcher: impl Watcher + 'static,
) -> Result<(Ended, Option<PathBuf>), Error> {
    let ended = crate::run(&study.spec, &study.task, cache, watcher);
    let has_verdict = ended.is_ok() && study.folder.join("verdict.json").is_file();
    if !has_verdict {
        remove_if_empty(&study.folder);
    }
    let ended = ended.map_err(Error::host)?;
    Ok((ended, has_verdict.then(|| study.folder.clone())))
}

/// A task in the directory of the caller, with the part of its environment that decides how programs write
/// to a terminal.
#[must_use]
pub fn guest_task() -> GuestTask {
    let inherited = ["NO_COLOR", "TERM", "LANG"];
    let set = |name: &str| Some((name.to_owned(), std::env::var(name).ok()?));
    let environment = inherited.into_iter().filter_map(set).collect();
    GuestTask { directory: std::env::current_dir().ok(), environment, ..GuestTask::default() }
}

/// This program with these arguments as a task for a guest, which keeps it in memory: a case starts it several
/// times.
///
/// # Errors
/// The file of this program is unknown.
pub fn this_program_in_guest(
    arguments: impl IntoIterator<Item = String>,
) -> Result<GuestTask, Error> {
    let (program, shown) = program_in_guest()?;
    let in_memory = vec![program.clone()];
    let command = std::iter::once(program).chain(arguments).map(Argument::Text).collect();
    Ok(GuestTask { command, mounts: vec![shown], in_memory, ..guest_task() })
}

/// This program's path in a guest, and its folder to be shared with the guest: builds below a folder that
/// guests hide must be found as well.
fn program_in_guest() -> Result<(String, ReadOnlyMount), Error> {
    const GUEST_DIR: &str = "/run/assay/program";
    let path = std::env::current_exe()
        .map_err(|cause| Error::host(format!("cannot find assay: {cause}")))?;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let folder = path.parent().map(Path::to_owned);
    let (Some(name), Some(host)) = (name, folder) else {
        return Err(Error::host(format!("{} has no folder or file name", path.display())));
    };
    Ok((format!("{GUEST_DIR}/{name}"), ReadOnlyMount { guest: GUEST_DIR.into(), host }))
}

/// Removes the folder if no run was recorded in it.
fn remove_if_empty(folder: &Path) {
    if !folder.join("manifest.json").exists() {
        let name = folder.file_name().unwrap_or_default();
        let Ok(above) = Dir::open(folder.parent().unwrap_or(Path::new(""))) else { return };
        for part in ["samples", "logs", ""] {
            let _ = above.remove_dir(Path::new(name).join(part));
        }
    }
}

/// Disks that the lab attaches to the guest; all others are made by the run in the guest.
fn in_guest(disk: Option<&DiskOverride>) -> Vec<DiskOverride> {
    match disk {
        Some(disk @ (DiskOverride::Nvme(_) | DiskOverride::Virtio(_) | DiskOverride::Block(_))) => {
            vec![disk.clone()]
        }
        _ => vec![],
    }
}

/// The path of a study file in the guest; a shipped study needs no file.
fn study_in_guest(study: &str) -> (String, Option<ReadOnlyMount>) {
    let path = Path::new(study);
    let (Ok(path), true) = (path.canonicalize(), path.is_file()) else {
        return (study.to_owned(), None);
    };
    let (Some(name), Some(folder)) = (path.file_name(), path.parent()) else {
        return (study.to_owned(), None);
    };
    let shown = ReadOnlyMount { guest: STUDY.into(), host: folder.to_owned() };
    (format!("{STUDY}/{}", name.to_string_lossy()), Some(shown))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_study_file_is_mounted_and_a_shipped_study_is_passed_by_name() {
        assert_eq!(study_in_guest("io-weight"), ("io-weight".to_owned(), None));
        let file = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
        let (name, shown) = study_in_guest(file.path().to_str().unwrap());
        let own = file.path().file_name().unwrap().to_str().unwrap();
        assert_eq!(name, format!("{STUDY}/{own}"));
        assert_eq!(shown.unwrap().host, file.path().parent().unwrap().canonicalize().unwrap());
    }

    #[test]
    fn only_disks_that_exist_outside_of_the_run_are_attached() {
        let disks = |text: &str| in_guest(Some(&text.parse().unwrap())).len();
        assert_eq!(["nvme:2GiB", "virtio:1GiB", "block:/dev/x"].map(disks), [1, 1, 1]);
        assert_eq!((disks("loop"), in_guest(None).len()), (0, 0));
    }

    #[test]
    fn a_folder_is_removed_unless_a_run_was_recorded_in_it() {
        let temp = tempfile::tempdir().unwrap();
        let out = temp.path().join("run");
        drop(RunFolder::create(&out, Trust::Checked).unwrap());
        std::fs::write(out.join("manifest.json"), "{}").unwrap();
        remove_if_empty(&out);
        assert!(out.exists());
        std::fs::remove_file(out.join("manifest.json")).unwrap();
        remove_if_empty(&out);
        assert!(!out.exists());
    }
}
