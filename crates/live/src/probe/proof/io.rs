//! Reads of a disk, and writes to it: no more in a second. Something is written only into a file without a name, where somebody allows it.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use assay_conform::{Interval, Running, Window};
use assay_host::knob::{device_lines, field};
use assay_sys::kernel::process::Membership;
use assay_sys::kernel::{Error, Root};
use rustix::fs::{major, minor};

use super::Proof;
use crate::probe::beside::{Beside, COPY, TWIN};
use crate::probe::limit::Limit;

const MIB: f64 = 1_048_576.0;
/// Of the cap, since tokens are handed out in slices of 100 ms (blk-throttle.c).
const SLACK: f64 = 0.15;
/// The part of a disk that is read.
const SIZE: u64 = 64 << 20;
/// Requests in flight. A twin begins so many at once, this many times as often as a copy may.
const DEPTH: u64 = 4;

/// What a line caps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Bytes of reads.
    Bytes,
    /// Reads.
    Reads,
    /// Bytes of writes.
    WrittenBytes,
    /// Writes.
    Writes,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Bytes, Self::Reads, Self::WrittenBytes, Self::Writes];

    const fn key(self) -> &'static str {
        match self {
            Self::Bytes => "rbps",
            Self::Reads => "riops",
            Self::WrittenBytes => "wbps",
            Self::Writes => "wiops",
        }
    }

    const fn is_of_writes(self) -> bool {
        matches!(self, Self::WrittenBytes | Self::Writes)
    }

    const fn is_of_bytes(self) -> bool {
        matches!(self, Self::Bytes | Self::WrittenBytes)
    }

    /// The size of a request, and how many a copy may have in a second: several in each window, and soon over, since a process
    /// that waits for a disk does not end.
    const fn requests(self) -> (u64, f64) {
        if self.is_of_bytes() { (65_536, 32.0) } else { (4_096, 64.0) }
    }

    /// The value of the copy's cap.
    const fn cap(self) -> f64 {
        let (block, rate) = self.requests();
        if self.is_of_bytes() { block as f64 * rate } else { rate }
    }

    fn shown(self, rate: f64) -> String {
        match self {
            Self::Bytes => format!("{:.1} MiB/s", rate / MIB),
            Self::Reads => format!("{rate:.0} reads/s"),
            Self::WrittenBytes => format!("{:.1} MiB/s written", rate / MIB),
            Self::Writes => format!("{rate:.0} writes/s"),
        }
    }
}

/// A cap of a disk, in a second.
#[derive(Debug, Clone, PartialEq)]
struct Cap {
    device: String,
    kind: Kind,
    rate: f64,
}

/// Whether a text has any cap, of reads or writes.
pub(crate) fn is_capped(text: &str) -> bool {
    device_lines(text).next().is_some()
}

/// What a level above a group has less than the group itself.
pub(crate) fn tighter_above(limit: Limit, own: &str, above: &str) -> Option<String> {
    let above = caps(limit, above);
    let is_same = |one: &Cap, other: &Cap| one.device == other.device && one.kind == other.kind;
    caps(limit, own).iter().find_map(|own| {
        let tighter = above.iter().find(|above| is_same(own, above) && above.rate < own.rate)?;
        let [tighter, own_rate] = [tighter, own].map(|cap| cap.kind.shown(cap.rate));
        Some(format!("{tighter} of {}, less than its {own_rate}", own.device))
    })
}

/// Whether a copy would have to wait for its disk at a cap above it.
pub(crate) fn is_too_slow(limit: Limit, own: &str, above: &str) -> bool {
    let own = caps(limit, own);
    let is_slow = |cap: &Cap| cap.rate < 2.0 * cap.kind.cap();
    let is_used = |cap: &Cap| own.iter().any(|own| own.device == cap.device);
    caps(limit, above).iter().any(|cap| is_slow(cap) && is_used(cap))
}

/// Tries the caps of the first disk.
pub(super) fn max(beside: &Beside<'_>, group: &Path, limit: Limit) -> Result<Proof, Error> {
    let file = limit.file(beside.is_v2()).unwrap_or_default();
    let all = caps(limit, &beside.root.read(group.join(file))?);
    let Some(first) = all.first() else {
        return Ok(Proof::not_provable("no line caps reads or writes"));
    };
    let of_first = all.iter().filter(|cap| cap.device == first.device);
    let tried = of_first.map(|cap| {
        let tried = target(beside, cap).and_then(|target| try_cap(beside, file, cap, &target));
        (cap.kind, tried)
    });
    let proof = together(tried.collect());
    let has_others = all.iter().any(|cap| cap.device != first.device);
    Ok(if has_others { proof.with(format!("only {} was tried", first.device)) } else { proof })
}

/// What all caps of a disk show. One that cannot be tried takes nothing from the others.
fn together(tried: Vec<(Kind, Result<Proof, Error>)>) -> Proof {
    let (mut proofs, mut left_out) = (Vec::new(), Vec::new());
    for (kind, tried) in tried {
        match tried {
            Ok(proof) => proofs.push(proof),
            Err(why) => left_out.push(format!("{} was not tried: {why}", kind.key())),
        }
    }
    match proofs.is_empty() {
        true => Proof::not_provable(left_out.join("; ")),
        false => left_out.into_iter().fold(Proof::worst(proofs), Proof::with),
    }
}

/// What a probe reads or writes.
#[derive(Debug)]
struct Opened {
    path: PathBuf,
    /// A file without a name ends with the process that holds it.
    _holder: Option<Running>,
}

/// The disk itself to be read; to be written, a file where somebody allows that.
fn target(beside: &Beside<'_>, cap: &Cap) -> Result<Opened, Error> {
    if !cap.kind.is_of_writes() {
        return Ok(Opened { path: node(beside.root, &cap.device)?, _holder: None });
    }
    let Some(folder) = &beside.may.write_in else {
        let why = "a proof writes only where --write-in allows it";
        return Err(Error::unexpected("write to", Path::new(&cap.device), why));
    };
    let refused = |why: &str| Error::unexpected("write in", folder, why);
    // A file system that does not answer keeps the process that asks it, even from SIGKILL. That is left behind, in none of the
    // groups that must be removed.
    let patience = HOLDING * beside.patience;
    let words = [
        "hold".to_owned(),
        format!("in={}", folder.display()),
        format!("size={SIZE}"),
        format!("patience={patience}"),
    ];
    let membership = Membership::open(beside.root, &[])?;
    let mut holder = Running::start(beside.program, &words, &membership)?;
    let line = holder.line().map_err(|_| refused("its file system does not answer"))?;
    let line = line.ok_or_else(|| holder.ended())?;
    let (number, path) = held(&line).map_err(refused)?;
    // Caps are those of whole disks, and a file system may lie on a part of one.
    let whole = Path::new("/sys/dev/block").join(number).join("../dev");
    let whole = beside.root.read_trimmed(whole).unwrap_or_default();
    match [number, &whole].contains(&cap.device.as_str()) {
        true => Ok(Opened { path: path.into(), _holder: Some(holder) }),
        false => {
            let folder = folder.display();
            Err(refused(&format!("{folder} is on {number}, not on {}", cap.device)))
        }
    }
}

/// The part of a probe's life in which a file system must answer: some seconds.
const HOLDING: f64 = 0.1;

/// The device and the path of a held file, or why there is none.
fn held(line: &str) -> Result<(&str, &str), &str> {
    line.strip_prefix("held ").and_then(|line| line.split_once(' ')).ok_or(line)
}

fn try_cap(beside: &Beside<'_>, file: &str, cap: &Cap, target: &Opened) -> Result<Proof, Error> {
    let (block, pace) = (cap.kind.requests().0, cap.kind.requests().1 * DEPTH as f64);
    let words = format!(
        "io file={} size={SIZE} block={block} depth={DEPTH} pace={pace} write={}",
        target.path.display(),
        u8::from(cap.kind.is_of_writes())
    );
    let (rate, unit) = (cap.kind.cap(), if cap.kind.is_of_bytes() { block } else { 1 });
    let free = rate_of(&mut beside.start_opened(TWIN, &words)?, beside, unit, 2)?;
    match beside.is_v2() {
        true => {
            let all = Kind::ALL.map(|kind| match kind == cap.kind {
                true => format!("{}={rate:.0}", kind.key()),
                false => format!("{}=max", kind.key()),
            });
            beside.write(COPY, file, &format!("{} {}", cap.device, all.join(" ")))?;
        }
        false => beside.write(COPY, file, &format!("{} {rate:.0}", cap.device))?,
    }
    let capped = rate_of(&mut beside.start_opened(COPY, &words)?, beside, unit, 4)?;
    Ok(judge(&cap.device, cap.kind, &capped, &free))
}

/// Lines `8:0 rbps=1000 wbps=max` on v2, `8:0 1000` on v1.
fn caps(limit: Limit, text: &str) -> Vec<Cap> {
    let only = if limit == Limit::WriteMax { Kind::WrittenBytes } else { Kind::Bytes };
    let cap = |device: &str, values: &str, kind: Kind| {
        let rate = match values.contains('=') {
            true => field(values, kind.key())?,
            false => Some(values).filter(|_| kind == only)?,
        };
        Some(Cap { device: device.to_owned(), kind, rate: rate.parse().ok()? })
    };
    device_lines(text)
        .flat_map(|(device, values)| Kind::ALL.map(|kind| cap(device, values, kind)))
        .flatten()
        .collect()
}

/// The device file of `MAJOR:MINOR`.
pub(super) fn node(root: &Root, device: &str) -> Result<PathBuf, Error> {
    let file = Path::new("/sys/dev/block").join(device).join("uevent");
    let text = root.read(&file)?;
    let name = text.lines().find_map(|line| line.strip_prefix("DEVNAME="));
    let name =
        name.ok_or_else(|| Error::unexpected("understand", &file, "it names no device file"))?;
    let path = Path::new("/dev").join(name);
    let number = std::fs::metadata(&path).map(|node| node.rdev()).unwrap_or(0);
    if format!("{}:{}", major(number), minor(number)) != device {
        return Err(Error::unexpected("use", &path, format!("it is not {device}")));
    }
    Ok(path)
}

/// Reads in windows, each counted as so many.
fn rate_of(
    probe: &mut Running,
    beside: &Beside<'_>,
    unit: u64,
    windows: usize,
) -> Result<Vec<Window>, Error> {
    probe.ask("go")?;
    beside.pause(0.3)?;
    beside.windows(windows, 0.4, || {
        probe.send("count");
        Ok(vec![probe.value::<u64>("count ")? * unit])
    })
}

fn judge(device: &str, kind: Kind, capped: &[Window], free: &[Window]) -> Proof {
    let rate = |windows: &[Window]| {
        let rates: Vec<f64> =
            windows.iter().map(|window| window.grew[0] / window.seconds).collect();
        Interval::of_mean(&rates)
    };
    let (cap, read, free) = (kind.cap(), rate(capped), rate(free).mean);
    let [cap_text, read_text, free_text] = [cap, read.mean, free].map(|rate| kind.shown(rate));
    let seen = format!("copy with {cap_text} of {device}: {read_text}");
    let twin = format!("twin without a cap: {free_text}");
    if read.low > cap * (1.0 + SLACK) {
        return Proof::not_enforced(format!("a copy with {cap_text} had {read_text}"))
            .with(seen)
            .with(twin);
    }
    if free >= 1.5 * cap && (0.5 * cap..=cap * (1.0 + SLACK)).contains(&read.mean) {
        return Proof::enforced(seen).with(twin);
    }
    let why = match free >= 1.5 * cap {
        true => "something else than the cap held the copy",
        false => "the disk gave the twin no more than the cap",
    };
    Proof::not_provable(why).with(seen).with(twin)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::Verdict;

    #[test]
    fn caps_are_found_on_both_versions() {
        let cap = |device: &str, kind, rate| Cap { device: device.to_owned(), kind, rate };
        let of = |text: &str| caps(Limit::IoMax, text);
        assert_eq!(
            of("8:0 rbps=1000 wbps=max riops=7 wiops=max\n"),
            [cap("8:0", Kind::Bytes, 1000.0), cap("8:0", Kind::Reads, 7.0)]
        );
        assert_eq!(of("8:0 rbps=max wbps=9\n"), [cap("8:0", Kind::WrittenBytes, 9.0)]);
        assert_eq!(of("8:16 4096\n"), [cap("8:16", Kind::Bytes, 4096.0)]);
        let of = caps(Limit::WriteMax, "8:16 4096\n");
        assert_eq!(of, [cap("8:16", Kind::WrittenBytes, 4096.0)]);
    }

    #[test]
    fn a_level_above_counts_for_the_same_disk_and_kind_only() {
        let above = "8:0 rbps=1000 wbps=max riops=max wiops=max\n";
        let of = |own: &str| tighter_above(Limit::IoMax, own, above).is_some();
        assert!(of("8:0 rbps=2000 riops=max"));
        assert!(!of("8:0 rbps=500") && !of("8:0 riops=9") && !of("8:16 rbps=2000"));
        let is_slow = |own: &str| is_too_slow(Limit::IoMax, own, above);
        assert!(is_slow("8:0 riops=9") && !is_slow("8:16 rbps=500"));
        assert!(!is_too_slow(Limit::IoMax, "8:0 rbps=500", "8:0 rbps=9000000 riops=max"));
    }

    #[test]
    fn a_cap_needs_a_twin_that_read_more() {
        let windows = |mib: f64| vec![Window { seconds: 0.5, grew: vec![mib * MIB / 2.0] }; 4];
        let verdict =
            |read, free| judge("8:0", Kind::Bytes, &windows(read), &windows(free)).verdict;
        assert_eq!(verdict(2.0, 8.0), Verdict::Enforced);
        assert_eq!(verdict(8.0, 8.0), Verdict::NotEnforced);
        assert_eq!(verdict(1.0, 1.0), Verdict::NotProvable);
        assert_eq!(verdict(0.1, 8.0), Verdict::NotProvable);
    }

    #[test]
    fn a_cap_that_cannot_be_tried_takes_nothing_from_the_others() {
        let failed = || Err(Error::unexpected("use", Path::new("/dev/sdb"), "it is gone"));
        let proof = together(vec![
            (Kind::WrittenBytes, failed()),
            (Kind::Bytes, Ok(Proof::enforced("held"))),
        ]);
        assert_eq!(proof.verdict, Verdict::Enforced);
        assert!(
            proof.measured[1].starts_with("wbps was not tried: cannot use /dev/sdb"),
            "{proof:?}"
        );
        let none = together(vec![(Kind::Bytes, failed())]);
        assert_eq!(none.verdict, Verdict::NotProvable);
        assert!(none.reason.starts_with("rbps was not tried: "), "{none:?}");
    }

    #[test]
    fn a_device_file_with_another_number_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        for number in ["1:3", "8:16"] {
            let device = folder.path().join("sys/dev/block").join(number);
            std::fs::create_dir_all(&device).unwrap();
            std::fs::write(device.join("uevent"), "MAJOR=1\nDEVNAME=null\n").unwrap();
        }
        let root = Root::at(folder.path());
        assert_eq!(node(&root, "1:3").unwrap(), Path::new("/dev/null"));
        let error = node(&root, "8:16").unwrap_err().to_string();
        assert!(error.contains("/dev/null") && error.contains("it is not 8:16"), "{error}");
    }
}
