//! The virtme-run command line of a guest.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use assay_study::DiskOverride;

use crate::accelerator::CpuMode;
use crate::kernel::Kernel;
use crate::script::{SWAP, WORK_DISK, serial};
use crate::spec::GuestSpec;
use crate::task::ReadOnlyMount;

/// Everything that determines the command line.
pub(crate) struct Machine<'m> {
    pub(crate) spec: &'m GuestSpec,
    pub(crate) kernel: &'m Kernel,
    pub(crate) runs: CpuMode,
    /// The host folder that the guest may write to.
    pub(crate) share: PathBuf,
    pub(crate) console: PathBuf,
    /// Host folders mounted read-only in the guest.
    pub(crate) mounts: &'m [ReadOnlyMount],
    /// Image files of the guest's disks on the host, each with its number.
    pub(crate) disks: &'m [(usize, PathBuf)],
    pub(crate) swap: Option<&'m Path>,
    pub(crate) work: Option<&'m Path>,
    /// Interactive instead of running a command.
    pub(crate) interactive: bool,
}

/// Path of the shared folder in the guest.
const SHARE: &str = "run/assay/lab";

/// Folders that are writable in the guest, in its memory. /run, /dev/shm and others are in memory
/// in any case; the root itself stays read-only.
const WRITABLE: [&str; 8] = ["/etc", "/home", "/opt", "/root", "/srv", "/tmp", "/usr", "/var"];

/// Kernel command line. The console is a separate virtual one: the first serial port belongs to
/// virtme-run, and the serial driver (8250) is a console on only one port, the first on the command
/// line. CPU vulnerability mitigations, security modules and five-level page tables are irrelevant
/// here and expensive under emulation.
const KERNEL_OPTIONS: [&str; 6] =
    ["loglevel=6", "console=hvc0", "mitigations=off", "lsm=capability", "audit=0", "no5lvl"];

/// Modules for QEMU devices and processor instructions that no guest uses: udev would load all of
/// them, which takes half of a boot under emulation.
const UNUSED: [&str; 32] = [
    "acpi_cpufreq",
    "aesni_intel",
    "ahci",
    "button",
    "ccp",
    "cdrom",
    "crc32_pclmul",
    "crct10dif_pclmul",
    "evdev",
    "ghash_clmulni_intel",
    "i2c_i801",
    "i2c_smbus",
    "i6300esb",
    "iTCO_vendor_support",
    "iTCO_wdt",
    "intel_pmc_bxt",
    "intel_rapl_msr",
    "joydev",
    "kvm_amd",
    "kvm_intel",
    "lpc_ich",
    "pcspkr",
    "powernow_k8",
    "psmouse",
    "qemu_fw_cfg",
    "serio_raw",
    "sg",
    "sha1_ssse3",
    "sha256_ssse3",
    "sha512_ssse3",
    "sr_mod",
    "watchdog",
];

/// Default distance (ACPI 6.4, 5.2.17: the usual one of a remote node).
const REMOTE: u32 = 20;

impl Machine<'_> {
    /// The arguments of virtme-run.
    pub(crate) fn arguments(&self) -> Vec<OsString> {
        let mut arguments = Arguments::default();
        arguments.path("--kimg", &self.kernel.image);
        arguments.pair("--mods", "auto");
        // 9p is part of QEMU; virtiofs would need a daemon that may be missing or of another
        // version.
        arguments.flags(["--force-9p", "--force-initramfs", "--disable-microvm"]);
        arguments.pair("--name", "assay-lab");
        arguments.pair("--memory", format!("{}M", self.spec.memory.get() >> 20));
        arguments.pair("--cpus", self.spec.cpus.to_string());
        if self.runs == CpuMode::Emulation {
            arguments.flags(["--disable-kvm"]);
        }
        self.nodes(&mut arguments);
        self.folders(&mut arguments);
        if self.interactive {
            arguments.pair("--shell", format!("/{SHARE}/shell"));
        } else {
            arguments.pair("--script-sh", format!("sh /{SHARE}/init"));
        }
        for option in KERNEL_OPTIONS {
            arguments.pair("-a", option);
        }
        arguments.pair("-a", format!("modprobe.blacklist={}", UNUSED.join(",")));
        self.devices(&mut arguments);
        arguments.0
    }

    fn nodes(&self, arguments: &mut Arguments) {
        let nodes = self.spec.nodes;
        if nodes < 2 {
            return;
        }
        for (memory, (first, last)) in
            self.spec.node_memory().into_iter().zip(self.spec.node_cpus())
        {
            arguments.pair("--numa", format!("{memory}M,cpus={first}-{last}"));
        }
        for from in 0..nodes {
            for to in (from + 1)..nodes {
                let named = self.spec.distances.iter().rfind(|distance| {
                    (distance.from, distance.to) == (from, to)
                        || (distance.to, distance.from) == (from, to)
                });
                let value = named.map_or(REMOTE, |distance| distance.value);
                arguments.pair("--numa-distance", format!("src={from},dst={to},val={value}"));
            }
        }
    }

    fn folders(&self, arguments: &mut Arguments) {
        arguments.pair("--rwdir", format!("{SHARE}={}", self.share.display()));
        // The guest finds an installed host kernel at its usual path; any other is mounted at its
        // host path, which may be below a folder that the guest hides (/var/cache).
        if !self.kernel.modules.starts_with("/lib") && !self.kernel.modules.starts_with("/usr/lib")
        {
            arguments.path("--rodir", &self.kernel.modules);
        }
        for mount in self.mounts {
            let guest = mount.guest.strip_prefix("/").unwrap_or(&mount.guest);
            arguments.pair("--rodir", format!("{}={}", guest.display(), mount.host.display()));
        }
        for folder in WRITABLE {
            arguments.pair("--overlay-rwdir", folder);
        }
    }

    /// virtme-run passes everything after `--qemu-opts` to QEMU.
    fn devices(&self, arguments: &mut Arguments) {
        arguments.flags(["--qemu-opts"]);
        // An attacker who escapes into QEMU can start no process and gain no privileges there (QEMU
        // 2.11 and later).
        arguments.pair("-sandbox", "on,spawn=deny,elevateprivileges=deny");
        // CPUs that are emulated in turns: with a thread each, one may go on in code that another has just patched (QEMU
        // 7.2), and a kernel that attaches to a tracepoint then panics or loops at its own breakpoint.
        if self.runs == CpuMode::Emulation {
            arguments.pair("-accel", "tcg,thread=single");
        }
        // A node is a socket, whose CPUs share a cache; QEMU merges this with virtme-run's `-smp`,
        // and accepts it only if all sockets have the same number of CPUs.
        if self.spec.nodes > 1 && self.spec.cpus.is_multiple_of(self.spec.nodes) {
            arguments.pair("-smp", format!("sockets={}", self.spec.nodes));
        }
        arguments
            .pair("-chardev", format!("file,id=assay-console,path={}", self.console.display()));
        arguments.pair("-device", "virtio-serial-pci,id=assay-consoles");
        arguments.pair("-device", "virtconsole,bus=assay-consoles.0,chardev=assay-console");
        for (number, file) in self.disks {
            let model = match self.spec.disks.get(number - 1) {
                Some(DiskOverride::Nvme(_)) => "nvme",
                _ => "virtio-blk-pci",
            };
            arguments.drive(&serial(*number), model, file);
        }
        if let Some(file) = self.swap {
            arguments.drive(SWAP, "virtio-blk-pci", file);
        }
        if let Some(file) = self.work {
            arguments.drive(WORK_DISK, "virtio-blk-pci", file);
        }
    }
}

#[derive(Default)]
struct Arguments(Vec<OsString>);

impl Arguments {
    fn flags<const N: usize>(&mut self, arguments: [&str; N]) {
        self.0.extend(arguments.map(OsString::from));
    }

    fn pair(&mut self, option: &str, value: impl Into<OsString>) {
        self.0.push(option.into());
        self.0.push(value.into());
    }

    fn path(&mut self, option: &str, path: &Path) {
        self.pair(option, path.as_os_str());
    }

    /// A disk in a file. The file is temporary, so it need not reach the host's disk
    /// (`cache=unsafe`).
    fn drive(&mut self, serial: &str, model: &str, file: &Path) {
        self.pair(
            "-drive",
            format!("if=none,id={serial},format=raw,cache=unsafe,file={}", file.display()),
        );
        self.pair("-device", format!("{model},drive={serial},serial={serial}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Distance;
    use assay_sys::units::Bytes;
    use std::sync::LazyLock;

    fn kernel() -> Kernel {
        Kernel {
            release: "6.1.0-56-amd64".to_owned(),
            image: "/cache/kernels/x/boot/vmlinuz-x".into(),
            modules: "/cache/kernels/x/lib/modules".into(),
        }
    }

    fn line<'m>(spec: &'m GuestSpec, change: impl FnOnce(&mut Machine<'m>)) -> String {
        static KERNEL: LazyLock<Kernel> = LazyLock::new(kernel);
        let mut machine = Machine {
            spec,
            kernel: &KERNEL,
            runs: CpuMode::Emulation,
            share: "/cache/guests/1-1/share".into(),
            console: "/cache/guests/1-1/console.log".into(),
            mounts: &[],
            disks: &[],
            swap: None,
            work: None,
            interactive: false,
        };
        change(&mut machine);
        let arguments: Vec<String> =
            machine.arguments().iter().map(|word| word.to_string_lossy().into_owned()).collect();
        arguments.join(" ")
    }

    #[test]
    fn a_guest_can_write_to_one_folder_of_the_host_only() {
        let line = line(&GuestSpec::default(), |_| ());
        assert_eq!(line.matches("-rwdir").count(), 1 + WRITABLE.len(), "{line}");
        assert_eq!(line.matches(" --rwdir").count(), 1, "{line}");
        assert!(line.contains("--rwdir run/assay/lab=/cache/guests/1-1/share"), "{line}");
        assert!(line.contains("--rodir /cache/kernels/x/lib/modules"), "{line}");
        assert!(!line.contains("--rw "), "{line}");
        assert!(line.contains("--disable-kvm") && line.contains("--memory 2048M"), "{line}");
        assert!(!line.contains("--numa"), "{line}");
    }

    #[test]
    fn nodes_divide_cpus_and_memory_and_have_distances() {
        let spec = GuestSpec {
            nodes: 3,
            cpus: 3,
            memory: Bytes::mebi(3072),
            distances: vec![Distance { from: 2, to: 0, value: 31 }],
            ..GuestSpec::default()
        };
        let line = line(&spec, |machine| machine.runs = CpuMode::Kvm);
        assert!(line.contains("--numa 1024M,cpus=0-0 --numa 1024M,cpus=1-1"), "{line}");
        assert!(line.contains("src=0,dst=1,val=20"), "{line}");
        assert!(line.contains("src=0,dst=2,val=31"), "{line}");
        assert!(!line.contains("--disable-kvm"), "{line}");
    }

    #[test]
    fn disks_and_swap_come_last_with_serial_numbers() {
        let spec = GuestSpec { disks: vec!["nvme:2GiB".parse().unwrap()], ..GuestSpec::default() };
        let disks = [(1, PathBuf::from("/f/disk-1"))];
        let line = line(&spec, |machine| {
            machine.disks = &disks;
            machine.swap = Some(Path::new("/f/swap"));
        });
        let (_, devices) = line.split_once("--qemu-opts ").unwrap();
        assert!(devices.contains("file=/f/disk-1 -device nvme,drive=assay-disk-1"), "{line}");
        assert!(devices.contains("virtio-blk-pci,drive=assay-swap,serial=assay-swap"), "{line}");
        let console = " -chardev file,id=assay-console,path=/cache/guests/1-1/console.log ";
        assert!(devices.starts_with("-sandbox on,") && devices.contains(console), "{line}");
    }
}
