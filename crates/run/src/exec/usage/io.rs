//! Bytes and requests from and to disks, from whichever file of this host counts them.

use assay_host::facts::Available;
use assay_sys::kernel::child::ChildrenUsage;
use assay_sys::kernel::counters::{blkio, io_stat};
use serde::Serialize;

use crate::exec::counters::{Counters, devices_of_blkio, disk_name};

/// I/O of the group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Io {
    /// Bytes read, all disks together.
    pub read_bytes: u64,
    /// Bytes written, all disks together.
    pub write_bytes: u64,
    /// I/O by disk, where the source distinguishes disks.
    pub devices: Vec<DeviceIo>,
    /// The source: a file of the group, or `getrusage`, which covers the command and the children it
    /// has waited for, and counts a write when a page is dirtied.
    pub source: String,
}

/// I/O on one disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DeviceIo {
    /// `MAJOR:MINOR`.
    pub device: String,
    /// The kernel's name of the disk.
    pub name: String,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Read requests.
    pub read_ios: u64,
    /// Write requests.
    pub write_ios: u64,
}

pub(super) fn read(counters: &Counters, children: ChildrenUsage) -> Available<Io> {
    let devices = match counters.text("io", "io.stat") {
        Available::Value(text) => return Available::Value(total(v2(counters, &text), "io.stat")),
        Available::NotAvailable(_) => v1(counters),
    };
    match devices {
        Some((devices, source)) => Available::Value(total(devices, source)),
        None => Available::Value(Io {
            read_bytes: children.read_bytes,
            write_bytes: children.write_bytes,
            devices: Vec::new(),
            source: "getrusage".to_owned(),
        }),
    }
}

fn total(devices: Vec<DeviceIo>, source: &str) -> Io {
    Io {
        read_bytes: devices.iter().map(|device| device.read_bytes).sum(),
        write_bytes: devices.iter().map(|device| device.write_bytes).sum(),
        devices,
        source: source.to_owned(),
    }
}

fn v2(counters: &Counters, text: &str) -> Vec<DeviceIo> {
    let devices = text.lines().filter_map(|line| line.split(' ').next());
    devices
        .filter(|device| device.contains(':'))
        .map(|device| {
            let (bytes, ios) = io_stat(text.as_bytes(), device);
            DeviceIo {
                device: device.to_owned(),
                name: disk_name(counters.root, device),
                read_bytes: bytes.read,
                write_bytes: bytes.write,
                read_ios: ios.read,
                write_ios: ios.write,
            }
        })
        .collect()
}

/// On v1 the throttling layer counts, since 6.10 only while some group has a limit on the disk; else
/// bfq, on the disks that it schedules. Where neither has a line, nothing counted.
fn v1(counters: &Counters) -> Option<(Vec<DeviceIo>, &'static str)> {
    ["blkio.throttle", "blkio.bfq"].into_iter().find_map(|policy| {
        let file = |what: &str| counters.text("io", &format!("{policy}.{what}"));
        let bytes = file("io_service_bytes_recursive");
        let ios = file("io_serviced_recursive");
        let (bytes, ios) = (bytes.value()?, ios.value()?);
        let devices: Vec<DeviceIo> = devices_of_blkio(bytes)
            .into_iter()
            .map(|device| {
                let (bytes, ios) =
                    (blkio(bytes.as_bytes(), &device), blkio(ios.as_bytes(), &device));
                DeviceIo {
                    name: disk_name(counters.root, &device),
                    device,
                    read_bytes: bytes.read,
                    write_bytes: bytes.write,
                    read_ios: ios.read,
                    write_ios: ios.write,
                }
            })
            .collect();
        (!devices.is_empty()).then_some((devices, policy))
    })
}
