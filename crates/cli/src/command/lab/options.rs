//! Command-line options that describe a guest.

use std::path::PathBuf;
use std::time::Duration;

use assay_lab::{Accelerator, Distance, GuestLayout, GuestSpec, KernelChoice, parse_swap};
use assay_study::DiskOverride;
use assay_sys::units::Bytes;
use clap::Args;

#[derive(Debug, Args)]
#[command(next_help_heading = "Guest")]
pub(crate) struct GuestArguments {
    /// Kernel: debian-6.12, ./bzImage:MODULES
    ///
    /// `debian-5.10`, `debian-6.12` (any series), `debian-newest`, or the path of an image with its
    /// modules.
    #[arg(long, value_name = "KERNEL", default_value = "debian-6.12")]
    kernel: KernelChoice,
    /// Folder with the modules of the image
    #[arg(long, value_name = "DIR")]
    modules: Option<PathBuf>,
    /// cgroup layout: v1, v2 or hybrid
    #[arg(long, value_name = "LAYOUT", default_value = "v2")]
    cgroup: GuestLayout,
    /// NUMA nodes
    ///
    /// CPUs and memory are divided evenly.
    #[arg(long, value_name = "N", default_value_t = 1)]
    nodes: u32,
    /// Distance of two nodes, as `0,1=31`
    ///
    /// May be repeated; by default 20.
    #[arg(long, value_name = "A,B=N")]
    distance: Vec<Distance>,
    /// CPUs
    ///
    /// By default 2, or one per node if that is more.
    #[arg(long, value_name = "N")]
    cpus: Option<u32>,
    /// Memory
    #[arg(long, value_name = "SIZE", default_value = "2GiB")]
    memory: Bytes,
    /// Size of a swap disk; none by default
    #[arg(long, value_name = "SIZE", value_parser = parse_swap)]
    swap: Option<Bytes>,
    /// kvm, tcg (emulation) or auto
    #[arg(long, value_name = "NAME", default_value = "auto")]
    accelerator: Accelerator,
    /// End the guest after this time
    #[arg(long, value_name = "DURATION", default_value = "30min",
          value_parser = assay_sys::units::parse_duration)]
    timeout: Duration,
}

impl GuestArguments {
    /// The specification of a guest with these disks.
    pub(super) fn spec(&self, disks: &[DiskOverride]) -> GuestSpec {
        GuestSpec {
            kernel: self.kernel.clone().with_modules(self.modules.as_deref()),
            layout: self.cgroup,
            nodes: self.nodes,
            distances: self.distance.clone(),
            cpus: self.cpus.unwrap_or_else(|| self.nodes.max(2)),
            memory: self.memory,
            disks: disks.to_vec(),
            swap: self.swap,
            accelerator: self.accelerator,
            timeout: self.timeout,
        }
    }
}
