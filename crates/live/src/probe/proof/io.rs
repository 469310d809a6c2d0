//! Reads of a disk: no more in a second. Nothing is written, so caps of writes stay unproven.

use std::path::{Path, PathBuf};

use assay_conform::{Interval, Running, Window};
use assay_sys::kernel::Error;

use super::Proof;
use crate::probe::beside::{Beside, COPY, TWIN};

const MIB: f64 = 1_048_576.0;
/// A copy reads no more in a second.
const MOST: f64 = 2.0 * MIB;
/// A quarter of a MiB: several in each window of a copy.
const BLOCK: f64 = 65_536.0;
/// Of the cap, since tokens are handed out in slices of 100 ms (blk-throttle.c).
const SLACK: f64 = 0.15;
/// The part of a disk that is read.
const SIZE: u64 = 64 << 20;

/// A cap of reads of a disk, in bytes a second.
#[derive(Debug, Clone, PartialEq)]
struct Cap {
    device: String,
    bytes: f64,
}

pub(super) fn max(beside: &Beside<'_>, group: &Path) -> Result<Proof, Error> {
    let file = if beside.is_v2() { "io.max" } else { "blkio.throttle.read_bps_device" };
    let text = beside.root.read(group.join(file))?;
    let Some(cap) = caps(&text).into_iter().next() else {
        return Ok(Proof::not_provable("a proof reads only, and no line caps the bytes of reads"));
    };
    let node = node(beside, &cap.device)?;
    let rate = cap.bytes.min(MOST);
    let words = format!("io file={} size={SIZE} block={BLOCK} depth=4", node.display());
    let free = rate_of(&mut beside.start(TWIN, &words)?, beside, 2)?;
    match beside.is_v2() {
        true => beside.write(COPY, file, &format!("{} rbps={rate:.0}", cap.device))?,
        false => beside.write(COPY, file, &format!("{} {rate:.0}", cap.device))?,
    }
    let capped = rate_of(&mut beside.start(COPY, &words)?, beside, 4)?;
    Ok(judge(&cap.device, rate, &capped, &free))
}

/// Caps of the bytes of reads: lines `8:0 rbps=1000 wbps=max` on v2, `8:0 1000` on v1.
fn caps(text: &str) -> Vec<Cap> {
    let cap = |line: &str| {
        let (device, values) = line.split_once(' ')?;
        let bytes = match values.contains('=') {
            true => values.split_whitespace().find_map(|pair| pair.strip_prefix("rbps="))?,
            false => values.trim(),
        };
        Some(Cap { device: device.to_owned(), bytes: bytes.parse().ok()? })
    };
    text.lines().filter_map(cap).collect()
}

/// The device file of `MAJOR:MINOR`.
fn node(beside: &Beside<'_>, device: &str) -> Result<PathBuf, Error> {
    let file = Path::new("/sys/dev/block").join(device).join("uevent");
    let text = beside.root.read(&file)?;
    let name = text.lines().find_map(|line| line.strip_prefix("DEVNAME="));
    let name =
        name.ok_or_else(|| Error::unexpected("understand", &file, "it names no device file"))?;
    Ok(Path::new("/dev").join(name))
}

/// Bytes in windows of half a second.
fn rate_of(probe: &mut Running, beside: &Beside<'_>, windows: usize) -> Result<Vec<Window>, Error> {
    probe.ask("go")?;
    beside.pause(0.3)?;
    beside.windows(windows, 0.5, || {
        probe.send("count");
        Ok(vec![probe.value::<u64>("count ")? * BLOCK as u64])
    })
}

fn judge(device: &str, cap: f64, capped: &[Window], free: &[Window]) -> Proof {
    let rate = |windows: &[Window]| {
        let rates: Vec<f64> =
            windows.iter().map(|window| window.grew[0] / window.seconds / MIB).collect();
        Interval::of_mean(&rates)
    };
    let (cap, read, free) = (cap / MIB, rate(capped), rate(free).mean);
    let seen = format!("copy with {cap:.1} MiB/s of {device}: read {read} MiB/s");
    let twin = format!("twin without a cap: {free:.1} MiB/s");
    if read.low > cap * (1.0 + SLACK) {
        return Proof::not_enforced(format!("a copy with {cap:.1} MiB/s read {:.1}", read.mean))
            .with(seen)
            .with(twin);
    }
    if free >= 1.5 * cap && read.mean <= cap * (1.0 + SLACK) {
        return Proof::enforced(seen).with(twin);
    }
    Proof::not_provable("the disk gave the twin no more than the cap").with(seen).with(twin)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::Verdict;

    #[test]
    fn caps_of_reads_are_found_on_both_versions() {
        let cap = |device: &str, bytes| Cap { device: device.to_owned(), bytes };
        assert_eq!(caps("8:0 rbps=1000 wbps=max riops=max wiops=max\n"), [cap("8:0", 1000.0)]);
        assert_eq!(caps("8:0 rbps=max wbps=1000 riops=max wiops=max\n"), []);
        assert_eq!(caps("8:16 4096\n"), [cap("8:16", 4096.0)]);
    }

    #[test]
    fn a_cap_needs_a_twin_that_read_more() {
        let windows = |mib: f64| vec![Window { seconds: 0.5, grew: vec![mib * MIB / 2.0] }; 4];
        let verdict = |read, free| judge("8:0", 2.0 * MIB, &windows(read), &windows(free)).verdict;
        assert_eq!(verdict(2.0, 300.0), Verdict::Enforced);
        assert_eq!(verdict(300.0, 300.0), Verdict::NotEnforced);
        assert_eq!(verdict(1.0, 1.0), Verdict::NotProvable);
    }
}
