//! Limits and weights of disks.

use assay_facts::Available;

use super::{Binding, Limit, LimitHit};
use crate::amount::{bytes, percent, seconds};
use crate::usage::{DeviceIo, ResourceUsage};

/// A rate this near to its limit over the whole time counts as held.
const NEAR: f64 = 0.9;

/// One limit on one disk.
struct Rate<'l> {
    device: &'l str,
    what: Counted,
    limit: f64,
}

#[derive(Clone, Copy)]
enum Counted {
    ReadBytes,
    WriteBytes,
    ReadIos,
    WriteIos,
}

impl Counted {
    fn of(self, io: &DeviceIo) -> u64 {
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

/// The kernel counts no throttled requests, so the rate over the whole time is held against the
/// limit. A rate well below it may still have been held in a burst, which pressure hints at.
pub(super) fn max(limit: &Limit, used: &ResourceUsage) -> LimitHit {
    let rates = rates(limit);
    if rates.is_empty() {
        return LimitHit::new(Binding::DidNotBind, "no limit is set");
    }
    let io = match &used.io {
        Available::Value(io) if !io.devices.is_empty() || io.source == "io.stat" => io,
        Available::Value(_) => return LimitHit::missing("nobody counted I/O disk by disk"),
        Available::NotAvailable(why) => return LimitHit::missing(why),
    };
    let mut parts = Vec::new();
    let mut nearest: f64 = 0.0;
    for rate in &rates {
        let device = io.devices.iter().find(|device| device.device == rate.device);
        let done = device.map_or(0, |device| rate.what.of(device)) as f64 / used.wall_s.max(1e-6);
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
            format!("{figures}; a burst may have been held: {}", stall(used)),
        ),
        _ => LimitHit::new(Binding::DidNotBind, figures),
    }
}

/// A weight matters only while the group and others want the same disk.
pub(super) fn weight(used: &ResourceUsage) -> LimitHit {
    match &used.io_pressure {
        Available::Value(stall) if stall.some_s == 0.0 => {
            LimitHit::new(Binding::DidNotBind, "nothing contended: no task waited for a disk (PSI)")
        }
        Available::Value(_) => LimitHit::new(
            Binding::Undecided,
            format!("{}; whether for others or for the disk itself, no counter tells", stall(used)),
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
                if let (Some(what), Ok(limit)) = (counted(key), value.parse()) {
                    rates.push(Rate { device, what, limit });
                }
            }
        }
    }
    rates
}

fn counted(key: &str) -> Option<Counted> {
    match key {
        "rbps" | "blkio.throttle.read_bps_device" => Some(Counted::ReadBytes),
        "wbps" | "blkio.throttle.write_bps_device" => Some(Counted::WriteBytes),
        "riops" | "blkio.throttle.read_iops_device" => Some(Counted::ReadIos),
        "wiops" | "blkio.throttle.write_iops_device" => Some(Counted::WriteIos),
        _ => None,
    }
}
