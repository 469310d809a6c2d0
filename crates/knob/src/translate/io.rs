//! I/O weights: who obeys them depends on the scheduler of the disk.

use super::{DiskQueue, RootSetting, Translation, Untranslatable, Version};
use crate::knob::Knob;

/// BFQ's largest weight (block/bfq-iosched.h: BFQ_MAX_WEIGHT).
const LARGEST_BFQ_WEIGHT: u64 = 1_000;

/// CFQ's weights (block/cfq-iosched.c: CFQ_WEIGHT_LEGACY_MIN and _MAX).
const CFQ_WEIGHTS: std::ops::RangeInclusive<u64> = 10..=1_000;

pub(super) fn weight(
    knob: &Knob,
    value: &str,
    version: Version,
    disk: Option<&DiskQueue>,
) -> Result<Translation, Untranslatable> {
    let scheduler = disk.map(|disk| disk.scheduler.as_str()).ok_or_else(no_queue)?;
    match (version, scheduler) {
        (_, "bfq") => bfq_translation(knob, value, version),
        (Version::V1, "cfq") => cfq_translation(knob, value),
        (Version::V1, other) => Err(Untranslatable::new(
            format!(
                "`io` is on cgroup v1 here, where the scheduler `{other}` does not obey weights"
            ),
            "set `scheduler = \"bfq\"` on the disk",
        )),
        (Version::V2, _) => Ok(iocost_translation(knob, value, disk.and_then(|disk| disk.iops))),
    }
}

pub(super) fn bfq_weight(
    knob: &Knob,
    value: &str,
    version: Version,
    disk: Option<&DiskQueue>,
) -> Result<Translation, Untranslatable> {
    match disk {
        Some(disk) if disk.scheduler != "bfq" => Err(Untranslatable::new(
            format!("`{}` has no effect under the scheduler `{}`", knob.name, disk.scheduler),
            "set `scheduler = \"bfq\"` on the disk",
        )),
        Some(_) => bfq_translation(knob, value, version),
        None => bfq_translation(knob, value, version)
            .map(|found| found.note("the scheduler of the disk is not known to the study")),
    }
}

pub(super) fn cfq_weight(
    knob: &Knob,
    value: &str,
    disk: Option<&DiskQueue>,
) -> Result<Translation, Untranslatable> {
    match disk {
        Some(disk) if disk.scheduler != "cfq" => Err(Untranslatable::new(
            format!("`{}` has no effect under the scheduler `{}`", knob.name, disk.scheduler),
            "write `io.weight`, which is translated for the scheduler that the disk has",
        )),
        _ => cfq_translation(knob, value),
    }
}

fn no_queue() -> Untranslatable {
    Untranslatable::new(
        "who obeys `io.weight` depends on the scheduler, and these groups use no disk whose \
         queue is known",
        "give the groups a disk with `use = \"loop\"` or `use = \"block\"`",
    )
}

/// A weight above the range is refused rather than scaled: the kernel would be tested with
/// other weights than the study promises.
fn bfq_translation(
    knob: &Knob,
    value: &str,
    version: Version,
) -> Result<Translation, Untranslatable> {
    if number(value).is_some_and(|weight| weight > LARGEST_BFQ_WEIGHT) {
        return Err(Untranslatable::new(
            format!("the scheduler bfq holds weights from 1 to 1000, not `{value}`"),
            "scale the whole ladder of weights so that the largest is at most 1000",
        ));
    }
    let translation = match version {
        Version::V1 => on_v1(knob, value, "blkio.bfq.weight", "blkio.bfq.weight_device"),
        Version::V2 => Translation::new(version, knob, "io.bfq.weight", value),
    };
    Ok(translation.obeyed_by("bfq"))
}

fn cfq_translation(knob: &Knob, value: &str) -> Result<Translation, Untranslatable> {
    if number(value).is_some_and(|weight| !CFQ_WEIGHTS.contains(&weight)) {
        return Err(Untranslatable::new(
            format!("the scheduler cfq holds weights from 10 to 1000, not `{value}`"),
            "scale the whole ladder of weights into 10 to 1000",
        ));
    }
    Ok(on_v1(knob, value, "blkio.weight", "blkio.weight_device").obeyed_by("cfq"))
}

/// The weight in `WEIGHT`, `default WEIGHT` and `MAJ:MIN WEIGHT`.
fn number(value: &str) -> Option<u64> {
    value.split_whitespace().last()?.parse().ok()
}

/// v1 keeps the weight for all disks and those for single disks in two files, and takes the
/// latter back when 0 is written.
fn on_v1(knob: &Knob, value: &str, for_all: &str, for_one: &str) -> Translation {
    let (file, written) = match value.split_once(' ') {
        None => (for_all, value.to_owned()),
        Some(("default", weight)) => (for_all, weight.to_owned()),
        Some((device, "default")) => (for_one, format!("{device} 0")),
        Some(_) => (for_one, value.to_owned()),
    };
    Translation::new(Version::V1, knob, file, written)
}

/// Without `enable=1` iocost stores weights and ignores them (Documentation/admin-guide/
/// cgroup-v2.rst, io.cost.qos).
///
/// Of a disk whose speed is known, iocost is also told that speed, and to keep to it (`min` and
/// `max` of 100 % leave its rate no play): the kernel's own model is that of an SSD and would
/// never hold anybody back on a slower disk.
fn iocost_translation(knob: &Knob, value: &str, iops: Option<u32>) -> Translation {
    let setting = |file: &str, value: String| RootSetting {
        file: file.to_owned(),
        value_template: format!("{{device}} {value}"),
    };
    let mut translation = Translation::new(Version::V2, knob, "io.weight", value)
        .obeyed_by("iocost")
        .note("obeyed by iocost, which is enabled for this disk at the root of the hierarchy");
    match iops {
        None => translation.root_settings.push(setting("io.cost.qos", "enable=1".to_owned())),
        Some(iops) => {
            let claimed = claimed(iops);
            translation.root_settings.push(setting("io.cost.model", model(claimed)));
            translation.root_settings.push(setting("io.cost.qos", steady(claimed)));
        }
    }
    translation
}

/// What iocost is told of a disk that completes `iops` requests a second, as null_blk does when so
/// many are in flight as it is deep. A quarter: requests are to wait in iocost, which knows whose
/// they are, and not for a place in the device, which does not. With three quarters claimed, a
/// group whose own depth is a fourth of the device's could not use half of what there is, and
/// would never be held back.
fn claimed(iops: u32) -> u64 {
    (u64::from(iops) / 4).max(1)
}

/// The model of a disk to which neither the size nor the place of a request matters. The bytes
/// per second are so many that size costs nothing.
fn model(claimed: u64) -> String {
    let bytes = claimed << 30;
    let of = |direction: &str| {
        format!("{direction}bps={bytes} {direction}seqiops={claimed} {direction}randiops={claimed}")
    };
    format!("ctrl=user model=linear {} {}", of("r"), of("w"))
}

/// iocost's targets for such a disk: its rate stays as the model says, and its period holds about
/// 128 requests. The period is twice the latency target where no percentile is to be kept, and at
/// most a second (block/blk-iocost.c, `ioc_refresh_period_us`); with the 50 ms of a fast disk a
/// light group's single request would cost several periods, and a group that is slow to ask again
/// would lose what it is owed.
fn steady(claimed: u64) -> String {
    let target_us = (64_000_000 / claimed).clamp(25_000, 500_000);
    format!(
        "enable=1 ctrl=user rpct=0.00 rlat={target_us} wpct=0.00 wlat={target_us} min=100.00 \
         max=100.00"
    )
}
