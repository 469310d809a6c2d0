//! A value written to a kernel file after a while by a process of its own, whatever becomes of this one.

use std::fs::OpenOptions;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;

use crate::kernel::error::Error;
use crate::kernel::process::{send_to_group, with_real_time_priority};
use crate::kernel::root::Root;

const SHELL: &str = "/bin/sh";

/// A process that waits and then writes, unless this value is dropped before. Neither SIGKILL nor SIGSTOP of this
/// process prevents the write, nor does a Ctrl-C reach it.
#[derive(Debug)]
pub struct LateWrite(Child);

impl LateWrite {
    /// Opens the file at once, so that it is the one written to even if something else gets its path.
    pub fn start(root: &Root, path: &Path, value: &str, after: Duration) -> Result<Self, Error> {
        let file = OpenOptions::new()
            .write(true)
            .open(root.resolve(path))
            .map_err(|cause| Error::new("open", path, &cause))?;
        let seconds = format!("{:.3}", after.as_secs_f64());
        let mut command = Command::new(SHELL);
        command
            .args(["-c", "sleep \"$1\" && echo \"$2\"", "assay-late-write", &seconds, value])
            .env_clear()
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(file)
            .stderr(Stdio::null())
            .process_group(0);
        // It inherits the priority: on a busy host it must not be late.
        let child = with_real_time_priority(|| command.spawn())
            .map_err(|cause| Error::new("start", Path::new(SHELL), &cause))?;
        Ok(Self(child))
    }
}

impl Drop for LateWrite {
    fn drop(&mut self) {
        // It has not been reaped, so that the ids are still its own.
        let _ = send_to_group(self.0.id(), Signal::KILL);
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> (tempfile::TempDir, Root) {
        let tree = tempfile::tempdir().unwrap();
        std::fs::write(tree.path().join("state"), "").unwrap();
        let root = Root::at(tree.path());
        (tree, root)
    }

    #[test]
    fn the_value_is_written_when_nothing_prevents_it() {
        let (_tree, root) = file();
        let after = Duration::from_millis(50);
        let mut late = LateWrite::start(&root, Path::new("/state"), "THAWED", after).unwrap();
        assert!(late.0.wait().unwrap().success());
        assert_eq!(root.read("/state").unwrap(), "THAWED\n");
    }

    #[test]
    fn nothing_is_written_once_it_is_dropped() {
        let (_tree, root) = file();
        let after = Duration::from_secs(600);
        drop(LateWrite::start(&root, Path::new("/state"), "0", after).unwrap());
        assert_eq!(root.read("/state").unwrap(), "");
    }
}
