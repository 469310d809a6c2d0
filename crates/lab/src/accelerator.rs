//! Detects whether KVM can actually run a guest here.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::spec::Accelerator;

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

/// Resolves the requested accelerator.
pub(crate) fn choose(requested: Accelerator, qemu: &Path) -> Result<CpuMode, Error> {
    match requested {
        Accelerator::Emulation => Ok(CpuMode::Emulation),
        Accelerator::Auto => {
            Ok(if probe(qemu).is_ok() { CpuMode::Kvm } else { CpuMode::Emulation })
        }
        Accelerator::Kvm => probe(qemu).map(|()| CpuMode::Kvm).map_err(|why| {
            Error::new(format!("KVM does not work here: {why}"))
                .hint("omit --accelerator, or use --accelerator tcg for emulation")
        }),
    }
}

/// Creates a paused machine with the host's processor and ends it. /dev/kvm and even KVM_CREATE_VM
/// are not sufficient: inside other virtual machines some processor registers may not be settable,
/// which shows when QEMU first sets them.
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
        // A machine that could not be created does not read commands; its exit status shows it.
        let _ = monitor.write_all(b"quit\n");
    }
    let began = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(error_line(child, &status.to_string())),
            Ok(None) if began.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(20));
            }
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err("QEMU did not respond".to_owned());
            }
            Err(cause) => return Err(cause.to_string()),
        }
    }
}

fn error_line(mut child: std::process::Child, status: &str) -> String {
    use std::io::Read;
    let mut stderr = String::new();
    if let Some(mut errors) = child.stderr.take() {
        let _ = errors.read_to_string(&mut stderr);
    }
    let line = stderr.lines().find(|line| line.contains("rror") || line.contains("KVM"));
    line.or_else(|| stderr.lines().last()).map_or_else(
        || format!("QEMU ended with {status}"),
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
    fn kvm_is_used_if_a_machine_can_be_created_and_emulation_otherwise() {
        let works = program("read line; [ \"$line\" = quit ]");
        assert_eq!(choose(Accelerator::Auto, &works), Ok(CpuMode::Kvm));
        let fails =
            program("echo 'qemu-system-x86_64: error: failed to set MSR 0x10a' >&2; exit 1");
        assert_eq!(choose(Accelerator::Auto, &fails), Ok(CpuMode::Emulation));
        let error = choose(Accelerator::Kvm, &fails).unwrap_err().to_string();
        assert!(error.contains("failed to set MSR 0x10a") && error.contains("tcg"), "{error}");
        assert_eq!(choose(Accelerator::Emulation, &fails), Ok(CpuMode::Emulation));
    }
}
