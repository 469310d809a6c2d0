//! `assay lab`: missing requirements are reported with a remedy, a guest that hangs or dies is ended and its
//! console shown, and real guests work.

pub(crate) mod fake;
mod guest;
mod killed;
mod probed;
mod shared;
mod systemd;
mod watched;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bench::Bench;
use crate::running::Ended;

/// Writes a shell script into a folder.
pub(crate) fn script(folder: &Path, name: &str, text: &str) {
    fs::create_dir_all(folder).unwrap();
    let path = folder.join(name);
    fs::write(&path, format!("#!/bin/sh\nPATH=/usr/bin:/bin\n{text}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A host whose programs are those of a folder, with a separate lab cache.
pub(crate) struct Host {
    pub(crate) bench: Bench,
}

/// Fake kernels in test caches, which no guest ever boots.
const RELEASE: &str = "6.12.9-amd64";

impl Host {
    fn with(programs: &[&str]) -> Self {
        let bench = Bench::aside();
        let programs_folder = bench.path("bin");
        fs::create_dir_all(&programs_folder).unwrap();
        for program in programs {
            // QEMU that fails is one without KVM.
            script(&programs_folder, program, "exit 1");
        }
        Self { bench }
    }

    /// With everything that a guest needs except its kernel.
    fn complete() -> Self {
        let host = Self::with(&["qemu-system-x86_64", "busybox", "depmod", "systemd-udevd"]);
        script(&host.cache().join("virtme-ng/bin"), "virtme-run", "exit 1");
        host
    }

    fn cache(&self) -> PathBuf {
        self.bench.path("cache")
    }

    fn program(&self, name: &str, text: &str) {
        script(&self.bench.path("bin"), name, text);
    }

    fn lay_out_kernel(&self) {
        let kernel = self.cache().join("kernels").join(RELEASE);
        let modules = kernel.join("lib/modules").join(RELEASE);
        fs::create_dir_all(&modules).unwrap();
        fs::create_dir_all(kernel.join("boot")).unwrap();
        fs::write(modules.join("modules.dep"), "").unwrap();
        fs::write(kernel.join("boot").join(format!("vmlinuz-{RELEASE}")), "").unwrap();
    }

    /// A command of the program, without arguments yet.
    pub(crate) fn command_of(&self, name: &str) -> Command {
        let mut command = self.bench.program();
        command.arg(name).env("PATH", self.bench.path("bin")).env("ASSAY_LAB_CACHE", self.cache());
        command
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.command_of("lab");
        command.args(arguments);
        command
    }

    fn lab(&self, arguments: &[&str]) -> Ended {
        self.bench.finish(self.command(arguments))
    }

    /// Asserts that the lab ends with code 4 and these messages, and leaves no folder of a guest.
    fn refuses(&self, arguments: &[&str], says: &[&str]) {
        let ended = self.lab(arguments);
        ended.assert_code(4);
        ended.assert_says(says);
        let guests = assay_test_support::entries(&self.cache().join("guests"));
        assert!(guests.is_empty(), "{guests:?}");
    }
}

const TRUE: [&str; 3] = ["exec", "--", "true"];

#[test]
fn a_missing_program_is_named_with_its_package() {
    let says = |programs: &[&str], words: &[&str]| Host::with(programs).refuses(&TRUE, words);
    says(&[], &["qemu-system-x86_64", "apt-get install", "scripts/setup"]);
    says(&["qemu-system-x86_64"], &["busybox-static", "apt-get install"]);
    // The folders of administrators' programs are searched as well, so depmod is often found.
    says(
        &["qemu-system-x86_64", "busybox", "depmod", "systemd-udevd"],
        &["virtme-ng", "pip install virtme-ng", "scripts/setup"],
    );
}

#[test]
fn a_kernel_unknown_to_apt_is_refused_with_the_remedy() {
    let host = Host::complete();
    host.program("apt-cache", "exit 0");
    host.refuses(&TRUE, &["apt has no kernel of the series 6.12", "apt-get update", "--kernel"]);
    host.refuses(
        &["exec", "--kernel", "/no/such/vmlinuz-1", "--", "true"],
        &["/no/such/vmlinuz-1", "No such file"],
    );
}

#[test]
fn a_kernel_that_cannot_be_downloaded_is_refused_and_no_draft_stays() {
    let host = Host::complete();
    let listed = format!("printf 'Package: linux-image-{RELEASE}\\nVersion: 6.12.9-1\\n'");
    host.program("apt-cache", &listed);
    host.program("apt-get", "echo 'E: Temporary failure in name resolution' >&2; exit 100");
    host.refuses(&TRUE, &["Temporary failure in name resolution", "is there a network"]);
    let kernels = assay_test_support::entries(&host.cache().join("kernels"));
    assert!(kernels.iter().all(|path| path.ends_with("lock")), "{kernels:?}");
}
