//! Starts planned workloads: data location, command line or job file, and start barrier.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use assay_host::cgroup::Tree;
use assay_host::facts::{Available, HostFacts};
use assay_host::scratch::ScratchDisk;
use assay_study::plan::{GroupPlan, Part, StoragePlan, ToolPlan, Trial, WorkloadPlan};
use assay_study::workload::Placeholders;
use assay_study::workload::fio::{Target, wait_at};
use assay_sys::files::{Caller, Dir};
use assay_sys::kernel::privileges::User;
use assay_sys::kernel::{Error, Root, signal};

use crate::runner::placement::placement;
use crate::runner::privileges::may_use;
use crate::runner::processes::{Launch, Process};
use crate::runner::start_barrier::fifo_name;

/// fio's job file, in its output folder.
const JOB: &str = "job.fio";

/// Context for starting the workloads of one repeat.
pub(crate) struct Starter<'s> {
    pub(crate) root: &'s Root,
    pub(crate) tree: &'s Tree,
    pub(crate) trial: &'s Trial,
    pub(crate) disks: &'s [ScratchDisk],
    pub(crate) facts: &'s HostFacts,
    /// The CPUs of each group, where a hierarchy of the run serves `cpuset`.
    pub(crate) cpus: &'s BTreeMap<String, Available<String>>,
    /// The run folder.
    pub(crate) run: &'s Path,
    /// The folder of the repeat's logs, which holds the start barrier.
    pub(crate) logs: &'s Dir,
    /// The same, relative to the run folder.
    pub(crate) log: String,
}

impl Starter<'_> {
    /// Starts a workload in its group. With `at_barrier` it waits at the start barrier; otherwise it begins
    /// at once.
    pub(crate) fn start(
        &self,
        group: &GroupPlan,
        workload: &WorkloadPlan,
        at_barrier: bool,
    ) -> Result<Process, Error> {
        self.start_as(group, workload, &workload.name, &workload.name, at_barrier)
    }

    /// Starts the `index`-th preparation of a workload, at the workload's own data location.
    pub(crate) fn prepare(
        &self,
        group: &GroupPlan,
        workload: &WorkloadPlan,
        index: usize,
    ) -> Result<Process, Error> {
        let prepared = &workload.prepare[index];
        let folder = format!("{}.prepare-{}", workload.name, index + 1);
        self.start_as(group, prepared, &workload.name, &folder, false)
    }

    fn start_as(
        &self,
        group: &GroupPlan,
        workload: &WorkloadPlan,
        owner: &str,
        folder: &str,
        at_barrier: bool,
    ) -> Result<Process, Error> {
        let log = format!("{}/{folder}", self.log);
        let folder = self.logs.make_dir(folder)?;
        let user = self.user_of(group, owner)?;
        let disk = group.disk.map(|index| &self.disks[index]);
        let target = workload.storage.as_ref().zip(disk);
        let target =
            target.map(|(storage, disk)| find_data_location(storage, disk, owner)).transpose()?;
        match (&target, &user) {
            (Some(Target::Directory { path, .. }), _) => {
                hand_over_data_location(Path::new(path), user.as_ref())?;
            }
            (Some(Target::Device { path, .. }), Some(user)) => may_use(Path::new(path), user)?,
            _ => {}
        }
        let barrier = format!("../{}", fifo_name(user.as_ref()));
        let (program, words, jobs) = match &workload.tool {
            ToolPlan::Fio(job) => {
                let mut job = job.clone();
                if let Some(target) = target {
                    job.set_target(&relative_to_output(folder.path(), self.run, target));
                }
                if at_barrier {
                    wait_at(&mut job, &barrier);
                }
                let written = folder.create(JOB)?.write_all(job.to_job_file().as_bytes());
                written.map_err(|cause| Error::new("write", &folder.path().join(JOB), &cause))?;
                let words = ["--output-format=json", "--eta=never", "--output=fio.json", JOB];
                ("fio".to_owned(), words.map(str::to_owned).to_vec(), job.processes() as usize)
            }
            ToolPlan::Invocation(call) => {
                let placeholders = self.placeholders(group, target)?;
                let (program, words) =
                    call.command(&placeholders, at_barrier.then_some(barrier.as_str()));
                (program, words, 1)
            }
        };
        let other = user.as_ref().filter(|user| !user.is_this_process());
        let hand_over_to = other.map(|user| Caller { uid: user.uid, gid: user.gid });
        let launch = Launch {
            workload: &workload.name,
            group: &group.name,
            tool: &workload.tool,
            until_stopped: workload.until_stopped,
            program,
            words,
            folder,
            hand_over_to,
            log,
            jobs: if at_barrier { jobs } else { 0 },
        };
        let membership = match group.outside {
            true => self.tree.membership_outside()?,
            false => self.tree.membership(&group.name)?,
        };
        let membership = membership.run_as(user);
        Process::start(launch, &membership.placed(placement(self.trial, owner)))
    }

    /// The user that a workload and its preparations run as.
    fn user_of(&self, group: &GroupPlan, owner: &str) -> Result<Option<User>, Error> {
        let workload = group.workloads.iter().find(|workload| workload.name == owner);
        let name = workload.and_then(|workload| workload.user.as_deref());
        name.map(|name| User::find(self.root, name)).transpose()
    }

    fn placeholders(
        &self,
        group: &GroupPlan,
        target: Option<Target>,
    ) -> Result<Placeholders, Error> {
        let own = self.cpus.get(&group.name).and_then(Available::value);
        let mut placeholders = Placeholders {
            cpus: Some(own.cloned().unwrap_or_else(|| self.facts.cpus.allowed.to_string())),
            ..Placeholders::default()
        };
        match target {
            Some(Target::Directory { path, .. }) => {
                // Tools run in a folder of their own, so they need the absolute path. It ends in the directory
                // itself, which is no link and may be under its user's control.
                let path = Path::new(&path);
                let (above, name) = (path.parent().unwrap_or(path), path.file_name());
                let above = std::fs::canonicalize(above)
                    .map_err(|cause| Error::new("find", above, &cause))?;
                let absolute = above.join(name.unwrap_or_default());
                placeholders.directory = Some(absolute.display().to_string());
            }
            Some(Target::Device { path, .. }) => placeholders.device = Some(path),
            None => {}
        }
        Ok(placeholders)
    }
}

/// Empties the directories that workloads other than fio used in the previous repeat, so that each repeat
/// starts from the same state. fio lays its files out once and reuses them.
pub(crate) fn empty_data_locations(
    groups: &[GroupPlan],
    disks: &[ScratchDisk],
) -> Result<(), Error> {
    for group in groups {
        let Some(disk) = group.disk.map(|index| &disks[index]) else { continue };
        let others = |workload: &&WorkloadPlan| workload.job().is_none();
        for workload in group.workloads.iter().filter(others) {
            let Some(storage) = &workload.storage else { continue };
            if let Target::Directory { path, .. } =
                find_data_location(storage, disk, &workload.name)?
            {
                remove_data_location(Path::new(&path))?;
            }
        }
    }
    Ok(())
}

/// Opens the directory that holds a data location: a mount point, or a directory of this run.
fn open_above(location: &Path) -> Result<Dir, Error> {
    Ok(Dir::open_no_follow(location.parent().unwrap_or(Path::new("/")))?.keeping_owner())
}

/// Removes a data location with its contents.
pub(crate) fn remove_data_location(location: &Path) -> Result<(), Error> {
    remove_tree(&open_above(location)?, location.file_name().unwrap_or_default())
}

/// Removes a directory with its contents, unless the user interrupts the run.
fn remove_tree(above: &Dir, name: &OsStr) -> Result<(), Error> {
    remove_tree_until(above, name, &signal::interrupted_by)
}

fn remove_tree_until(
    above: &Dir,
    name: &OsStr,
    interrupted_by: &dyn Fn() -> Option<&'static str>,
) -> Result<(), Error> {
    let Some(own) = above.identity_of(name)? else { return Ok(()) };
    let mut between = || match interrupted_by() {
        Some(signal) => Err(io::Error::other(format!("interrupted by {signal}"))),
        None => Ok(()),
    };
    Ok(above.remove_own_tree(name, own, &mut between)?)
}

/// Hands a data location over to the user that a workload runs as. If another user has owned it, it is
/// recreated even when empty: it may hold links that lead elsewhere, that user may have it open, and its mode
/// and access lists are under that user's control.
fn hand_over_data_location(location: &Path, user: Option<&User>) -> Result<(), Error> {
    let own = rustix::process::geteuid().as_raw();
    let (above, name) = (open_above(location)?, location.file_name().unwrap_or_default());
    let mut dir = above.dir_on_mount(name)?;
    let new_owner = user.map_or(own, |user| user.uid);
    let owner = dir.owner()?;
    if owner != new_owner && (owner != own || !dir.is_empty()?) {
        remove_tree(&above, name)?;
        dir = above.make_new_dir(name)?;
    }
    if dir.owner()? != new_owner {
        let gid = user.map_or_else(|| rustix::process::getegid().as_raw(), |user| user.gid);
        dir.hand_over(Caller { uid: new_owner, gid })?;
    }
    Ok(())
}

/// The path or range of a planned data location on an existing disk.
pub(crate) fn find_data_location(
    storage: &StoragePlan,
    disk: &ScratchDisk,
    workload: &str,
) -> Result<Target, Error> {
    let device = |path: &Path| Target::Device {
        path: path.display().to_string(),
        offset: storage.offset,
        size: storage.size,
    };
    let directory = |above: &Path| {
        let path = above.join(workload);
        open_above(&path)?.make_dir_on_mount(workload)?;
        Ok(Target::Directory { path: path.display().to_string(), size: storage.size })
    };
    let missing = |what: &str| {
        let path = Path::new("/dev").join(&disk.device);
        Error::unexpected("find", &path, format!("the disk has no such {what}"))
    };
    match storage.part {
        Part::Device => Ok(device(&disk.device_path)),
        Part::Partition(index) => {
            disk.partitions.get(index).map(|path| device(path)).ok_or_else(|| missing("partition"))
        }
        Part::Mount(index) => {
            directory(disk.mounts.get(index).ok_or_else(|| missing("file system"))?)
        }
        Part::Directory => directory(disk.mounts.first().ok_or_else(|| missing("directory"))?),
    }
}

/// A directory of the run folder relative to fio's own `folder` in there. This keeps the user's name of the
/// run folder out of the job file, where ` #` and ` ;` begin a comment and `$` a variable.
fn relative_to_output(folder: &Path, run: &Path, target: Target) -> Target {
    let Target::Directory { path, size } = target else { return target };
    let inside = Path::new(&path).strip_prefix(run);
    let (Ok(inside), Ok(below)) = (inside, folder.strip_prefix(run)) else {
        return Target::Directory { path, size };
    };
    let up: PathBuf = below.components().map(|_| "..").collect();
    Target::Directory { path: up.join(inside).display().to_string(), size }
}

#[cfg(test)]
mod tests {
    use assay_sys::units::Bytes;

    use super::*;

    /// A directory owned by another user may hold links; root does not reuse it.
    #[test]
    fn a_directory_of_another_user_is_recreated() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let disk = tempfile::tempdir().unwrap();
        let whole = disk.path().canonicalize().unwrap();
        let location = whole.join("task.reader");
        let user = User::find(&Root::real(), "65534:65534").unwrap();
        open_above(&location).unwrap().make_dir("task.reader").unwrap();
        hand_over_data_location(&location, Some(&user)).unwrap();
        std::os::unix::fs::symlink("/etc/shadow", location.join("task.0.0")).unwrap();
        let uid = || std::os::unix::fs::MetadataExt::uid(&location.metadata().unwrap());
        hand_over_data_location(&location, Some(&user)).unwrap();
        assert!(
            uid() == 65534 && location.join("task.0.0").is_symlink(),
            "existing files are kept"
        );
        hand_over_data_location(&location, None).unwrap();
        assert!(uid() == 0 && !location.join("task.0.0").is_symlink());
        std::fs::write(location.join("file"), "of root").unwrap();
        hand_over_data_location(&location, None).unwrap();
        assert!(location.join("file").exists());
    }

    /// It is empty, but its user can still put something there.
    #[test]
    fn an_empty_directory_of_another_user_is_recreated() {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};

        if !rustix::process::geteuid().is_root() {
            return;
        }
        let disk = tempfile::tempdir().unwrap();
        let location = disk.path().canonicalize().unwrap().join("task.reader");
        let second = User::find(&Root::real(), "65533:65533").unwrap();
        for user in [None, Some(&second)] {
            std::fs::create_dir(&location).unwrap();
            std::fs::set_permissions(&location, std::fs::Permissions::from_mode(0o777)).unwrap();
            chown(&location, Some(65534), Some(65534)).unwrap();
            // A descriptor kept by the previous user.
            let kept = std::fs::File::open(&location).unwrap();
            hand_over_data_location(&location, user).unwrap();
            let (now, then) = (location.metadata().unwrap(), kept.metadata().unwrap());
            assert_eq!(now.uid(), user.map_or(0, |user| user.uid));
            assert_eq!(now.mode() & 0o022, 0, "{:o}", now.mode());
            assert_eq!(then.nlink(), 0, "the open descriptor refers to a deleted directory");
            std::fs::remove_dir(&location).unwrap();
        }
    }

    #[test]
    fn an_interruption_ends_the_removal_of_a_data_location() {
        let disk = tempfile::tempdir().unwrap();
        let location = disk.path().canonicalize().unwrap().join("task.reader");
        std::fs::create_dir(&location).unwrap();
        for number in 0..100 {
            std::fs::write(location.join(number.to_string()), "").unwrap();
        }
        let calls = std::cell::Cell::new(0);
        let interrupted = || {
            calls.set(calls.get() + 1);
            (calls.get() > 10).then_some("SIGINT")
        };
        let above = open_above(&location).unwrap();
        let name = location.file_name().unwrap();
        let error = remove_tree_until(&above, name, &interrupted).unwrap_err().to_string();
        assert!(error.contains("interrupted by SIGINT"), "{error}");
        assert_eq!(std::fs::read_dir(&location).unwrap().count(), 90);
        remove_data_location(&location).unwrap();
        assert!(!location.exists());
    }

    #[test]
    fn the_name_of_the_run_folder_stays_out_of_job_files() {
        let run = Path::new("/data/run #1");
        let folder = run.join("logs/trial-00-repeat-00/task1.reader");
        let size = Bytes::mebi(1);
        let relative = |path: &str| {
            relative_to_output(&folder, run, Target::Directory { path: path.to_owned(), size })
        };
        let directory = |path: &str| Target::Directory { path: path.to_owned(), size };
        assert_eq!(relative("/data/run #1/mnt/a"), directory("../../../mnt/a"));
        assert_eq!(relative("/srv/data/a"), directory("/srv/data/a"), "outside of the run folder");
    }
}
