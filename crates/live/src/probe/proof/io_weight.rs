//! The part of a disk: only a scheduler that knows weights divides it, or iocost.

use std::path::Path;
use std::time::Instant;

use assay_conform::Window;
use assay_host::knob::{self, device_lines, field};
use assay_sys::kernel::parse::choice;
use assay_sys::kernel::{Error, Root, counters};

use super::{Proof, io, weight};
use crate::probe::Verdict;
use crate::probe::beside::{Beside, COPY, TWIN};

/// So that a group beside them with the usual weight of 100 loses less than a third of the disk, and BFQ leaves each more than
/// one of few requests: it has its weight's part of them (docs/findings/bfq-cap).
const LOW: u64 = 10;

/// The scheduler that divides by weight.
const BFQ: &str = "bfq";

/// The files that it reads: the first that has a weight for a disk counts. `io.weight` is iocost's where both are built in.
const OF_BFQ: [&str; 3] = ["io.bfq.weight", "blkio.bfq.weight_device", "blkio.bfq.weight"];
const OF_IOCOST: &str = "io.weight";

/// The weight of a group that nobody has set.
const USUAL: u64 = 100;

/// What the weight of a group does.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Part {
    /// By it bfq divides a disk that the group uses.
    Of(Divided),
    /// It has no effect, and why.
    Lost(String),
    /// Why that is unknown.
    Unknown(String),
}

/// A disk under bfq.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Divided {
    disk: String,
    /// The group's file that says the weight.
    file: &'static str,
    weight: u64,
}

/// Whether a group has a weight, of all disks or of one.
pub(crate) fn is_set(root: &Root, group: &Path) -> bool {
    let differs = |text: String| {
        let has_own = device_lines(&text).next().is_some();
        has_own || knob::weight(&text).is_some_and(|weight| weight != USUAL)
    };
    OF_BFQ.iter().chain([&OF_IOCOST]).any(|file| root.read(group.join(file)).is_ok_and(differs))
}

/// Which of the disks of a group its weight divides: it has none if nothing divides any of them by weight, or what divides them reads
/// another file.
pub(crate) fn part(root: &Root, mount: &Path, group: &Path, is_v2: bool) -> Part {
    let disks = used(root, group, is_v2);
    if disks.is_empty() {
        return Part::Unknown(NOT_USED.to_owned());
    }
    let qos = match root.read(mount.join("io.cost.qos")) {
        Ok(text) => text,
        Err(error) if is_v2 => {
            return Part::Unknown(format!("iocost may divide its disks: {error}"));
        }
        Err(_) => String::new(),
    };
    let is_on = |line: &str| field(line, "enable") == Some("1");
    let is_under_iocost =
        |disk: &str| device_lines(&qos).any(|(device, line)| device == disk && is_on(line));
    // The last kernels with cfq are of 2018.
    let is_of_others =
        |(disk, scheduler): &(String, String)| is_under_iocost(disk) || scheduler == "cfq";
    let of_bfq: Vec<&str> = disks
        .iter()
        .filter(|one| one.1 == BFQ && !is_of_others(one))
        .map(|(disk, _)| disk.as_str())
        .collect();
    let found: Vec<Divided> =
        of_bfq.iter().filter_map(|disk| read_by_bfq(root, group, disk)).collect();
    if let Some(divided) = found.iter().find(|one| one.weight != USUAL) {
        return Part::Of(divided.clone());
    }
    if disks.iter().any(is_of_others) {
        let why = "only bfq divides a disk that is not busy by its own model, too";
        return Part::Unknown(why.to_owned());
    }
    let Some(disk) = of_bfq.first() else {
        let shown = disks.iter().map(|(disk, scheduler)| format!("{disk} ({scheduler})"));
        let shown = shown.collect::<Vec<_>>().join(", ");
        return Part::Lost(format!(
            "nothing divides by weight what it uses: {shown}, without iocost"
        ));
    };
    let Some(Divided { file, .. }) = found.first() else {
        return Part::Unknown("this kernel has no file for weights of bfq".to_owned());
    };
    let asked = root.read(group.join(OF_IOCOST)).unwrap_or_default();
    match knob::weight_on(&asked, disk) {
        None | Some(USUAL) => {
            Part::Unknown(format!("no weight is set for disk {disk}, which it uses"))
        }
        Some(_) => {
            Part::Lost(format!("bfq divides disk {disk}, and reads {file}, which is {USUAL}"))
        }
    }
}

/// The weight by which bfq divides a disk.
fn read_by_bfq(root: &Root, group: &Path, disk: &str) -> Option<Divided> {
    OF_BFQ.into_iter().find_map(|file| {
        let weight = knob::weight_on(&root.read(group.join(file)).ok()?, disk)?;
        Some(Divided { disk: disk.to_owned(), file, weight })
    })
}

const NOT_USED: &str = "the group has used no disk so far";

/// Two readers with one request each, which BFQ serves in turns.
pub(super) fn prove(beside: &Beside<'_>, divided: Option<&Divided>) -> Result<Proof, Error> {
    if !beside.may.saturate_disks {
        return Ok(Proof::not_provable(
            "a proof reads as fast as the disk can, which --saturate-disks allows",
        ));
    }
    let Some(Divided { disk, file: own, weight }) = divided else {
        return Ok(Proof::not_provable(NOT_USED));
    };
    let file = if beside.is_v2() { "io.bfq.weight" } else { "blkio.bfq.weight" };
    let node = io::node(beside.root, disk)?;
    let sectors = beside.root.read_trimmed(Path::new("/sys/dev/block").join(disk).join("size"))?;
    let size = sectors.parse::<u64>().unwrap_or(0).saturating_mul(512).min(1 << 30);
    let words = format!("io file={} size={size} block=262144", node.display());
    let mut probes = [beside.start_opened(COPY, &words)?, beside.start_opened(TWIN, &words)?];
    probes.iter_mut().try_for_each(|probe| probe.ask("go").map(drop))?;
    let mut phase = |twin: u64| -> Result<Vec<Window>, Error> {
        beside.write(COPY, file, &LOW.to_string())?;
        beside.write(TWIN, file, &twin.to_string())?;
        beside.pause(0.5)?;
        beside.windows(5, 0.6, || {
            let counts = probes.iter_mut().map(|probe| {
                probe.send("count");
                probe.value("count ")
            });
            counts.collect()
        })
    };
    let (begun, before) = (Instant::now(), waited_us(beside.root));
    let (unequal, equal) = (phase(3 * LOW)?, phase(LOW)?);
    let waited = waited_us(beside.root).saturating_sub(before) as f64;
    let waited = waited / begun.elapsed().as_micros() as f64;
    let reads: f64 = unequal.iter().chain(&equal).flat_map(|window| &window.grew).sum();
    if reads < 100.0 {
        return Ok(Proof::not_provable(format!("others left the probes {reads} reads")));
    }
    let proof = weight::judge([&unequal, &equal], LOW, &format!("disk {disk}"), "");
    Ok(unless_waited(proof, waited).with(format!("bfq reads {own} of the group: {weight}")))
}

/// For how long some task waited for a CPU; 0 where the kernel does not count it.
fn waited_us(root: &Root) -> u64 {
    let text = root.read("/proc/pressure/cpu").unwrap_or_default();
    counters::pressure(text.as_bytes(), "some").unwrap_or(0)
}

/// A reader, or what serves a loop disk, that waits for a CPU leaves its turn of the disk to others.
fn unless_waited(proof: Proof, waited: f64) -> Proof {
    if proof.verdict != Verdict::NotEnforced || waited < 0.1 {
        return proof;
    }
    let reason = format!("tasks waited for CPUs for {:.0} % of the time", waited * 100.0);
    Proof { verdict: Verdict::NotProvable, reason, ..proof }
}

/// The disks with queues of their own from or to which the group has moved bytes, with their schedulers, those with most bytes first. What
/// is read through a loop disk counts for the disk below it, too.
fn used(root: &Root, group: &Path, is_v2: bool) -> Vec<(String, String)> {
    // Without limits of I/O v1 counts what bfq serves, and nothing else (docs/findings/v1-io-counters).
    let files: &[&str] = match is_v2 {
        true => &["io.stat"],
        false => &["blkio.bfq.io_service_bytes", "blkio.throttle.io_service_bytes"],
    };
    let texts = files.iter().map(|file| root.read(group.join(file)).unwrap_or_default());
    let text: String = texts.collect();
    let number = |text: Option<&str>| text.and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    let bytes = |line: &str| match is_v2 {
        true => number(field(line, "rbytes")) + number(field(line, "wbytes")),
        false => number(line.strip_prefix("Total ")),
    };
    let mut disks: Vec<(u64, &str)> = Vec::new();
    for (disk, line) in device_lines(&text).filter(|(_, line)| bytes(line) > 0) {
        match disks.iter_mut().find(|(_, known)| *known == disk) {
            Some(known) => known.0 = known.0.max(bytes(line)),
            None => disks.push((bytes(line), disk)),
        }
    }
    disks.sort_unstable();
    let scheduler = |disk: &str| {
        let queue = Path::new("/sys/dev/block").join(disk).join("queue/scheduler");
        let text = root.read_trimmed(queue).ok()?;
        Some((disk.to_owned(), choice::active(&text).to_owned()))
    };
    disks.into_iter().rev().filter_map(|(_, disk)| scheduler(disk)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: &str = "[none] mq-deadline bfq\n";
    const UNDER_BFQ: &str = "none [bfq]\n";
    /// Of a group that uses 8:16, whose scheduler is known, and 8:0, which has no queue.
    const USED: (&str, &str) = ("a/io.stat", "8:0 rbytes=1 wbytes=0\n8:16 rbytes=5 wbytes=5\n");
    const NO_QOS: (&str, &str) = ("io.cost.qos", "");
    const WEIGHT: (&str, &str) = ("a/io.weight", "default 300\n");

    fn of(scheduler: &str, files: &[(&str, &str)]) -> Part {
        let (folder, root) = tree(scheduler, files);
        let is_v2 = !folder.path().join("cg/a/blkio.bfq.weight").exists();
        part(&root, Path::new("/cg"), Path::new("/cg/a"), is_v2)
    }

    fn tree(scheduler: &str, files: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
        let folder = tempfile::tempdir().unwrap();
        let queue = folder.path().join("sys/dev/block/8:16/queue");
        for folder in [queue.clone(), folder.path().join("cg/a")] {
            std::fs::create_dir_all(folder).unwrap();
        }
        std::fs::write(queue.join("scheduler"), scheduler).unwrap();
        for (file, text) in files {
            std::fs::write(folder.path().join("cg").join(file), text).unwrap();
        }
        let root = Root::at(folder.path());
        (folder, root)
    }

    fn unknown(why: &str) -> Part {
        Part::Unknown(why.to_owned())
    }

    fn lost(why: &str) -> Part {
        Part::Lost(why.to_owned())
    }

    fn by(file: &'static str, weight: u64) -> Part {
        Part::Of(Divided { disk: "8:16".to_owned(), file, weight })
    }

    #[test]
    fn a_weight_without_anything_that_divides_is_lost() {
        let nothing = lost("nothing divides by weight what it uses: 8:16 (none), without iocost");
        assert_eq!(of(NONE, &[NO_QOS, USED, WEIGHT]), nothing);
        let off = ("io.cost.qos", "8:16 enable=0 ctrl=auto\n");
        assert_eq!(of(NONE, &[off, USED, WEIGHT]), nothing);
        assert_eq!(of(NONE, &[NO_QOS, WEIGHT]), unknown(NOT_USED));
        let other = ("a/io.stat", "8:0 rbytes=1 wbytes=0\n");
        assert_eq!(of(NONE, &[NO_QOS, WEIGHT, other]), unknown(NOT_USED));
    }

    #[test]
    fn what_iocost_or_cfq_divides_is_neither_lost_nor_proven() {
        let others = unknown("only bfq divides a disk that is not busy by its own model, too");
        let on = ("io.cost.qos", "8:16 enable=1 ctrl=auto\n");
        for scheduler in [NONE, UNDER_BFQ] {
            assert_eq!(of(scheduler, &[on, USED, WEIGHT]), others);
        }
        assert_eq!(of("noop [cfq]\n", &[NO_QOS, USED, WEIGHT]), others);
        let Part::Unknown(why) = of(NONE, &[USED, WEIGHT]) else {
            panic!("io.cost.qos is missing")
        };
        assert!(why.starts_with("iocost may divide its disks: "), "{why}");
    }

    #[test]
    fn bfq_divides_by_the_weight_that_it_reads_for_the_disk() {
        let read = |text| of(UNDER_BFQ, &[NO_QOS, USED, WEIGHT, ("a/io.bfq.weight", text)]);
        assert_eq!(read("default 300\n"), by("io.bfq.weight", 300));
        assert_eq!(read("default 100\n8:16 200\n"), by("io.bfq.weight", 200));
        let other = lost("bfq divides disk 8:16, and reads io.bfq.weight, which is 100");
        assert_eq!(read("default 100\n8:0 200\n"), other);
        let only = [NO_QOS, USED, ("a/io.bfq.weight", "default 100\n8:0 200\n")];
        assert_eq!(of(UNDER_BFQ, &only), unknown("no weight is set for disk 8:16, which it uses"));
        let none = unknown("this kernel has no file for weights of bfq");
        assert_eq!(of(UNDER_BFQ, &[NO_QOS, USED, WEIGHT]), none);

        let used = ("a/blkio.bfq.io_service_bytes", "8:16 Read 5\n8:16 Total 5\nTotal 5\n");
        let usual = ("a/blkio.bfq.weight", "100\n");
        let device = ("a/blkio.bfq.weight_device", "8:16 200\n");
        assert_eq!(of(UNDER_BFQ, &[used, usual, device]), by("blkio.bfq.weight_device", 200));
        let all = ("a/blkio.bfq.weight", "300\n");
        assert_eq!(of(UNDER_BFQ, &[used, all]), by("blkio.bfq.weight", 300));
    }

    #[test]
    fn what_others_keep_from_the_cpus_shows_nothing() {
        let verdict = |proof: Proof, waited| unless_waited(proof, waited).verdict;
        let lost = || Proof::not_enforced("half each");
        assert_eq!(verdict(lost(), 0.01), Verdict::NotEnforced);
        assert_eq!(verdict(lost(), 0.5), Verdict::NotProvable);
        assert_eq!(verdict(Proof::enforced("1:3"), 0.5), Verdict::Enforced);
    }

    #[test]
    fn a_weight_of_one_disk_is_one() {
        let is_set = |files: &[(&str, &str)]| is_set(&tree(NONE, files).1, Path::new("/cg/a"));
        assert!(is_set(&[WEIGHT]) && is_set(&[("a/io.bfq.weight", "default 100\n8:0 200\n")]));
        assert!(is_set(&[("a/blkio.bfq.weight_device", "8:0 200\n")]));
        assert!(!is_set(&[("a/io.weight", "default 100\n"), ("a/blkio.bfq.weight", "100\n")]));
    }
}
