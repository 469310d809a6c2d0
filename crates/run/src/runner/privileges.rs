//! Workloads that run as another user, and the environment that workloads inherit.

use std::ffi::OsString;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use assay_study::plan::{ToolPlan, Trial};
use assay_sys::files::{Dir, search_path};
use assay_sys::kernel::privileges::User;
use assay_sys::kernel::{Error, Root};

/// Variables that a `command`, and any workload of another user, inherits from Assay's environment.
const KEPT: [&str; 5] = ["PATH", "LANG", "TZ", "TERM", "TMPDIR"];

/// Checks that all users named by the trials exist, and that this process may switch to them. Runs before
/// anything is changed.
pub(crate) fn check(root: &Root, trials: &[Trial]) -> Result<(), Error> {
    for name in trials.iter().flat_map(named) {
        let user = User::find(root, name)?;
        let own = rustix::process::geteuid();
        if !own.is_root() && own.as_raw() != user.uid {
            let hint = format!("Assay runs as user {} and may not become another", own.as_raw());
            return Err(Error::unexpected("start a workload as user", Path::new(name), hint));
        }
    }
    Ok(())
}

/// The users that a trial names.
pub(crate) fn named(trial: &Trial) -> impl Iterator<Item = &str> {
    let workloads = trial.groups.iter().flat_map(|group| &group.workloads);
    workloads.flat_map(|workload| workload.user.as_deref())
}

/// Those users, each once, without root and without the current user of this process, who have write access
/// anyway.
pub(crate) fn others(root: &Root, trial: &Trial) -> Result<Vec<User>, Error> {
    let mut others: Vec<User> = Vec::new();
    for name in named(trial) {
        let user = User::find(root, name)?;
        let is_new = others.iter().all(|other| other.uid != user.uid);
        if is_new && user.uid != 0 && !user.is_this_process() {
            others.push(user);
        }
    }
    Ok(others)
}

/// Checks that the user may use the raw device; the device node belongs to the system, so its owner is not
/// changed.
pub(crate) fn may_use(device: &Path, user: &User) -> Result<(), Error> {
    let metadata = device.metadata().map_err(|cause| Error::new("stat", device, &cause))?;
    let shift = if user.uid == 0 {
        return Ok(());
    } else if metadata.uid() == user.uid {
        6
    } else if user.groups.contains(&metadata.gid()) {
        3
    } else {
        0
    };
    if metadata.mode() >> shift & 0o6 == 0o6 {
        return Ok(());
    }
    let hint = format!(
        "user {} may not read and write it: give the disk a `format`, put the user into the \
         device's group ({}), or leave `user` out",
        user.uid,
        metadata.gid()
    );
    Err(Error::unexpected("use as another user", device, hint))
}

/// Sets the environment of a workload. Relative entries of PATH are removed: they would find programs of
/// other users in the workload's working directory.
pub(crate) fn set_environment(command: &mut Command, tool: &ToolPlan, user: Option<&User>) {
    let is_command =
        matches!(tool, ToolPlan::Invocation(call) if call.tool == assay_study::workload::COMMAND);
    if user.is_some() || is_command {
        let locale = |name: &str| name.starts_with("LC_") || KEPT.contains(&name);
        let kept = std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(locale));
        let kept: Vec<(OsString, OsString)> = kept.collect();
        command.env_clear().envs(kept);
        let home = std::env::var_os("HOME").filter(|_| user.is_none());
        let own = user.and_then(|user| user.home.clone()).map(OsString::from);
        command.env("HOME", own.or(home).unwrap_or_else(|| "/".into()));
        if let Some(name) = user.and_then(|user| user.name.clone()) {
            command.env("USER", &name).env("LOGNAME", &name);
        }
    }
    command.env("PATH", search_path());
}

/// Limit on the output read from a workload; of a longer one only the end is read. fio prints some 20 kB of JSON
/// for each job, and metrics of other programs are searched in the last 16 MiB.
const MOST_OUTPUT: u64 = 32 << 20;

/// Reads the output of a workload. Its folder may belong to another user, so links are not followed, and only
/// regular files are read.
pub(crate) fn read_output(folder: &Dir, name: &str) -> String {
    let mut bytes = Vec::new();
    if let Ok(mut file) = folder.read(name) {
        let length = file.metadata().map_or(0, |metadata| metadata.len());
        let _ = file.seek(SeekFrom::Start(length.saturating_sub(MOST_OUTPUT)));
        let _ = file.take(MOST_OUTPUT).read_to_end(&mut bytes);
    }
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// Results are printed last. A hole takes no space on disk.
    #[test]
    fn of_a_long_output_only_the_end_is_read() {
        const LONGEST: u64 = 64 << 20;
        let place = tempfile::tempdir().unwrap();
        let mut file = std::fs::File::create(place.path().join("file")).unwrap();
        file.set_len(1 << 30).unwrap();
        file.seek(SeekFrom::End(0)).unwrap();
        file.write_all(b"\nops/s: 5\n").unwrap();
        let output = read_output(&Dir::open(place.path()).unwrap(), "file");
        assert!(output.len() as u64 <= LONGEST, "{} bytes", output.len());
        assert!(output.ends_with("\nops/s: 5\n"));
    }

    #[test]
    fn output_that_is_a_link_or_a_pipe_is_not_read() {
        let place = tempfile::tempdir().unwrap();
        let (file, link) = (place.path().join("file"), place.path().join("link"));
        std::fs::write(&file, "said").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let folder = Dir::open(place.path()).unwrap();
        assert_eq!(read_output(&folder, "file"), "said");
        assert!(read_output(&folder, "link").is_empty());
        let pipe = place.path().join("pipe");
        let made = rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        );
        made.unwrap();
        assert!(read_output(&folder, "pipe").is_empty());
    }
}
