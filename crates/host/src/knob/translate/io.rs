//! I/O weights: which file takes effect depends on the scheduler of the disk.

use super::{DiskQueue, RootSetting, Translation, Untranslatable, Version};
use crate::knob::entry::Knob;

/// BFQ's largest weight (block/bfq-iosched.h: BFQ_MAX_WEIGHT).
const LARGEST_BFQ_WEIGHT: u64 = 1_000;

pub(super) fn weight(
    knob: &Knob,
    value: &str,
    version: Version,
    disk: Option<&DiskQueue>,
) -> Result<Translation, Untranslatable> {
    let scheduler = disk.map(|disk| disk.scheduler.as_str()).ok_or_else(no_queue)?;
    match (version, scheduler) {
        (_, "bfq") => bfq_translation(knob, value, version),
        (Version::V1, other) => Err(Untranslatable::new(
            format!("`io` is on cgroup v1 here, where the scheduler `{other}` has no weights"),
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
        None => bfq_translation(knob, value, version).map(|translation| {
            translation.note("the study does not know the scheduler of the disk")
        }),
    }
}

fn no_queue() -> Untranslatable {
    Untranslatable::new(
        "which file implements `io.weight` depends on the scheduler, but these groups use no disk with a \
         known queue",
        "give the groups a disk with `use = \"loop\"` or `use = \"block\"`",
    )
}

/// Refuses a weight above the range instead of scaling it: the kernel would be tested with other
/// weights than the study promises.
fn bfq_translation(
    knob: &Knob,
    value: &str,
    version: Version,
) -> Result<Translation, Untranslatable> {
    if number(value).is_some_and(|weight| weight > LARGEST_BFQ_WEIGHT) {
        return Err(Untranslatable::new(
            format!("the scheduler bfq accepts weights from 1 to 1000, not `{value}`"),
            "scale all weights so that the largest is at most 1000",
        ));
    }
    let translation = match version {
        Version::V1 => on_v1(knob, value, "blkio.bfq.weight", "blkio.bfq.weight_device"),
        Version::V2 => Translation::new(version, knob, "io.bfq.weight", value),
    };
    Ok(translation.obeyed_by("bfq"))
}

/// The weight in `WEIGHT`, `default WEIGHT` and `MAJ:MIN WEIGHT`.
fn number(value: &str) -> Option<u64> {
    value.split_whitespace().last()?.parse().ok()
}

/// Chooses between v1's files for all disks and for single disks; in the latter, writing 0 removes
/// a weight.
fn on_v1(knob: &Knob, value: &str, for_all: &str, for_one: &str) -> Translation {
    let (file, written) = match value.split_once(' ') {
        None => (for_all, value.to_owned()),
        Some(("default", weight)) => (for_all, weight.to_owned()),
        Some((device, "default")) => (for_one, format!("{device} 0")),
        Some(_) => (for_one, value.to_owned()),
    };
    Translation::new(Version::V1, knob, file, written)
}

/// Without `enable=1` iocost stores weights but ignores them
/// (Documentation/admin-guide/cgroup-v2.rst, io.cost.qos).
///
/// For a disk of known speed, iocost's model is set to that speed, and its rate is fixed (`min` and
/// `max` of 100 %): the kernel's default model is that of an SSD and would never throttle on a
/// slower disk.
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
            let model_iops = model_iops(iops);
            translation.root_settings.push(setting("io.cost.model", model(model_iops)));
            translation.root_settings.push(setting("io.cost.qos", fixed_rate(model_iops)));
        }
    }
    translation
}

/// The speed in iocost's model for a disk that completes `iops` requests per second, as a null_blk
/// does with all its tags in flight. It is a quarter: requests should queue in iocost, which knows
/// their groups, and not for a tag of the device, which does not. With three quarters, a group
/// whose own depth is a fourth of the device's could not use half of the disk and would never be
/// throttled.
fn model_iops(iops: u32) -> u64 {
    (u64::from(iops) / 4).max(1)
}

/// The model of a disk for which neither size nor position of a request matters. Bytes per second
/// are so high that size costs nothing.
fn model(iops: u64) -> String {
    let bytes = iops << 30;
    let direction_model = |direction: &str| {
        format!("{direction}bps={bytes} {direction}seqiops={iops} {direction}randiops={iops}")
    };
    format!("ctrl=user model=linear {} {}", direction_model("r"), direction_model("w"))
}

/// iocost's latency targets for such a disk: its rate stays that of the model, and its period
/// covers about 128 requests. The period is twice the latency target if no percentile is set, and
/// at most a second (block/blk-iocost.c, `ioc_refresh_period_us`); with the 50 ms of a fast disk a
/// single request of a light group would cost several periods, and a group that is slow to send the
/// next request would lose its budget.
fn fixed_rate(iops: u64) -> String {
    let target_us = (64_000_000 / iops).clamp(25_000, 500_000);
    format!(
        "enable=1 ctrl=user rpct=0.00 rlat={target_us} wpct=0.00 wlat={target_us} min=100.00 \
         max=100.00"
    )
}
