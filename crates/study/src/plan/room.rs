//! Room for the files of workloads on their disks: refusing a disk without it, and the size of one that is
//! to follow from them.

use crate::{DiskSource, Format};
use assay_sys::units::Bytes;

use crate::plan::footprint::Predictions;
use crate::plan::refusal::Refusal;
use crate::plan::trial::{DiskPlan, Part, ToolPlan, Trial, WorkloadPlan};

/// Sizes that follow from files are multiples of this.
const STEP: u64 = 64 << 20;

/// The least of them: on smaller disks journals and inode tables take more than a fifth.
pub(crate) const LEAST: u64 = 1 << 30;

/// Pieces begin at multiples of this, as partitions do.
pub(crate) const ALIGNMENT: u64 = 1 << 20;

/// The part of a file system that is left for data: journal, inode tables and reserved blocks of a
/// small ext4 take about a seventh (mke2fs.conf(5) defaults), and in a full file system the
/// allocator dominates measurements.
pub(crate) const USABLE_PERCENT: u64 = 80;

/// Stands for a size that follows from the workloads, until these are planned: so large that a part of it
/// for each of ten thousand groups is beyond every real disk.
pub(crate) const UNKNOWN_SIZE: Bytes = Bytes::mebi(1 << 36);

/// The size of one partition, or of the whole disk if it has none. The first mebibyte is the
/// partition table.
pub(crate) fn part_size(disk: &DiskPlan) -> Bytes {
    match u64::from(disk.partitions) {
        0 => disk.size,
        count => {
            let table = ALIGNMENT;
            Bytes::new(align(disk.size.get().saturating_sub(2 * table) / count))
        }
    }
}

pub(crate) fn align(bytes: u64) -> u64 {
    bytes / ALIGNMENT * ALIGNMENT
}

/// The size that one trial needs.
pub(crate) fn size_in(
    trial: &Trial,
    name: &str,
    predictions: &Predictions,
) -> Result<u64, Refusal> {
    let Some(index) = trial.disks.iter().position(|disk| disk.name == name) else { return Ok(0) };
    let disk = &trial.disks[index];
    let groups = trial.groups.iter().filter(|group| group.disk == Some(index));
    let users: Vec<&WorkloadPlan> = groups
        .flat_map(|group| &group.workloads)
        .filter(|workload| workload.uses_a_disk())
        .collect();
    let with_preparations = |user: &&'_ WorkloadPlan| {
        std::iter::once(*user).chain(&user.prepare).any(|one| is_unknown(one, predictions))
    };
    if let Some(user) = users.iter().find(|user| with_preparations(user)) {
        return Err(Refusal::new(
            format!(
                "the size of disk `{name}` is to follow from its workloads, and how much `{}` or its \
                 preparation writes is not known",
                user.name
            ),
            "write `creates = \"64 MiB\"` for a command, a `size` for fio, or a `size` for the disk",
        ));
    }
    let needed = by_part(disk, &users).map(|own| {
        let sum: u64 = own.iter().map(|user| files(user, UNKNOWN_SIZE, predictions)).sum();
        // Without a file system each job of fio has an equal piece.
        let jobs = own.iter().filter_map(|user| needed_by_fio(user, UNKNOWN_SIZE)).max();
        let pieces = jobs.filter(|_| disk.format == Format::None).unwrap_or(0) * own.len() as u64;
        sum.max(pieces)
    });
    let needed = needed.max().unwrap_or(0);
    let part = match disk.format {
        Format::None => needed,
        _ => needed.saturating_mul(100) / USABLE_PERCENT + ALIGNMENT,
    };
    let parts = u64::from(disk.partitions).max(1);
    Ok(((part + ALIGNMENT) * parts + 2 * ALIGNMENT).div_ceil(STEP) * STEP)
}

/// The users of each part of a disk, which they take in turn.
fn by_part<'u, T>(disk: &DiskPlan, users: &'u [T]) -> impl Iterator<Item = Vec<&'u T>> {
    let parts = disk.partitions.max(1) as usize;
    (0..parts).map(move |part| users.iter().skip(part).step_by(parts).collect())
}

/// Whether nobody says how much a workload writes, or it takes a part of the disk.
fn is_unknown(workload: &WorkloadPlan, predictions: &Predictions) -> bool {
    match &workload.tool {
        ToolPlan::Fio(_) => {
            let is_part = |needed: u64| needed > UNKNOWN_SIZE.get() >> 16;
            needed_by_fio(workload, UNKNOWN_SIZE).is_some_and(is_part)
        }
        ToolPlan::Invocation(_) => {
            workload.uses_a_disk()
                && workload.creates.is_none()
                && predictions.files(workload).is_none()
        }
    }
}

/// Bytes that a workload and its preparations create, as far as that is known.
fn files(workload: &WorkloadPlan, piece: Bytes, predictions: &Predictions) -> u64 {
    let one = |one: &WorkloadPlan| {
        let created = one.creates.map(Bytes::get);
        let fio = || {
            // Without a size the files of all processes fill the piece.
            let copies = one.job()?.amount(piece).map_or(1, |_| copies(one));
            Some(needed_by_fio(one, piece)?.saturating_mul(copies))
        };
        created.or_else(fio).or_else(|| predictions.files(one)).unwrap_or(0)
    };
    one(workload) + workload.prepare.iter().map(one).sum::<u64>()
}

/// How often there are the files of a job; on a device its processes share one place.
fn copies(workload: &WorkloadPlan) -> u64 {
    let part = workload.storage.as_ref().map(|storage| storage.part);
    match workload.job() {
        Some(job) if !matches!(part, Some(Part::Device | Part::Partition(_))) => job.copies(),
        _ => 1,
    }
}

/// Bytes that a fio job uses of its piece of a disk.
pub(crate) fn needed_by_fio(workload: &WorkloadPlan, piece: Bytes) -> Option<u64> {
    let needed = workload.job()?.amount(piece);
    Some(needed.unwrap_or(piece).get().max(workload.io.block_size.unwrap_or(512)))
}

/// Refuses a disk without room for the files that generators predict, beside those of fio. What other
/// commands write is known only if the study says it.
pub(crate) fn too_small(
    disk: &DiskPlan,
    users: &[&mut WorkloadPlan],
    predictions: &Predictions,
) -> Option<Refusal> {
    let only_fio = users.iter().all(|one| one.job().is_some() && one.prepare.is_empty());
    let is_raw = disk.format == Format::None;
    if (only_fio && is_raw) || matches!(disk.source, DiskSource::Directory { .. }) {
        // The pieces of fio's jobs are checked one by one.
        return None;
    }
    let piece = |user: &WorkloadPlan| user.storage.as_ref().map(|storage| storage.size);
    let needed = by_part(disk, users).map(|own| {
        let files =
            own.iter().map(|user| files(user, piece(user).unwrap_or_default(), predictions));
        files.sum::<u64>()
    });
    let (part, needed) = needed.enumerate().max_by_key(|(_, needed)| *needed)?;
    let room = usable(disk);
    (needed > room).then(|| no_room(disk, part, needed, room))
}

fn no_room(disk: &DiskPlan, part: usize, needed: u64, room: u64) -> Refusal {
    let place = match disk.partitions {
        0 => format!("disk `{}`", disk.name),
        _ => format!("partition {} of disk `{}`", part + 1, disk.name),
    };
    let size = (needed as f64 * disk.size.get() as f64 / room.max(1) as f64) as u64;
    let size = Bytes::new(size.div_ceil(STEP) * STEP);
    let remedy = match disk.source {
        DiskSource::Block { .. } => "name a larger disk, or make the data smaller".to_owned(),
        DiskSource::Loop => format!(
            "give the disk `size = \"auto\"`, or \"{size}\" or more (`--disk loop:{}MiB`)",
            size.get() >> 20
        ),
        _ => format!("give the disk `size = \"auto\"`, or \"{size}\" or more"),
    };
    Refusal::new(
        format!(
            "the workloads on {place} create files of {}, and it has room for {}",
            Bytes::new(align(needed)),
            Bytes::new(align(room))
        ),
        remedy,
    )
}

/// Bytes of one part of the disk that files may take.
fn usable(disk: &DiskPlan) -> u64 {
    let whole = part_size(disk).get();
    if disk.format == Format::None { whole } else { whole * USABLE_PERCENT / 100 }
}
