//! The specification of a guest.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use assay_study::{DiskOverride, disk_size};
use assay_sys::units::Bytes;

use crate::layout::GuestLayout;

/// The kernel of a guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KernelChoice {
    /// The newest kernel of this series packaged by Debian: `5.10`, `6.12`.
    Debian(String),
    /// The newest kernel that any release of Debian packages.
    DebianNewest,
    /// A kernel image: `vmlinuz-RELEASE` with its modules next to it, or any `bzImage` with the folder of its
    /// modules.
    Image {
        /// The image.
        image: PathBuf,
        /// The folder of its modules.
        modules: Option<PathBuf>,
    },
}

impl KernelChoice {
    /// The same with this folder of modules, if it is an image that names none.
    #[must_use]
    pub fn with_modules(self, folder: Option<&Path>) -> Self {
        match self {
            Self::Image { image, modules: None } => {
                Self::Image { image, modules: folder.map(Path::to_owned) }
            }
            other => other,
        }
    }
}

/// How a guest's processors are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Accelerator {
    /// KVM if it works, otherwise emulation.
    #[default]
    Auto,
    /// KVM only.
    Kvm,
    /// Emulation in software (QEMU's TCG), on any host.
    Emulation,
}

/// The distance between two nodes, in both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Distance {
    /// One node.
    pub from: u32,
    /// The other node.
    pub to: u32,
    /// As in `node*/distance`: 10 is local, at most 254.
    pub value: u32,
}

/// The specification of a guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuestSpec {
    /// Its kernel.
    pub kernel: KernelChoice,
    /// Its control group layout.
    pub layout: GuestLayout,
    /// Number of NUMA nodes; CPUs and memory are divided evenly among them.
    pub nodes: u32,
    /// Distances between nodes; the default is 20.
    pub distances: Vec<Distance>,
    /// Number of CPUs.
    pub cpus: u32,
    /// Memory size.
    pub memory: Bytes,
    /// Scratch disks, in order.
    pub disks: Vec<DiskOverride>,
    /// Size of a swap disk.
    pub swap: Option<Bytes>,
    /// How its processors are run.
    pub accelerator: Accelerator,
    /// Time limit from the guest's start, after which it is ended.
    pub timeout: Duration,
}

impl Default for GuestSpec {
    fn default() -> Self {
        Self {
            kernel: KernelChoice::Debian("6.1".to_owned()),
            layout: GuestLayout::V2,
            nodes: 1,
            distances: vec![],
            cpus: 2,
            memory: Bytes::mebi(2048),
            disks: vec![],
            swap: None,
            accelerator: Accelerator::Auto,
            timeout: Duration::from_secs(1800),
        }
    }
}

/// With less, kernel and shared files leave too little memory.
const LEAST_MEMORY: Bytes = Bytes::mebi(256);

/// Limit of QEMU's q35 machine in Debian 12 (`-smp`, maxcpus).
const MOST_CPUS: u32 = 288;

/// MAX_NODES of QEMU (include/sysemu/numa.h).
const MOST_NODES: u32 = 128;

impl GuestSpec {
    /// Validates the specification; the error says what to use instead.
    pub fn check(&self) -> Result<(), String> {
        if self.cpus == 0 || self.cpus > MOST_CPUS {
            return Err(format!("a guest has 1 to {MOST_CPUS} CPUs, not {}", self.cpus));
        }
        if self.memory < LEAST_MEMORY {
            return Err(format!("a guest needs {LEAST_MEMORY} of memory, not {}", self.memory));
        }
        if !self.memory.get().is_multiple_of(1 << 20) {
            return Err(format!("memory of {} is not a whole number of MiB", self.memory));
        }
        for disk in &self.disks {
            if matches!(disk, DiskOverride::Block(_) | DiskOverride::Loop(_)) {
                return Err("a guest cannot use a disk or image of the host; use \
                            `nvme:2GiB`, `virtio:2GiB` or `null_blk:iops=500,depth=32`"
                    .to_owned());
            }
        }
        self.check_nodes()
    }

    fn check_nodes(&self) -> Result<(), String> {
        let nodes = self.nodes;
        if nodes == 0 || nodes > MOST_NODES {
            return Err(format!("a guest has 1 to {MOST_NODES} nodes, not {nodes}"));
        }
        if self.cpus < nodes {
            return Err(format!(
                "{nodes} nodes need at least {nodes} CPUs, not {}; use --cpus {nodes}",
                self.cpus
            ));
        }
        for distance in &self.distances {
            let Distance { from, to, value } = *distance;
            if from >= nodes || to >= nodes || from == to {
                return Err(format!(
                    "a distance from node {from} to node {to} needs two of the nodes 0 to {}",
                    nodes - 1
                ));
            }
            // ACPI's SLIT reserves 0 to 9, and 255 means "unreachable".
            if !(11..=254).contains(&value) {
                return Err(format!("a distance must be 11 to 254, not {value}"));
            }
        }
        Ok(())
    }

    /// The size of a disk's image file on the host; `None` for a disk that the guest creates.
    pub(crate) fn file_size(disk: &DiskOverride) -> Option<Bytes> {
        match disk {
            DiskOverride::Nvme(size) | DiskOverride::Virtio(size) => Some(*size),
            DiskOverride::NullBlk { .. } | DiskOverride::Loop(_) | DiskOverride::Block(_) => None,
        }
    }

    /// Memory of each node, in MiB; the last node gets the remainder.
    pub(crate) fn node_memory(&self) -> Vec<u64> {
        divide(self.memory.get() >> 20, self.nodes)
    }

    /// First and last CPU of each node.
    pub(crate) fn node_cpus(&self) -> Vec<(u64, u64)> {
        let mut next = 0;
        divide(u64::from(self.cpus), self.nodes)
            .into_iter()
            .map(|count| {
                let first = next;
                next += count;
                (first, next - 1)
            })
            .collect()
    }
}

fn divide(whole: u64, parts: u32) -> Vec<u64> {
    let parts = u64::from(parts.max(1));
    (0..parts)
        .map(|part| whole / parts + if part == parts - 1 { whole % parts } else { 0 })
        .collect()
}

impl FromStr for KernelChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_series = |series: &str| {
            let parts: Vec<&str> = series.split('.').collect();
            parts.len() == 2 && parts.iter().all(|part| part.parse::<u32>().is_ok())
        };
        match text.strip_prefix("debian-") {
            Some("newest") => Ok(Self::DebianNewest),
            Some(series) if is_series(series) => Ok(Self::Debian(series.to_owned())),
            None if text.contains('/') => {
                let (image, modules) = match text.split_once(':') {
                    Some((image, modules)) => (image, Some(modules.into())),
                    None => (text, None),
                };
                Ok(Self::Image { image: image.into(), modules })
            }
            _ => Err(
                "unknown kernel; use `debian-6.12` (or another series), `debian-newest`, or the \
                      path of an image: `boot/vmlinuz-RELEASE`, `./bzImage:MODULES`"
                    .to_owned(),
            ),
        }
    }
}

impl FromStr for Accelerator {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "kvm" => Ok(Self::Kvm),
            "tcg" => Ok(Self::Emulation),
            _ => Err("unknown accelerator; use `auto`, `kvm` or `tcg` (emulation)".to_owned()),
        }
    }
}

impl FromStr for Distance {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("invalid distance `{text}`; use the form `0,1=31`");
        let (pair, value) = text.split_once('=').ok_or_else(wrong)?;
        let (from, to) = pair.split_once(',').ok_or_else(wrong)?;
        let number = |text: &str| text.trim().parse::<u32>().map_err(|_| wrong());
        Ok(Self { from: number(from)?, to: number(to)?, value: number(value)? })
    }
}

/// Parses the size of a swap disk.
pub fn parse_swap(text: &str) -> Result<Bytes, String> {
    disk_size("swap", text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(spec: &GuestSpec) -> String {
        spec.check().unwrap_err()
    }

    #[test]
    fn a_kernel_is_a_debian_series_or_a_path() {
        assert_eq!("debian-6.12".parse(), Ok(KernelChoice::Debian("6.12".to_owned())));
        let image = |modules: Option<&str>| KernelChoice::Image {
            image: "/boot/vmlinuz".into(),
            modules: modules.map(PathBuf::from),
        };
        assert_eq!("/boot/vmlinuz".parse(), Ok(image(None)));
        assert_eq!("/boot/vmlinuz:./out".parse(), Ok(image(Some("./out"))));
        assert_eq!("debian-newest".parse(), Ok(KernelChoice::DebianNewest));
        assert_eq!(image(None).with_modules(Some(Path::new("a"))), image(Some("a")));
        assert_eq!(image(Some("b")).with_modules(Some(Path::new("a"))), image(Some("b")));
        for text in ["debian-", "debian-6", "debian-6.12.100", "ubuntu", "6.1"] {
            assert!(text.parse::<KernelChoice>().unwrap_err().contains("debian-6.1"), "{text}");
        }
    }

    #[test]
    fn memory_and_cpus_are_divided_among_nodes_completely() {
        let spec =
            GuestSpec { nodes: 3, cpus: 5, memory: Bytes::mebi(1000), ..GuestSpec::default() };
        assert_eq!(spec.check(), Ok(()));
        assert_eq!(spec.node_memory(), [333, 333, 334]);
        assert_eq!(spec.node_cpus(), [(0, 0), (1, 1), (2, 4)]);
    }

    #[test]
    fn impossible_guests_are_refused_with_a_remedy() {
        let spec = GuestSpec::default;
        assert!(refused(&GuestSpec { nodes: 4, ..spec() }).contains("--cpus 4"));
        assert!(refused(&GuestSpec { cpus: 0, ..spec() }).contains("1 to"));
        assert!(refused(&GuestSpec { nodes: 0, ..spec() }).contains("nodes"));
        assert!(refused(&GuestSpec { memory: Bytes::mebi(64), ..spec() }).contains("256 MiB"));
        let apart =
            |text: &str| GuestSpec { nodes: 2, distances: vec![text.parse().unwrap()], ..spec() };
        assert_eq!(apart("0,1=31").check(), Ok(()));
        assert!(refused(&apart("0,2=31")).contains("nodes 0 to 1"));
        assert!(refused(&apart("1,1=31")).contains("two of the nodes"));
        assert!(refused(&apart("0,1=10")).contains("11 to 254"));
        assert!("0-1=3".parse::<Distance>().unwrap_err().contains("0,1=31"));
    }
}
