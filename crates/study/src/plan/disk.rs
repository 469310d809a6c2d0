//! Scratch disks of a trial and their division among workloads.

use crate::workload::fio::Job;
use crate::{Bindings, Disk, DiskSize, DiskSource, Format, FromScalar, NullBlk, Study, Templated};
use assay_host::facts::{Disk as DiskFacts, HostFacts, NULL_BLK_REMEDY, Partition, find_disk};
use assay_sys::units::Bytes;

use crate::plan::footprint::Predictions;
use crate::plan::refusal::Refusal;
use crate::plan::room::{UNKNOWN_SIZE, USABLE_PERCENT, align, needed_by_fio, part_size, too_small};
use crate::plan::trial::{DiskPlan, GroupPlan, Part, StoragePlan, ToolPlan, WorkloadPlan};

/// The value of a queue attribute that is left as it is, so that a factor can have such a level.
const UNCHANGED: &str = "unchanged";

/// mkfs.xfs refuses smaller file systems since xfsprogs 5.19.
const SMALLEST_XFS: Bytes = Bytes::mebi(300);

pub(crate) fn plan_disks(
    study: &Study,
    facts: &HostFacts,
    factors: &Bindings,
    refusals: &mut Vec<Refusal>,
) -> Vec<DiskPlan> {
    study
        .disks
        .iter()
        .filter_map(|(name, disk)| {
            plan_disk(name, disk, facts, factors).map_err(|refusal| refusals.push(refusal)).ok()
        })
        .collect()
}

fn plan_disk(
    name: &str,
    disk: &Disk,
    facts: &HostFacts,
    factors: &Bindings,
) -> Result<DiskPlan, Refusal> {
    let named = match &disk.source {
        DiskSource::Block { device, .. } => Some(free(find(device, facts)?)?),
        _ => None,
    };
    let (named, part) = named.unzip();
    let part = part.flatten();
    let plan = DiskPlan {
        name: name.to_owned(),
        source: source(&disk.source, factors)?,
        size: match (&disk.size, named) {
            (Some(size), _) => match value(size, factors)? {
                DiskSize::Fixed(size) => size,
                DiskSize::Auto => UNKNOWN_SIZE,
            },
            (None, Some(device)) => part.map_or(device.size, |part| part.size),
            (None, None) => Bytes::mebi(1024),
        },
        format: value(&disk.format, factors)?,
        partitions: value(&disk.partitions, factors)?,
        whole: part.and(named).map(|disk| disk.name.clone()),
        scheduler: disk.scheduler.as_ref().map(|text| value(text, factors)).transpose()?,
        queue: disk
            .queue
            .iter()
            .map(|(attribute, text)| Ok((attribute.clone(), value(text, factors)?.to_string())))
            .filter(|one: &Result<_, Refusal>| {
                !matches!(one, Ok((_, value)) if value.as_str() == UNCHANGED)
            })
            .collect::<Result<_, Refusal>>()?,
    };
    refuse_partitions_in_a_partition(&plan)?;
    refuse_missing_null_blk(&plan, facts)?;
    refuse_unknown_scheduler(&plan, facts)?;
    refuse_loop_without_scheduler(&plan, facts)?;
    refuse_small_xfs(&plan)?;
    Ok(plan)
}

/// The source with every template resolved.
fn source(source: &DiskSource, factors: &Bindings) -> Result<DiskSource, Refusal> {
    let DiskSource::NullBlk(speed) = source else { return Ok(source.clone()) };
    let resolve = |field: &Option<Templated<u32>>| {
        field.as_ref().map(|field| value(field, factors).map(Templated::Value)).transpose()
    };
    Ok(DiskSource::NullBlk(NullBlk { iops: resolve(&speed.iops)?, depth: resolve(&speed.depth)? }))
}

/// A disk, or a partition of it.
type NamedDisk<'f> = (&'f DiskFacts, Option<&'f Partition>);

fn find<'f>(device: &str, facts: &'f HostFacts) -> Result<NamedDisk<'f>, Refusal> {
    find_disk(&facts.disks, device).ok_or_else(|| {
        let parts = |disk: &'f DiskFacts| disk.parts.iter().map(|part| part.name.as_str());
        let names = |disk: &'f DiskFacts| std::iter::once(disk.name.as_str()).chain(parts(disk));
        let known: Vec<&str> = facts.disks.iter().flat_map(names).collect();
        Refusal::new(
            format!("there is no disk or partition `{device}`"),
            format!("name one of: {}", known.join(", ")),
        )
    })
}

/// Refuses a disk or partition that is in use. The run checks again, on the open device.
fn free((disk, part): NamedDisk<'_>) -> Result<NamedDisk<'_>, Refusal> {
    let (what, holders) = match part {
        Some(part) => {
            (format!("partition `{}` is in use: it, or its disk", part.name), disk.holders_of(part))
        }
        None => {
            let what = format!("disk `{}` is in use: it, or a partition of it", disk.name);
            (what, disk.holders.clone())
        }
    };
    let Some(holder) = holders.first() else { return Ok((disk, part)) };
    Err(Refusal::new(
        format!("the {what}, is {holder}"),
        "name an unused disk, or write `use = \"loop\"`",
    ))
}

/// The kernel has no partitions of partitions.
fn refuse_partitions_in_a_partition(disk: &DiskPlan) -> Result<(), Refusal> {
    match &disk.whole {
        Some(whole) if disk.partitions > 0 => Err(Refusal::new(
            format!(
                "disk `{}` is a partition of `{whole}`, and cannot be divided further",
                disk.name
            ),
            "name the whole disk, or remove `partitions`",
        )),
        _ => Ok(()),
    }
}

fn refuse_missing_null_blk(disk: &DiskPlan, facts: &HostFacts) -> Result<(), Refusal> {
    match (&disk.source, facts.null_blk.reason()) {
        (DiskSource::NullBlk(_), Some(why)) => Err(Refusal::new(
            format!("disk `{}`: null_blk is not available: {why}", disk.name),
            NULL_BLK_REMEDY,
        )),
        _ => Ok(()),
    }
}

fn refuse_unknown_scheduler(disk: &DiskPlan, facts: &HostFacts) -> Result<(), Refusal> {
    // The disks of a host may be of kinds that take none; whether a null_blk does shows when it is made.
    let is_made = matches!(disk.source, DiskSource::NullBlk(_));
    match &disk.scheduler {
        Some(scheduler) if !is_made && !facts.schedulers.contains(scheduler) => Err(Refusal::new(
            format!("no disk of this host offers the scheduler `{scheduler}`"),
            format!(
                "load it (modprobe {scheduler}) or choose one of: {}",
                facts.schedulers.join(", ")
            ),
        )),
        _ => Ok(()),
    }
}

/// Before some kernel after 5.10, loop disks take no scheduler at all.
fn refuse_loop_without_scheduler(disk: &DiskPlan, facts: &HostFacts) -> Result<(), Refusal> {
    let (DiskSource::Loop, Some(wanted)) = (&disk.source, &disk.scheduler) else { return Ok(()) };
    match facts.loop_schedulers() {
        Some(offered) if !offered.contains(&wanted.as_str()) => {}
        _ => return Ok(()),
    }
    Err(Refusal::new(
        format!(
            "loop disks of this kernel take no scheduler, and disk `{}` needs `{wanted}`",
            disk.name
        ),
        "take another disk: `--disk null_blk:iops=800,depth=8`, or a blank one, `--disk block:/dev/x`",
    ))
}

fn refuse_small_xfs(disk: &DiskPlan) -> Result<(), Refusal> {
    let part = part_size(disk);
    if disk.format == Format::Xfs && part < SMALLEST_XFS {
        return Err(Refusal::new(
            format!("xfs needs {SMALLEST_XFS}, but a part of disk `{}` has {part}", disk.name),
            "give the disk a larger `size`, or use format = \"ext4\"",
        ));
    }
    Ok(())
}

fn value<T: FromScalar>(templated: &Templated<T>, factors: &Bindings) -> Result<T, Refusal> {
    templated
        .resolve(factors)
        .map_err(|why| Refusal::new(why, "`assay check` shows the location in the study file"))
}

/// The piece of disk for workload `index` of the `count` workloads that use the disk.
fn piece(disk: &DiskPlan, index: usize, count: usize) -> StoragePlan {
    let parts = (disk.partitions as usize).max(1);
    let part = index % parts;
    // With fewer partitions than workloads, workloads share them in turn.
    let sharers = (count - part).div_ceil(parts).max(1) as u64;
    let nth = (index / parts) as u64;
    let whole = part_size(disk).get();
    if let DiskSource::Directory { .. } = disk.source {
        let size = Bytes::new(align(disk.size.get() / count.max(1) as u64));
        return StoragePlan { part: Part::Directory, offset: Bytes::new(0), size };
    }
    if disk.format == Format::None {
        let size = align(whole / sharers);
        let part = if disk.partitions == 0 { Part::Device } else { Part::Partition(part) };
        return StoragePlan { part, offset: Bytes::new(nth * size), size: Bytes::new(size) };
    }
    let size = align(whole * USABLE_PERCENT / 100 / sharers);
    StoragePlan { part: Part::Mount(part), offset: Bytes::new(0), size: Bytes::new(size) }
}

/// Assigns every workload its piece of its disk.
pub(crate) fn assign_storage(
    groups: &mut [GroupPlan],
    disks: &[DiskPlan],
    predictions: &Predictions,
    refusals: &mut Vec<Refusal>,
) {
    for (index, disk) in disks.iter().enumerate() {
        let mut users: Vec<&mut WorkloadPlan> = groups
            .iter_mut()
            .filter(|group| group.disk == Some(index))
            .flat_map(|group| &mut group.workloads)
            .filter(|workload| workload.uses_a_disk())
            .collect();
        let count = users.len();
        for (nth, workload) in users.iter_mut().enumerate() {
            let storage = piece(disk, nth, count);
            if let ToolPlan::Fio(job) = &mut workload.tool {
                job.resolve_fraction(storage.size, count as u64);
            }
            if let Err(refusal) = fits(workload, disk, &storage) {
                refusals.push(refusal);
            }
            let replaced = workload.job().map(Job::targets).unwrap_or_default();
            let named =
                replaced.iter().map(|target| format!("{target} -> a part of disk `{}`", disk.name));
            workload.taken_over.extend(named);
            for prepared in &mut workload.prepare {
                prepared.storage = Some(storage.clone());
            }
            workload.storage = Some(storage);
        }
        refusals.extend(too_small(disk, &users, predictions));
    }
}

/// Checks that a job's size fits into its piece, and that its piece has at least one block.
fn fits(workload: &WorkloadPlan, disk: &DiskPlan, storage: &StoragePlan) -> Result<(), Refusal> {
    let part = match storage.part {
        Part::Device => "a piece of the device",
        Part::Partition(_) => "its partition",
        Part::Directory => "its share of the directory",
        // Files of one file system may differ in size: their sum is checked.
        Part::Mount(_) => return Ok(()),
    };
    // What generators create is checked for the whole disk.
    let Some(needed) = needed_by_fio(workload, storage.size) else { return Ok(()) };
    if needed <= storage.size.get() {
        return Ok(());
    }
    Err(Refusal::new(
        format!(
            "workload `{}` needs {} on disk `{}`, but {part} has {}",
            workload.name,
            Bytes::new(needed),
            disk.name,
            storage.size
        ),
        "give the disk a larger `size`, or the workload a smaller one",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(format: Format, partitions: u32) -> DiskPlan {
        DiskPlan {
            name: "scratch".to_owned(),
            source: DiskSource::Loop,
            size: Bytes::mebi(1024),
            format,
            partitions,
            whole: None,
            scheduler: None,
            queue: vec![],
        }
    }

    #[test]
    fn pieces_of_a_raw_disk_do_not_overlap_and_fill_it() {
        let disk = disk(Format::None, 0);
        let pieces: Vec<StoragePlan> = (0..4).map(|index| piece(&disk, index, 4)).collect();
        for (index, piece) in pieces.iter().enumerate() {
            assert_eq!(piece.offset, Bytes::mebi(256 * index as u64));
            assert_eq!(piece.size, Bytes::mebi(256));
        }
    }

    #[test]
    fn workloads_get_a_partition_each_or_share_partitions_in_turn() {
        let own = piece(&disk(Format::Ext4, 4), 2, 4);
        assert_eq!(own.part, Part::Mount(2));
        assert_eq!(own.size, Bytes::mebi(204), "80 percent of 255 MiB, aligned");

        let shared = disk(Format::None, 2);
        let pieces: Vec<StoragePlan> = (0..4).map(|index| piece(&shared, index, 4)).collect();
        assert_eq!(pieces[2].part, Part::Partition(0));
        assert_eq!(pieces[2].offset, pieces[0].size, "after the first sharer");
    }

    #[test]
    fn a_single_mount_is_divided_by_size_only() {
        let piece = piece(&disk(Format::Ext4, 0), 7, 8);
        assert_eq!(piece.part, Part::Mount(0));
        assert_eq!(piece.size, Bytes::mebi(102));
    }
}
