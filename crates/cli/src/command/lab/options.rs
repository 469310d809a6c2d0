//! What a guest is to be, on the command line.

use std::time::Duration;

use assay_lab::{Accelerator, Distance, GuestLayout, GuestSpec, KernelChoice, parse_swap};
use assay_study::DiskChoice;
use assay_units::Bytes;
use clap::Args;

#[derive(Debug, Args)]
#[command(next_help_heading = "Guest")]
pub(crate) struct GuestArguments {
    /// The kernel: `debian-6.1`, `debian-6.12`, or the path of a vmlinuz with its modules
    #[arg(long, value_name = "KERNEL", default_value = "debian-6.12")]
    kernel: KernelChoice,
    /// The layout of control groups: `v1`, `v2` or `hybrid`
    #[arg(long, value_name = "LAYOUT", default_value = "v2")]
    cgroup: GuestLayout,
    /// NUMA nodes; CPUs and memory are divided evenly
    #[arg(long, value_name = "N", default_value_t = 1)]
    nodes: u32,
    /// The distance of two nodes, as `0,1=31`; may be repeated; 20 by default
    #[arg(long, value_name = "A,B=DISTANCE")]
    distance: Vec<Distance>,
    /// CPUs; 2, or one a node where that is more
    #[arg(long, value_name = "N")]
    cpus: Option<u32>,
    /// Memory
    #[arg(long, value_name = "SIZE", default_value = "2GiB", value_parser = bytes)]
    memory: Bytes,
    /// A swap disk of this size
    #[arg(long, value_name = "SIZE", value_parser = parse_swap)]
    swap: Option<Bytes>,
    /// `kvm`, `tcg` (emulation), or `auto` for KVM where it works
    #[arg(long, value_name = "NAME", default_value = "auto")]
    accelerator: Accelerator,
    /// End the guest after this long
    #[arg(long, value_name = "DURATION", default_value = "30min", value_parser = duration)]
    timeout: Duration,
}

impl GuestArguments {
    /// The guest, with these disks.
    pub(super) fn spec(&self, disks: &[DiskChoice]) -> GuestSpec {
        GuestSpec {
            kernel: self.kernel.clone(),
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

fn bytes(text: &str) -> Result<Bytes, String> {
    text.parse().map_err(|error: assay_units::UnitError| error.to_string())
}

fn duration(text: &str) -> Result<Duration, String> {
    assay_units::parse_duration(text).map_err(|error| error.to_string())
}
