//! Detects whether KVM can actually run a guest here.

use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use assay_kernel::program::{self, Limits};
use assay_kernel::signal;

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
