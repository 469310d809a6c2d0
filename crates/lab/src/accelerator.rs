//! Detects whether KVM can actually run a guest here.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use assay_sys::files::Dir;
use assay_sys::kernel::program::{self, Limits};
use assay_sys::kernel::{Root, signal};

use crate::cache::Cache;
use crate::error::Error;

/// How a guest's processors are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CpuMode {
    Kvm,
    Emulation,
}

impl CpuMode {
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Kvm => "kvm",
            Self::Emulation => "tcg",
        }
    }
}

/// Long enough for QEMU to create a machine without starting it.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long a guest may take to boot with KVM and end, to show that KVM runs its kernel.
pub(crate) const TRIAL: Duration = Duration::from_secs(15);

/// What is known of KVM and one kernel, for as long as the host runs: inside other virtual machines KVM may work for
/// one kernel and stop for another, without a word, at some instruction of its boot.
pub(crate) struct KvmAnswer {
    file: PathBuf,
    folder: Dir,
    boot: String,
    /// Guests that start at the same time ask once.
    _lock: File,
}

impl KvmAnswer {
    /// Opens the answer for a kernel; waits for another lab that is finding it out.
    pub(crate) fn open(cache: &Cache, release: &str) -> Result<Self, Error> {
        let lock = cache.lock()?;
        let folder = Dir::open(&cache.folder("kvm")?)?;
        let boot = Root::real().read_trimmed("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        Ok(Self { file: release.into(), folder, boot, _lock: lock })
    }

    /// Nothing if it was not asked since the host has booted; else why KVM does not run the kernel, or that it does.
    pub(crate) fn known(&self) -> Option<Result<(), String>> {
        let mut text = String::new();
        self.folder.read(&self.file).ok()?.take(4096).read_to_string(&mut text).ok()?;
        let (boot, why) = text.split_once('\n')?;
        (boot == self.boot).then(|| if why.is_empty() { Ok(()) } else { Err(why.to_owned()) })
    }

    /// Keeps it.
    pub(crate) fn keep(&self, answer: &Result<(), String>) -> Result<(), Error> {
        let why = answer.as_ref().err().map_or("", String::as_str);
        Ok(self.folder.replace(&self.file, format!("{}\n{why}", self.boot).as_bytes())?)
    }
}

/// Creates a paused machine with the host's processor and ends it. /dev/kvm and even KVM_CREATE_VM
/// are not sufficient: inside other virtual machines some processor registers may not be settable,
/// which shows when QEMU first sets them.
pub(crate) fn probe(qemu: &Path) -> Result<(), String> {
    let mut command = Command::new(qemu);
    command
        .args(["-accel", "kvm", "-cpu", "host", "-machine", "q35", "-m", "64", "-nodefaults"])
        .args(["-display", "none", "-S", "-monitor", "stdio"]);
    let stop = || signal::interrupted_by().is_some();
    let limits = Limits { time: PATIENCE, output: 1 << 20, stop: &stop };
    // A machine that could not be created does not read commands; its exit status shows it.
    match program::run(&mut command, "quit\n", &limits) {
        Ok(ended) if ended.status.success() => Ok(()),
        Ok(ended) => Err(error_line(&ended)),
        Err(why) => Err(format!("QEMU ({}) did not respond: {why}", qemu.display())),
    }
}

fn error_line(ended: &Output) -> String {
    let stderr = String::from_utf8_lossy(&ended.stderr);
    let line = stderr.lines().find(|line| line.contains("rror") || line.contains("KVM"));
    line.or_else(|| stderr.lines().last()).map_or_else(
        || format!("QEMU ended with {}", ended.status),
        |line| line.trim_start_matches("qemu-system-x86_64: ").to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A script in place of QEMU.
    fn program(text: &str) -> tempfile::TempPath {
        use std::os::unix::fs::PermissionsExt;
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), format!("#!/bin/sh\n{text}\n")).unwrap();
        let path = file.into_temp_path();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn a_machine_that_cannot_be_created_says_why() {
        assert_eq!(probe(&program("read line; [ \"$line\" = quit ]")), Ok(()));
        let fails =
            program("echo 'qemu-system-x86_64: error: failed to set MSR 0x10a' >&2; exit 1");
        assert_eq!(probe(&fails), Err("error: failed to set MSR 0x10a".to_owned()));
    }

    #[test]
    fn an_answer_holds_for_one_kernel_until_the_host_boots_again() {
        let place = tempfile::tempdir().unwrap();
        let cache = Cache::at(place.path());
        let no = Err("it stopped".to_owned());
        let answer = KvmAnswer::open(&cache, "6.1.0").unwrap();
        assert_eq!(answer.known(), None);
        answer.keep(&no).unwrap();
        drop(answer);
        assert_eq!(KvmAnswer::open(&cache, "6.1.0").unwrap().known(), Some(no));
        let other = KvmAnswer::open(&cache, "6.12.9").unwrap();
        assert_eq!(other.known(), None);
        other.keep(&Ok(())).unwrap();
        assert_eq!(other.known(), Some(Ok(())));
        let later = KvmAnswer { boot: "another".to_owned(), ..other };
        assert_eq!(later.known(), None);
    }
}
