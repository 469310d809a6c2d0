//! Whose turn it is under BFQ: the programs that sample it.

use std::path::Path;

use assay_bpf::{BFQ, BFQ_MANY, Programs};
use assay_host::facts::Available;
use assay_sys::kernel::{Error, Root};

use super::disk::WatchedDisk;
use super::groups::Groups;
use crate::{Bfq, BfqCounted, DISKS, DiskNames, Layout};

/// Types of the module, where BFQ is one: then those of the kernel lack it.
const MODULE: &str = "/sys/kernel/btf/bfq";

/// The programs for all disks under BFQ.
pub(super) struct Turns {
    programs: Programs,
    /// Which of the watched disks are under BFQ: their device numbers.
    devices: Vec<(u32, u32)>,
    /// Their positions among all watched disks.
    numbers: Vec<usize>,
    /// How many groups are watched.
    watched: u32,
}

impl Turns {
    /// Loads them if a disk is under BFQ.
    pub(super) fn load(
        root: &Root,
        disks: &[WatchedDisk],
        groups: &Groups,
        layout: Layout,
    ) -> Available<Self> {
        let (numbers, devices): (Vec<usize>, Vec<(u32, u32)>) = disks
            .iter()
            .enumerate()
            .filter(|(_, disk)| disk.scheduler == "bfq")
            .map(|(number, disk)| (number, (disk.major, disk.minor)))
            .unzip();
        if numbers.is_empty() {
            return Available::NotAvailable("no disk is under BFQ".to_owned());
        }
        if root.exists(MODULE) {
            let reason = "BFQ is a module, whose types the kernel's own lack";
            return Available::NotAvailable(reason.to_owned());
        }
        let programs = super::load_for(root, layout, [BFQ, BFQ_MANY]).and_then(|programs| {
            groups.write(&programs)?;
            Ok(programs)
        });
        match programs {
            Ok(programs) => {
                let watched = groups.names.watched as u32;
                Available::Value(Self { programs, devices, numbers, watched })
            }
            Err(error) => Available::NotAvailable(error.to_string()),
        }
    }

    /// Writes `struct settings` of `programs/bfq.bpf.c`.
    pub(super) fn enable(&self, enabled: u32) -> Result<(), Error> {
        let mut numbers = vec![enabled, self.devices.len() as u32, self.watched];
        numbers.extend(self.devices.iter().flat_map(|(major, minor)| [*major, *minor]));
        numbers.resize(3 + DISKS * 2, 0);
        let settings: Vec<u8> = numbers.into_iter().flat_map(u32::to_ne_bytes).collect();
        self.programs.map("settings")?.set(&[0; 4], &settings)
    }

    pub(super) fn read(&self) -> Result<TurnsRead, Error> {
        let memory = self.programs.map(".bss")?.get(&[0; 4])?;
        let bytes = memory.len();
        let counted = BfqCounted::parse(memory).ok_or_else(|| {
            let path = Path::new("the memory of the eBPF programs");
            Error::unexpected("read", path, format!("it has {bytes} bytes"))
        })?;
        Ok(TurnsRead { counted, numbers: self.numbers.clone() })
    }
}

/// What they counted.
pub(super) struct TurnsRead {
    counted: BfqCounted,
    numbers: Vec<usize>,
}

/// The turns at one of the watched disks.
pub(super) fn at_disk(
    turns: &Available<TurnsRead>,
    disk: &WatchedDisk,
    number: usize,
    names: &DiskNames,
) -> Available<Bfq> {
    let turns = match turns {
        _ if disk.scheduler != "bfq" => {
            return Available::NotAvailable(format!("the scheduler is {}", disk.scheduler));
        }
        Available::Value(turns) => turns,
        Available::NotAvailable(reason) => return Available::NotAvailable(reason.clone()),
    };
    match turns.numbers.iter().position(|one| *one == number) {
        Some(position) => Available::Value(turns.counted.disk(position, |class| names.name(class))),
        None => Available::NotAvailable("it was not under BFQ at the start".to_owned()),
    }
}
