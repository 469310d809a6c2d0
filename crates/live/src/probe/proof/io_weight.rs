//! The part of a disk: only a scheduler that knows weights divides it, or iocost.

use std::path::Path;

use assay_conform::Window;
use assay_host::knob::{self, device_lines, field};
use assay_sys::kernel::parse::choice;
use assay_sys::kernel::{Error, Root};

use super::{Proof, io, weight};
use crate::probe::beside::{Beside, COPY, TWIN};

/// So that a group beside them with the usual weight of 100 loses less than a third of the disk, and BFQ leaves each more than
/// one of few requests: it has its weight's part of them (docs/findings/bfq-cap.md).
const LOW: u64 = 10;

/// Of a disk, the scheduler in use.
const BFQ: &str = "bfq";

/// Why the weight of a group has no effect: nothing divides any of its disks by weight, or what divides them reads another file. An error
/// is a reason why that is unknown.
pub(crate) fn lost(
    root: &Root,
    mount: &Path,
    group: &Path,
    is_v2: bool,
) -> Result<Option<String>, String> {
    let disks = used(root, group, is_v2);
    if disks.is_empty() {
        return Err(NOT_USED.to_owned());
    }
    let qos = match root.read(mount.join("io.cost.qos")) {
        Ok(text) => text,
        Err(error) if is_v2 => return Err(format!("iocost may divide its disks: {error}")),
        Err(_) => String::new(),
    };
    let is_on = |line: &str| field(line, "enable") == Some("1");
    let is_under_iocost =
        |disk: &str| device_lines(&qos).any(|(device, line)| device == disk && is_on(line));
    if disks.iter().any(|(disk, _)| is_under_iocost(disk)) {
        return Ok(None);
    }
    // The last kernels with cfq are of 2018.
    let divides = |(_, scheduler): &&(String, String)| [BFQ, "cfq"].contains(&scheduler.as_str());
    let Some((disk, scheduler)) = disks.iter().find(divides) else {
        let shown = disks.iter().map(|(disk, scheduler)| format!("{disk} ({scheduler})"));
        let shown = shown.collect::<Vec<_>>().join(", ");
        return Ok(Some(format!(
            "nothing divides by weight what it uses: {shown}, without iocost"
        )));
    };
    let own = root.read_trimmed(group.join("io.bfq.weight")).ok();
    let is_default = own.is_some_and(|text| knob::weight(&text) == Some(100));
    let is_lost = scheduler == BFQ && is_default;
    Ok(is_lost.then(|| format!("bfq divides disk {disk}, and reads io.bfq.weight, which is 100")))
}

const NOT_USED: &str = "the group has used no disk so far";

/// Two readers with one request each, which BFQ serves in turns.
pub(super) fn prove(beside: &Beside<'_>, group: &Path) -> Result<Proof, Error> {
    if !beside.may.saturate_disks {
        return Ok(Proof::not_provable(
            "a proof reads as fast as the disk can, which --saturate-disks allows",
        ));
    }
    let disks = used(beside.root, group, beside.is_v2());
    let Some((disk, _)) = disks.iter().find(|(_, scheduler)| scheduler == BFQ) else {
        return Ok(Proof::not_provable(
            "only bfq divides a disk that is not busy by its own model, too",
        ));
    };
    let Some(file) = file_of_bfq(beside.root, &beside.groups[COPY], beside.is_v2()) else {
        return Ok(Proof::not_provable("this kernel has no file for weights of bfq"));
    };
    let node = io::node(beside.root, disk)?;
    let sectors = beside.root.read_trimmed(Path::new("/sys/dev/block").join(disk).join("size"))?;
    let size = sectors.parse::<u64>().unwrap_or(0).saturating_mul(512).min(1 << 30);
    let words = format!("io file={} size={size} block=262144", node.display());
    let mut probes = [beside.start(COPY, &words)?, beside.start(TWIN, &words)?];
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
    let (divided, equal) = (phase(3 * LOW)?, phase(LOW)?);
    let reads: f64 = divided.iter().chain(&equal).flat_map(|window| &window.grew).sum();
    if reads < 100.0 {
        return Ok(Proof::not_provable(format!("others left the probes {reads} reads")));
    }
    let own = beside.root.read_trimmed(group.join(file))?;
    let proof = weight::judge([&divided, &equal], LOW, &format!("disk {disk}"), "");
    Ok(proof.with(format!("bfq reads {file} of the group: {own}")))
}

/// The file that bfq reads; `io.weight` is iocost's where both are built in.
fn file_of_bfq(root: &Root, group: &Path, is_v2: bool) -> Option<&'static str> {
    let file = if is_v2 { "io.bfq.weight" } else { "blkio.bfq.weight" };
    root.exists(group.join(file)).then_some(file)
}

/// The disks with queues of their own from or to which the group has moved bytes, with their schedulers, those with most bytes first. What
/// is read through a loop disk counts for the disk below it, too.
fn used(root: &Root, group: &Path, is_v2: bool) -> Vec<(String, String)> {
    // Without limits of I/O v1 counts what bfq serves, and nothing else (docs/findings/v1-io-counters.md).
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

    /// Of a group that used two disks, with the scheduler of the one that it used most.
    fn found(scheduler: &str, files: &[(&str, &str)]) -> Result<Option<String>, String> {
        let folder = tempfile::tempdir().unwrap();
        let queue = folder.path().join("sys/dev/block/8:16/queue");
        for folder in [queue.clone(), folder.path().join("cg/a")] {
            std::fs::create_dir_all(folder).unwrap();
        }
        std::fs::write(queue.join("scheduler"), scheduler).unwrap();
        for (file, text) in [("io.cost.qos", "")].iter().chain(files) {
            std::fs::write(folder.path().join("cg").join(file), text).unwrap();
        }
        lost(&Root::at(folder.path()), Path::new("/cg"), Path::new("/cg/a"), true)
    }

    #[test]
    fn a_weight_without_anything_that_divides_is_lost() {
        let used = ("a/io.stat", "8:0 rbytes=1 wbytes=0\n8:16 rbytes=5 wbytes=5\n");
        let none = "[none] mq-deadline bfq\n";
        let says = found(none, &[used]).unwrap().unwrap();
        assert_eq!(says, "nothing divides by weight what it uses: 8:16 (none), without iocost");
        let qos = ("io.cost.qos", "8:16 enable=1 ctrl=auto\n");
        assert_eq!(found(none, &[used, qos]), Ok(None));
        let bfq = "none [bfq]\n";
        assert_eq!(found(bfq, &[used]), Ok(None));
        assert_eq!(found(bfq, &[used, ("a/io.bfq.weight", "default 300\n")]), Ok(None));
        let default = ("a/io.bfq.weight", "default 100\n");
        assert!(found(bfq, &[used, default]).unwrap().unwrap().contains("reads io.bfq.weight"));
        assert_eq!(found(none, &[]), Err(NOT_USED.to_owned()));
        assert_eq!(
            found(none, &[("a/io.stat", "8:0 rbytes=1 wbytes=0\n")]),
            Err(NOT_USED.to_owned())
        );
    }
}
