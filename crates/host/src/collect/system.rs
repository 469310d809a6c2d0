//! Kernel, distribution and virtualization.

use std::path::{Path, PathBuf};

use crate::facts::Available;
use assay_sys::kernel::Root;
use assay_sys::kernel::parse::{cpuinfo, keyed};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use crate::command;

fn text_or_unknown(root: &Root, path: &str) -> String {
    root.read_trimmed(path).unwrap_or_else(|_| "unknown".to_owned())
}

pub(super) fn host_name(root: &Root) -> String {
    text_or_unknown(root, "/proc/sys/kernel/hostname")
}

/// A hash that identifies this machine; `None` if it has no machine id.
#[must_use]
pub fn machine(root: &Root) -> Option<String> {
    let id = root.read_trimmed("/etc/machine-id").ok().filter(|id| !id.is_empty())?;
    let hash = Sha256::digest(format!("assay {id}"));
    Some(hash.iter().take(16).map(|byte| format!("{byte:02x}")).collect())
}

pub(super) fn release(root: &Root) -> String {
    text_or_unknown(root, "/proc/sys/kernel/osrelease")
}

/// `/proc/sys/kernel/arch` exists since Linux 6.1; before, the program's own architecture is the
/// kernel's for all 64-bit builds.
pub(super) fn architecture(root: &Root) -> String {
    root.read_trimmed("/proc/sys/kernel/arch").unwrap_or_else(|_| std::env::consts::ARCH.to_owned())
}

pub(super) fn distribution(root: &Root) -> String {
    ["/etc/os-release", "/usr/lib/os-release"]
        .iter()
        .filter_map(|path| root.read(path).ok())
        .find_map(|text| keyed::shell(&text, "PRETTY_NAME").map(str::to_owned))
        .unwrap_or_else(|| "unknown".to_owned())
}

/// The second of the four ids in `Uid:` is the effective one (proc_pid_status(5)).
pub(super) fn effective_user(root: &Root) -> u32 {
    const NOBODY: u32 = 65_534;
    let status = root.read("/proc/self/status").unwrap_or_default();
    keyed::colon(&status, "Uid")
        .and_then(|ids| ids.split_whitespace().nth(1)?.parse().ok())
        .unwrap_or(NOBODY)
}

/// The hypervisor, as reported by firmware, clock sources or CPU.
pub(super) fn virtual_machine(root: &Root) -> Option<String> {
    if let Ok(kind) = root.read_trimmed("/sys/hypervisor/type") {
        return Some(kind);
    }
    let info = cpuinfo::parse(&root.read("/proc/cpuinfo").unwrap_or_default());
    let clocks = root
        .read("/sys/devices/system/clocksource/clocksource0/available_clocksource")
        .unwrap_or_default();
    let vendor = root.read_trimmed("/sys/class/dmi/id/sys_vendor").unwrap_or_default();
    let by_clock = [("kvm-clock", "KVM"), ("hyperv_clocksource", "Hyper-V"), ("xen", "Xen")];
    let by_vendor = [("QEMU", "QEMU"), ("VMware", "VMware"), ("innotek", "VirtualBox")];
    by_clock
        .iter()
        .find(|(name, _)| clocks.contains(name))
        .or_else(|| by_vendor.iter().find(|(name, _)| vendor.contains(name)))
        .map(|(_, hypervisor)| (*hypervisor).to_owned())
        .or_else(|| by_device_tree(root))
        .or_else(|| info.hypervisor.then(|| "unknown hypervisor".to_owned()))
}

/// Guests of arm64 without firmware have neither DMI nor a CPU flag, but a device tree that hypervisors share
/// (`create_fdt` in QEMU's hw/arm/virt.c, which alone adds `fw-cfg`).
fn by_device_tree(root: &Root) -> Option<String> {
    const TREE: &str = "/proc/device-tree";
    let machine = root.read(format!("{TREE}/compatible")).ok()?;
    let is_qemu = |name: &String| name.starts_with("fw-cfg@");
    let found = root.list(TREE).unwrap_or_default().iter().any(is_qemu);
    let hypervisor = if found { "QEMU" } else { "unknown hypervisor" };
    machine.contains("linux,dummy-virt").then(|| hypervisor.to_owned())
}

/// The file exists when the kernel has PSI built in; while PSI is off (`psi=0`) every read fails with
/// EOPNOTSUPP.
pub(super) fn pressure(root: &Root) -> Available<bool> {
    match root.read("/proc/pressure/cpu") {
        Ok(_) => Available::Value(true),
        Err(error) if error.is(Errno::OPNOTSUPP) => Available::Value(false),
        Err(error) if error.is(Errno::NOENT) => {
            Available::NotAvailable("this kernel is built without CONFIG_PSI".to_owned())
        }
        Err(error) => Available::NotAvailable(error.to_string()),
    }
}

/// Whether the kernel was built with an MBR or GPT partition parser.
pub(super) fn parses_partitions(root: &Root) -> Available<bool> {
    let Some(config) = config(root) else {
        let reason = "the kernel's configuration is neither in /boot nor in /proc/config.gz";
        return Available::NotAvailable(reason.to_owned());
    };
    let set = |name: &str| config.lines().any(|line| line == format!("{name}=y"));
    Available::Value(set("CONFIG_MSDOS_PARTITION") || set("CONFIG_EFI_PARTITION"))
}

/// The kernel's configuration, if readable.
fn config(root: &Root) -> Option<String> {
    let release = release(root);
    let plain = [format!("/boot/config-{release}"), format!("/lib/modules/{release}/config")];
    plain
        .iter()
        .find_map(|path| root.read(path).ok())
        .or_else(|| unpacked(&root.resolve("/proc/config.gz")))
}

fn unpacked(path: &Path) -> Option<String> {
    let gzip: PathBuf = command::find("gzip")?;
    let arguments = [Path::new("-dc"), path];
    let output = path.exists().then(|| command::succeed(&gzip, &arguments, "").ok())??;
    String::from_utf8(output.stdout).ok()
}
