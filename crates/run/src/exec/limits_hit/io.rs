//! I/O limits and weights.

use assay_host::facts::Available;

use super::{Binding, Limit, LimitHit};
use crate::exec::amount::{bytes, percent, seconds};
use crate::exec::usage::{DeviceIo, ResourceUsage};

/// A rate of at least this fraction of its limit over the whole run counts as limited.
const NEAR: f64 = 0.9;

/// One limit on one disk.
struct Rate<'l> {
    device: &'l str,
    what: Quantity,
    limit: f64,
}

#[derive(Clone, Copy)]
enum Quantity {
    ReadBytes,
    WriteBytes,
    ReadIos,
    WriteIos,
}

impl Quantity {
    fn count_of(self, io: &DeviceIo) -> u64 {
        match self {
            Self::ReadBytes => io.read_bytes,
            Self::WriteBytes => io.write_bytes,
            Self::ReadIos => io.read_ios,
            Self::WriteIos => io.write_ios,
        }
    }

    const fn verb(self) -> &'static str {
        match self {
            Self::ReadBytes | Self::ReadIos => "read",
            Self::WriteBytes | Self::WriteIos => "wrote",
        }
    }

    fn show(self, rate: f64) -> String {
        match self {
            Self::ReadBytes | Self::WriteBytes => format!("{}/s", bytes(rate as u64)),
            Self::ReadIos | Self::WriteIos => format!("{rate:.0} requests/s"),
        }
    }
}

/// The kernel counts no throttled requests, so the average rate is compared with the limit. A rate well
/// below it may still have been limited in a burst, which PSI hints at.
pub(super) fn max(limit: &Limit, used: &ResourceUsage) -> LimitHit {
    let rates = rates(limit);
    if rates.is_empty() {
        return LimitHit::new(Binding::DidNotBind, "no limit is set");
    }
    let io = match &used.io {
        Available::Value(io) if !io.devices.is_empty() || io.source == "io.stat" => io,
        Available::Value(_) => return LimitHit::missing("no file counted I/O by disk"),
        Available::NotAvailable(why) => return LimitHit::missing(why),
    };
    let mut parts = Vec::new();
    let mut nearest: f64 = 0.0;
    for rate in &rates {
        let device = io.devices.iter().find(|device| device.device == rate.device);
        let done =
            device.map_or(0, |device| rate.what.count_of(device)) as f64 / used.wall_s.max(1e-6);
        let name = device.map_or(rate.device, |device| device.name.as_str());
        nearest = nearest.max(done / rate.limit.max(1.0));
        parts.push(format!(
            "{name} {} {} of {} ({})",
            rate.what.verb(),
            rate.what.show(done),
            rate.what.show(rate.limit),
            percent(done / rate.limit.max(1.0))
        ));
    }
    let figures = parts.join(", ");
    let waited = used.io_pressure.value().is_some_and(|stall| stall.some_s > 0.0);
    match nearest {
        part if part >= NEAR => LimitHit::new(Binding::Bound, figures),
        part if part > 0.0 && waited => LimitHit::new(
            Binding::Undecided,
            format!("{figures}; a burst may have been limited: {}", stall(used)),
        ),
        _ => LimitHit::new(Binding::DidNotBind, figures),
    }
}

/// A weight matters only while the group and others compete for the same disk.
pub(super) fn weight(used: &ResourceUsage) -> LimitHit {
    match &used.io_pressure {
        Available::Value(stall) if stall.some_s == 0.0 => {
            LimitHit::new(Binding::DidNotBind, "nothing contended: no task waited for a disk (PSI)")
        }
        Available::Value(_) => LimitHit::new(
            Binding::Undecided,
            format!("{}; no counter shows whether for others or for the disk itself", stall(used)),
        ),
        Available::NotAvailable(why) => LimitHit::missing(why),
    }
}

fn stall(used: &ResourceUsage) -> String {
    let some = used.io_pressure.value().map_or(0.0, |stall| stall.some_s);
    format!("tasks waited for disks {} (PSI some)", seconds(some))
}

/// The limits in `io.max` (`8:0 rbps=1000 wiops=max`) or in one of v1's files (`8:0 1000`).
fn rates<'l>(limit: &Limit<'l>) -> Vec<Rate<'l>> {
    let mut rates = Vec::new();
    let mut files: Vec<(&'l str, &'l str)> = vec![(limit.file, limit.reads)];
    files.extend(limit.also.iter().map(|(file, reads)| (file.as_str(), reads.as_str())));
    for (file, reads) in files {
        for line in reads.lines() {
            let Some((device, rest)) = line.trim().split_once(' ') else { continue };
            for word in rest.split_whitespace() {
                let (key, value) = word.split_once('=').unwrap_or((file, word));
                if let (Some(what), Ok(limit)) = (quantity(key), value.parse()) {
                    rates.push(Rate { device, what, limit });
                }
            }
        }
    }
    rates
}

fn quantity(key: &str) -> Option<Quantity> {
    match key {
        "rbps" | "blkio.throttle.read_bps_device" => Some(Quantity::ReadBytes),
        "wbps" | "blkio.throttle.write_bps_device" => Some(Quantity::WriteBytes),
        "riops" | "blkio.throttle.read_iops_device" => Some(Quantity::ReadIos),
        "wiops" | "blkio.throttle.write_iops_device" => Some(Quantity::WriteIos),
        _ => None,
    }
}
