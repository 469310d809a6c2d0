//! Whether KVM can run a guest here, or only looks as if it could.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::spec::Accelerator;

/// What runs a guest's processors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Runs {
    Kvm,
    Emulation,
}

impl Runs {
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Kvm => "kvm",
            Self::Emulation => "tcg",
        }
    }
}

/// Long enough for QEMU to set up a machine that it does not start.
const PATIENCE: Duration = Duration::from_secs(20);

/// Decides for what was asked.
pub(crate) fn choose(asked: Accelerator, qemu: &Path) -> Result<Runs, Error> {
    match asked {
        Accelerator::Emulation => Ok(Runs::Emulation),
        Accelerator::Auto => Ok(if probe(qemu).is_ok() { Runs::Kvm } else { Runs::Emulation }),
        Accelerator::Kvm => probe(qemu).map(|()| Runs::Kvm).map_err(|why| {
            Error::new(format!("KVM does not work here: {why}"))
                .hint("leave --accelerator out, or write --accelerator tcg for emulation")
        }),
    }
}

/// Sets up a paused machine with the host's processor and ends it again. /dev/kvm and even
/// KVM_CREATE_VM are not enough: inside other virtual machines the processor's registers may not
/// be settable, which shows when QEMU sets them for the first time.
fn probe(qemu: &Path) -> Result<(), String> {
    let mut child = Command::new(qemu)
        .args(["-accel", "kvm", "-cpu", "host", "-machine", "q35", "-m", "64", "-nodefaults"])
        .args(["-display", "none", "-S", "-monitor", "stdio"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|cause| format!("cannot start {}: {cause}", qemu.display()))?;
    if let Some(mut monitor) = child.stdin.take() {
        // A machine that could not be set up does not listen; its exit status tells.
        let _ = monitor.write_all(b"quit\n");
    }
    let began = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(last_words(child, &status.to_string())),
            Ok(None) if began.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(20));
            }
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err("QEMU did not answer".to_owned());
            }
            Err(cause) => return Err(cause.to_string()),
        }
    }
}

fn last_words(mut child: std::process::Child, status: &str) -> String {
    use std::io::Read;
    let mut said = String::new();
    if let Some(mut errors) = child.stderr.take() {
        let _ = errors.read_to_string(&mut said);
    }
    let line = said.lines().find(|line| line.contains("rror") || line.contains("KVM"));
    line.or_else(|| said.lines().last()).map_or_else(
        || format!("QEMU ended with {status}"),
        |line| line.trim_start_matches("qemu-system-x86_64: ").to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stands in for QEMU.
    fn program(text: &str) -> tempfile::TempPath {
        use std::os::unix::fs::PermissionsExt;
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), format!("#!/bin/sh\n{text}\n")).unwrap();
        let path = file.into_temp_path();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn kvm_is_taken_where_a_machine_can_be_set_up_and_emulation_elsewhere() {
        let works = program("read line; [ \"$line\" = quit ]");
        assert_eq!(choose(Accelerator::Auto, &works), Ok(Runs::Kvm));
        let fails =
            program("echo 'qemu-system-x86_64: error: failed to set MSR 0x10a' >&2; exit 1");
        assert_eq!(choose(Accelerator::Auto, &fails), Ok(Runs::Emulation));
        let error = choose(Accelerator::Kvm, &fails).unwrap_err().to_string();
        assert!(error.contains("failed to set MSR 0x10a") && error.contains("tcg"), "{error}");
        assert_eq!(choose(Accelerator::Emulation, &fails), Ok(Runs::Emulation));
    }
}
