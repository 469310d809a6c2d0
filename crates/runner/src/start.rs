//! From a planned workload to a running one: where its data goes, what it is told, and whether it
//! waits at the gate.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use assay_cgroup::Tree;
use assay_facts::{Available, HostFacts};
use assay_files::{Caller, Dir};
use assay_host::scratch::ScratchDisk;
use assay_kernel::privileges::User;
use assay_kernel::{Error, Root};
use assay_plan::{GroupPlan, Part, PlacePlan, ToolPlan, Trial, WorkloadPlan};
use assay_workload::Placeholders;
use assay_workload::fio::{GATE_FILE, Place, gate_line};

use crate::placement::placement;
use crate::privileges::may_use;
use crate::processes::{Launch, Process};

/// fio's job file, inside the folder of its output.
const JOB: &str = "job.fio";

/// What starting a workload of one repeat needs.
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
    /// The folder of the repeat's logs, which the gate lies in.
    pub(crate) logs: &'s Dir,
    /// The same, relative to the run folder.
    pub(crate) log: String,
}

impl Starter<'_> {
    /// Starts a workload in its group. `at_the_gate` says whether it waits for the common start;
    /// without, it begins at once.
    pub(crate) fn start(
        &self,
        group: &GroupPlan,
        workload: &WorkloadPlan,
        at_the_gate: bool,
    ) -> Result<Process, Error> {
        self.start_as(group, workload, &workload.name, &workload.name, at_the_gate)
    }

    /// Starts the `index`-th preparation of a workload, in the workload's own place.
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
        at_the_gate: bool,
    ) -> Result<Process, Error> {
        let log = format!("{}/{folder}", self.log);
        let folder = self.logs.make_dir(folder)?;
        let user = self.user_of(group, owner)?;
        let disk = group.disk.map(|index| &self.disks[index]);
        let place = workload.place.as_ref().zip(disk);
        let place = place.map(|(place, disk)| find_place(place, disk, owner)).transpose()?;
        match (&place, &user) {
            (Some(Place::Directory { path, .. }), _) => give_place(Path::new(path), user.as_ref())?,
            (Some(Place::Device { path, .. }), Some(user)) => may_use(Path::new(path), user)?,
            _ => {}
        }
        let (program, words, jobs) = match &workload.tool {
            ToolPlan::Fio(job) => {
                let mut job = job.clone();
                if let Some(place) = place {
                    job.put(&seen_from(folder.path(), self.run, place));
                }
                if at_the_gate {
                    job.set("exec_prerun", gate_line("../gate"));
                }
                let written = folder.create(JOB)?.write_all(job.to_job_file().as_bytes());
                written.map_err(|cause| Error::new("write", &folder.path().join(JOB), &cause))?;
                let words = ["--output-format=json", "--eta=never", "--output=fio.json", JOB];
                let jobs = job.option("numjobs").and_then(|text| text.parse().ok()).unwrap_or(1);
                ("fio".to_owned(), words.map(str::to_owned).to_vec(), jobs)
            }
            ToolPlan::Invocation(call) => {
                let gate = format!("../{GATE_FILE}");
                let given = self.given(group, place)?;
                let (program, words) = call.command(&given, at_the_gate.then_some(gate.as_str()));
                (program, words, 1)
            }
        };
        if let Some(user) = user.as_ref().filter(|user| !user.is_this_process()) {
            folder.hand_over(Caller { uid: user.uid, gid: user.gid })?;
        }
        let launch = Launch {
            workload: &workload.name,
            group: &group.name,
            tool: &workload.tool,
            until_stopped: workload.until_stopped,
            program,
            words,
            folder,
            log,
            jobs: if at_the_gate { jobs } else { 0 },
        };
        let membership = match group.outside {
            true => self.tree.membership_outside()?,
            false => self.tree.membership(&group.name)?,
        };
        let membership = membership.owned_by(user);
        Process::start(launch, &membership.placed(placement(self.trial, owner)))
    }

    /// Whom a workload and its preparations run as.
    fn user_of(&self, group: &GroupPlan, owner: &str) -> Result<Option<User>, Error> {
        let workload = group.workloads.iter().find(|workload| workload.name == owner);
        let name = workload.and_then(|workload| workload.user.as_deref());
        name.map(|name| User::find(self.root, name)).transpose()
    }

    fn given(&self, group: &GroupPlan, place: Option<Place>) -> Result<Placeholders, Error> {
        let own = self.cpus.get(&group.name).and_then(Available::value);
        let mut given = Placeholders {
            cpus: Some(own.cloned().unwrap_or_else(|| self.facts.cpus.allowed.to_string())),
            ..Placeholders::default()
        };
        match place {
            Some(Place::Directory { path, .. }) => {
                // A tool runs in a folder of its own, so it is told the whole path.
                let whole = std::fs::canonicalize(&path)
                    .map_err(|cause| Error::new("find", Path::new(&path), &cause))?;
                given.directory = Some(whole.display().to_string());
            }
            Some(Place::Device { path, .. }) => given.device = Some(path),
            None => {}
        }
        Ok(given)
    }
}

/// Empties the directories that workloads other than fio had in the repeat before, so that each
/// repeat begins with the same. fio lays its files out once and uses them again.
pub(crate) fn empty_places(groups: &[GroupPlan], disks: &[ScratchDisk]) -> Result<(), Error> {
    for group in groups {
        let Some(disk) = group.disk.map(|index| &disks[index]) else { continue };
        let others = |workload: &&WorkloadPlan| workload.job().is_none();
        for workload in group.workloads.iter().filter(others) {
            let Some(place) = &workload.place else { continue };
            if let Place::Directory { path, .. } = find_place(place, disk, &workload.name)? {
                remove_place(Path::new(&path))?;
            }
        }
    }
    Ok(())
}

/// The directory of a disk that a place lies in: a mount point or a directory of this run's own.
fn open_above(place: &Path) -> Result<Dir, Error> {
    Ok(Dir::open_no_follow(place.parent().unwrap_or(Path::new("/")))?.keeping())
}

/// Removes a place with what is in it.
pub(crate) fn remove_place(place: &Path) -> Result<(), Error> {
    open_above(place)?.remove_tree(place.file_name().unwrap_or_default())?;
    Ok(())
}

/// Gives a place to the user that a workload runs as. What another user has had is made anew, also
/// when nothing is in it: it may hold links that lead whoever uses it next elsewhere, that user may have
/// it open, and its mode and access lists are what that user has made them.
fn give_place(place: &Path, user: Option<&User>) -> Result<(), Error> {
    let own = rustix::process::geteuid().as_raw();
    let (above, name) = (open_above(place)?, place.file_name().unwrap_or_default());
    let mut dir = above.dir(name)?;
    let wanted = user.map_or(own, |user| user.uid);
    let owner = dir.owner()?;
    if owner != wanted && (owner != own || !dir.is_empty()?) {
        above.remove_tree(name)?;
        dir = above.make_new_dir(name)?;
    }
    if dir.owner()? != wanted {
        let gid = user.map_or_else(|| rustix::process::getegid().as_raw(), |user| user.gid);
        dir.hand_over(Caller { uid: wanted, gid })?;
    }
    Ok(())
}

/// Where a piece of a plan lies, now that the disk exists.
pub(crate) fn find_place(
    place: &PlacePlan,
    disk: &ScratchDisk,
    workload: &str,
) -> Result<Place, Error> {
    let device = |path: &Path| Place::Device {
        path: path.display().to_string(),
        offset: place.offset,
        size: place.size,
    };
    let directory = |above: &Path| {
        let path = above.join(workload);
        open_above(&path)?.make_dir(workload)?;
        Ok(Place::Directory { path: path.display().to_string(), size: place.size })
    };
    let missing = |what: &str| {
        let path = Path::new("/dev").join(&disk.device);
        Error::unexpected("find", &path, format!("the disk has no such {what}"))
    };
    match place.part {
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

/// A directory of the run folder as fio sees it from its own `folder` in there. What the user
/// calls the run folder thus stays out of the job file, where ` #` and ` ;` begin a comment and
/// `$` a variable.
fn seen_from(folder: &Path, run: &Path, place: Place) -> Place {
    let Place::Directory { path, size } = place else { return place };
    let inside = Path::new(&path).strip_prefix(run);
    let (Ok(inside), Ok(below)) = (inside, folder.strip_prefix(run)) else {
        return Place::Directory { path, size };
    };
    let up: PathBuf = below.components().map(|_| "..").collect();
    Place::Directory { path: up.join(inside).display().to_string(), size }
}

#[cfg(test)]
mod tests {
    use assay_units::Bytes;

    use super::*;

    /// What one user has had may hold links; root uses it as its own no more.
    #[test]
    fn a_place_of_another_user_is_made_anew() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let disk = tempfile::tempdir().unwrap();
        let whole = disk.path().canonicalize().unwrap();
        let place = whole.join("task.reader");
        let user = User::find(&Root::real(), "65534:65534").unwrap();
        open_above(&place).unwrap().make_dir("task.reader").unwrap();
        give_place(&place, Some(&user)).unwrap();
        std::os::unix::fs::symlink("/etc/shadow", place.join("task.0.0")).unwrap();
        let uid = || std::os::unix::fs::MetadataExt::uid(&place.metadata().unwrap());
        give_place(&place, Some(&user)).unwrap();
        assert!(uid() == 65534 && place.join("task.0.0").is_symlink(), "what is laid out stays");
        give_place(&place, None).unwrap();
        assert!(uid() == 0 && !place.join("task.0.0").is_symlink());
        std::fs::write(place.join("file"), "of root").unwrap();
        give_place(&place, None).unwrap();
        assert!(place.join("file").exists());
    }

    /// Nothing is in it, and its user can still put something there.
    #[test]
    fn an_empty_place_of_another_user_is_made_anew() {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};

        if !rustix::process::geteuid().is_root() {
            return;
        }
        let disk = tempfile::tempdir().unwrap();
        let place = disk.path().canonicalize().unwrap().join("task.reader");
        let second = User::find(&Root::real(), "65533:65533").unwrap();
        for user in [None, Some(&second)] {
            std::fs::create_dir(&place).unwrap();
            std::fs::set_permissions(&place, std::fs::Permissions::from_mode(0o777)).unwrap();
            chown(&place, Some(65534), Some(65534)).unwrap();
            // The descriptor that the user before has kept.
            let kept = std::fs::File::open(&place).unwrap();
            give_place(&place, user).unwrap();
            let (now, then) = (place.metadata().unwrap(), kept.metadata().unwrap());
            assert_eq!(now.uid(), user.map_or(0, |user| user.uid));
            assert_eq!(now.mode() & 0o022, 0, "{:o}", now.mode());
            assert_eq!(then.nlink(), 0, "the directory that is open leads nowhere");
            std::fs::remove_dir(&place).unwrap();
        }
    }

    #[test]
    fn the_name_of_the_run_folder_stays_out_of_job_files() {
        let run = Path::new("/data/run #1");
        let folder = run.join("logs/trial-00-repeat-00/task1.reader");
        let size = Bytes::mebi(1);
        let seen =
            |path: &str| seen_from(&folder, run, Place::Directory { path: path.to_owned(), size });
        let directory = |path: &str| Place::Directory { path: path.to_owned(), size };
        assert_eq!(seen("/data/run #1/mnt/a"), directory("../../../mnt/a"));
        assert_eq!(seen("/srv/data/a"), directory("/srv/data/a"), "outside of the run folder");
    }
}
