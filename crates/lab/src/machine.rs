//! The command line of virtme-run that starts a guest.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use assay_study::DiskChoice;

use crate::accelerator::Runs;
use crate::kernel::Kernel;
use crate::script::{SWAP, Shown, WORK_DISK, serial};
use crate::spec::GuestSpec;

/// Everything that the command line depends on.
pub(crate) struct Machine<'m> {
    pub(crate) spec: &'m GuestSpec,
    pub(crate) kernel: &'m Kernel,
    pub(crate) runs: Runs,
    /// The folder of the host that the guest may write to.
    pub(crate) share: PathBuf,
    pub(crate) console: PathBuf,
    /// Folders of the host at other places in the guest, read-only.
    pub(crate) shown: &'m [Shown],
    /// Files of the host behind the guest's disks, each with its number.
    pub(crate) disks: &'m [(usize, PathBuf)],
    pub(crate) swap: Option<&'m Path>,
    pub(crate) work: Option<&'m Path>,
    /// A person at a terminal instead of a command.
    pub(crate) interactive: bool,
}

/// Where the shared folder is in the guest.
const SHARE: &str = "run/assay/lab";

/// Folders that can be written in the guest, in memory of its own. /run, /dev/shm and others are
/// file systems in memory anyhow; the root itself stays read-only.
const WRITABLE: [&str; 8] = ["/etc", "/home", "/opt", "/root", "/srv", "/tmp", "/usr", "/var"];

/// What the kernel is told. The console goes to a virtual one of its own: the first serial port
/// belongs to virtme-run, and the driver of serial ports (8250) is a console on one port alone, the
/// first that is named. Defences against other users of a processor, security modules and a fifth level
/// of page tables bear on nothing that is studied here and cost much under emulation.
const KERNEL_OPTIONS: [&str; 6] =
    ["loglevel=6", "console=hvc0", "mitigations=off", "lsm=capability", "audit=0", "no5lvl"];

/// Modules for devices of QEMU's machine and instructions of its processor that no guest uses:
/// udev would load them all, which takes half of a boot under emulation.
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

/// A distance that is not named (ACPI 6.4, 5.2.17: the usual one of a remote node).
const REMOTE: u32 = 20;

impl Machine<'_> {
    /// The arguments of virtme-run.
    pub(crate) fn arguments(&self) -> Vec<OsString> {
        let mut words = Words::default();
        words.path("--kimg", &self.kernel.image);
        words.pair("--mods", "auto");
        // 9p is part of QEMU; virtiofs would need a daemon that may be missing or of another age.
        words.all(["--force-9p", "--force-initramfs", "--disable-microvm"]);
        words.pair("--name", "assay-lab");
        words.pair("--memory", format!("{}M", self.spec.memory.get() >> 20));
        words.pair("--cpus", self.spec.cpus.to_string());
        if self.runs == Runs::Emulation {
            words.all(["--disable-kvm"]);
        }
        self.nodes(&mut words);
        self.folders(&mut words);
        if self.interactive {
            words.pair("--shell", format!("/{SHARE}/shell"));
        } else {
            words.pair("--script-sh", format!("sh /{SHARE}/init"));
        }
        for option in KERNEL_OPTIONS {
            words.pair("-a", option);
        }
        words.pair("-a", format!("modprobe.blacklist={}", UNUSED.join(",")));
        self.devices(&mut words);
        words.0
    }

    fn nodes(&self, words: &mut Words) {
        let nodes = self.spec.nodes;
        if nodes < 2 {
            return;
        }
        for (memory, (first, last)) in
            self.spec.node_memory().into_iter().zip(self.spec.node_cpus())
        {
            words.pair("--numa", format!("{memory}M,cpus={first}-{last}"));
        }
        for from in 0..nodes {
            for to in (from + 1)..nodes {
                let named = self.spec.distances.iter().rfind(|distance| {
                    (distance.from, distance.to) == (from, to)
                        || (distance.to, distance.from) == (from, to)
                });
                let value = named.map_or(REMOTE, |distance| distance.value);
                words.pair("--numa-distance", format!("src={from},dst={to},val={value}"));
            }
        }
    }

    fn folders(&self, words: &mut Words) {
        words.pair("--rwdir", format!("{SHARE}={}", self.share.display()));
        // A kernel of the host itself is where the guest looks for it; any other is shown at its
        // own place, which may lie below a folder that the guest hides (/var/cache).
        if !self.kernel.modules.starts_with("/lib") && !self.kernel.modules.starts_with("/usr/lib")
        {
            words.path("--rodir", &self.kernel.modules);
        }
        for shown in self.shown {
            let guest = shown.guest.strip_prefix("/").unwrap_or(&shown.guest);
            words.pair("--rodir", format!("{}={}", guest.display(), shown.host.display()));
        }
        for folder in WRITABLE {
            words.pair("--overlay-rwdir", folder);
        }
    }

    /// virtme-run takes what follows `--qemu-opts` to the end.
    fn devices(&self, words: &mut Words) {
        words.all(["--qemu-opts"]);
        // Whoever escapes into QEMU starts nothing and gains nothing there (QEMU 2.11 and later).
        words.pair("-sandbox", "on,spawn=deny,elevateprivileges=deny");
        // A node is a socket, whose CPUs share a cache; QEMU merges this with virtme-run's own
        // `-smp`, and takes it only where every socket has as many CPUs as the others.
        if self.spec.nodes > 1 && self.spec.cpus.is_multiple_of(self.spec.nodes) {
            words.pair("-smp", format!("sockets={}", self.spec.nodes));
        }
        words.pair("-chardev", format!("file,id=assay-console,path={}", self.console.display()));
        words.pair("-device", "virtio-serial-pci,id=assay-consoles");
        words.pair("-device", "virtconsole,bus=assay-consoles.0,chardev=assay-console");
        for (number, file) in self.disks {
            let model = match self.spec.disks.get(number - 1) {
                Some(DiskChoice::Nvme(_)) => "nvme",
                _ => "virtio-blk-pci",
            };
            words.drive(&serial(*number), model, file);
        }
        if let Some(file) = self.swap {
            words.drive(SWAP, "virtio-blk-pci", file);
        }
        if let Some(file) = self.work {
            words.drive(WORK_DISK, "virtio-blk-pci", file);
        }
    }
}

#[derive(Default)]
struct Words(Vec<OsString>);

impl Words {
    fn all<const N: usize>(&mut self, words: [&str; N]) {
        self.0.extend(words.map(OsString::from));
    }

    fn pair(&mut self, option: &str, value: impl Into<OsString>) {
        self.0.push(option.into());
        self.0.push(value.into());
    }

    fn path(&mut self, option: &str, path: &Path) {
        self.pair(option, path.as_os_str());
    }

    /// A disk on a file. The file is new and goes with the guest, so nothing needs to reach the
    /// host's own disk in time (`cache=unsafe`).
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
    use assay_units::Bytes;
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
            runs: Runs::Emulation,
            share: "/cache/guests/1-1/share".into(),
            console: "/cache/guests/1-1/console.log".into(),
            shown: &[],
            disks: &[],
            swap: None,
            work: None,
            interactive: false,
        };
        change(&mut machine);
        let words: Vec<String> =
            machine.arguments().iter().map(|word| word.to_string_lossy().into_owned()).collect();
        words.join(" ")
    }

    #[test]
    fn a_guest_writes_to_one_folder_of_the_host_and_to_no_other() {
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
    fn nodes_divide_cpus_and_memory_and_have_a_distance_each() {
        let spec = GuestSpec {
            nodes: 3,
            cpus: 3,
            memory: Bytes::mebi(3072),
            distances: vec![Distance { from: 2, to: 0, value: 31 }],
            ..GuestSpec::default()
        };
        let line = line(&spec, |machine| machine.runs = Runs::Kvm);
        assert!(line.contains("--numa 1024M,cpus=0-0 --numa 1024M,cpus=1-1"), "{line}");
        assert!(line.contains("src=0,dst=1,val=20"), "{line}");
        assert!(line.contains("src=0,dst=2,val=31"), "{line}");
        assert!(!line.contains("--disable-kvm"), "{line}");
    }

    #[test]
    fn disks_and_swap_come_last_with_serial_numbers_of_their_own() {
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
