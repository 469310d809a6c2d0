//! Sizes, partitions and schedulers of disks.

use assay_sys::closest;
use assay_sys::units::Bytes;

use super::{Check, Complaint};
use crate::code;
use crate::syntax::{Disk, DiskSize, DiskSource, NullBlk};
use crate::template::Templated;

/// Schedulers of Linux since 5.0; others are modules, which only the host can know.
const SCHEDULERS: &[&str] = &["none", "mq-deadline", "bfq", "kyber"];

/// Smaller disks can hold neither a file system nor a partition table.
const SMALLEST: Bytes = Bytes::mebi(1);

/// A GPT holds 128 entries by default.
const MOST_PARTITIONS: u32 = 128;

pub(super) fn disks(check: &mut Check<'_>) {
    for (name, disk) in &check.study.disks {
        size(check, name, disk);
        partitions(check, name, disk);
        scheduler(check, name, disk);
        null_blk(check, name, disk);
        check.each_value(&disk.format, &format!("disks.{name}.format"), "`format`", |_| None);
        for (attribute, value) in &disk.queue {
            let path = format!("disks.{name}.queue.{attribute}");
            check.each_value(value, &path, &format!("`{attribute}`"), |_| None);
        }
    }
}

fn size(check: &mut Check<'_>, name: &str, disk: &Disk) {
    let Some(size) = &disk.size else { return };
    let what = format!("`size` of the disk `{name}`");
    check.each_value(size, &format!("disks.{name}.size"), &what, |size| {
        let DiskSize::Fixed(bytes) = size else {
            let is_level = matches!(disk.size, Some(Templated::Template(_)));
            return is_level.then(|| Complaint {
                code: code::OUT_OF_RANGE,
                message: format!("{what} is `auto` through a factor"),
                expected: "the same disk in all trials".to_owned(),
                remedy: "write `size = \"auto\"` itself: it follows the factors".to_owned(),
            });
        };
        (*bytes < SMALLEST).then(|| Complaint {
            code: code::OUT_OF_RANGE,
            message: format!("{what} is {bytes}"),
            expected: format!("at least {SMALLEST}"),
            remedy: "write a size such as \"1 GiB\", or `auto`".to_owned(),
        })
    });
}

fn partitions(check: &mut Check<'_>, name: &str, disk: &Disk) {
    let what = format!("`partitions` of the disk `{name}`");
    check.each_value(&disk.partitions, &format!("disks.{name}.partitions"), &what, |count| {
        (*count > MOST_PARTITIONS).then(|| Complaint {
            code: code::OUT_OF_RANGE,
            message: format!("{what} is {count}"),
            expected: format!("0 to {MOST_PARTITIONS}"),
            remedy: "write fewer partitions; several groups may share one".to_owned(),
        })
    });
}

/// Checks the speed of a null_blk.
fn null_blk(check: &mut Check<'_>, name: &str, disk: &Disk) {
    let DiskSource::NullBlk(speed) = &disk.source else { return };
    for (key, field) in [("iops", &speed.iops), ("depth", &speed.depth)] {
        let Some(field) = field else { continue };
        let what = format!("`{key}` of the disk `{name}`");
        check.each_value(field, &format!("disks.{name}.{key}"), &what, |value| {
            NullBlk::check(key, Some(*value)).err().map(|expected| Complaint {
                code: code::OUT_OF_RANGE,
                message: format!("{what} is {value}"),
                expected,
                remedy: "write a number such as 500 for `iops`, or 32 for `depth`".to_owned(),
            })
        });
    }
}

/// A word close to a known scheduler is an error; any other may be a module of the host.
fn scheduler(check: &mut Check<'_>, name: &str, disk: &Disk) {
    let Some(scheduler) = &disk.scheduler else { return };
    let what = format!("`scheduler` of the disk `{name}`");
    check.each_value(scheduler, &format!("disks.{name}.scheduler"), &what, |word| {
        if SCHEDULERS.contains(&word.as_str()) {
            return None;
        }
        closest(word, SCHEDULERS.iter().copied()).map(|meant| Complaint {
            code: code::UNKNOWN_WORD,
            message: format!("{what} is `{word}`"),
            expected: "a scheduler such as `bfq`, `mq-deadline`, `kyber` or `none`".to_owned(),
            remedy: format!("did you mean `{meant}`?"),
        })
    });
}
