//! Scratch disks, kept from one repeat to the next while their plan is unchanged: writing an image takes
//! longer than many repeats. If only the queue differs, only the queue is reconfigured.

use std::path::{Path, PathBuf};

use assay_host::ledger::Mark;
use assay_host::scratch::{self, ScratchDisk, ScratchSpec, Source};
use assay_study::plan::{DiskPlan, RepeatId, StoragePlan, Trial, null_blk_attributes};
use assay_study::workload::fio::Target;
use assay_study::{DiskSource, Format};
use assay_sys::files::Trust;
use assay_sys::kernel::{Error, signal};

use crate::runner::context::{Context, fraction};
use crate::runner::failure::Failure;
use crate::runner::start::{find_data_location, remove_data_location};

/// Mount point of file systems (hier(7)): only root can rename its parents, while the run folder's parents
/// may belong to users.
const MOUNTS: &str = "/run";

/// The current disks.
pub(crate) struct Disks {
    before: Mark,
    /// Ledger position after the disks were made and before their queues were set.
    made: Mark,
    planned: Vec<DiskPlan>,
    /// Data locations of the last trial: disk, workload, plan.
    used: Vec<(usize, String, StoragePlan)>,
    ready: Vec<ScratchDisk>,
}

impl Disks {
    pub(crate) fn none(before: Mark) -> Self {
        Self { before, made: before, planned: Vec::new(), used: Vec::new(), ready: Vec::new() }
    }

    pub(crate) fn ready(&self) -> &[ScratchDisk] {
        &self.ready
    }

    /// Sets up the disks of `trial`.
    pub(crate) fn provide(
        &mut self,
        context: &mut Context,
        slot: RepeatId,
        trial: &Trial,
    ) -> Result<(), Failure> {
        let used = std::mem::replace(&mut self.used, data_locations(trial));
        if self.planned == trial.disks {
            return self.clear(&used);
        }
        let without_queues = |disks: &[DiskPlan]| disks.iter().map(bare).collect::<Vec<_>>();
        let same_disks = without_queues(&self.planned) == without_queues(&trial.disks);
        if !same_disks {
            self.remove(context)?;
            self.make(context, slot, trial)?;
        } else if let Some(error) = self.restore_to(context, self.made) {
            return Err(error.into());
        } else {
            self.clear(&used)?;
        }
        if let Err(error) = self.set_queues(context, trial) {
            // A schedule may continue with another trial, whose queues must start from their initial state.
            self.planned = without_queues(&trial.disks);
            let worse = self.restore_to(context, self.made);
            return Err(worse.unwrap_or(error).into());
        }
        self.planned.clone_from(&trial.disks);
        Ok(())
    }

    fn set_queues(&self, context: &mut Context, trial: &Trial) -> Result<(), Error> {
        for (disk, ready) in trial.disks.iter().zip(&self.ready) {
            let spec = spec(context, disk);
            scratch::set_queue(&context.root, &mut context.ledger, ready, &spec)?;
        }
        Ok(())
    }

    /// Removes data of other trials that this one does not use at the same place with the same plan: files of
    /// 16 groups beside those of 4 could fill a disk. Data at an unchanged place is reused.
    fn clear(&self, used: &[(usize, String, StoragePlan)]) -> Result<(), Failure> {
        for location in used.iter().filter(|location| !self.used.contains(location)) {
            let (disk, workload, plan) = location;
            let Some(disk) = self.ready.get(*disk) else { continue };
            if let Target::Directory { path, .. } = find_data_location(plan, disk, workload)? {
                remove_data_location(Path::new(&path))?;
            }
        }
        Ok(())
    }

    /// Makes the disks, without configuring their queues.
    fn make(
        &mut self,
        context: &mut Context,
        slot: RepeatId,
        trial: &Trial,
    ) -> Result<(), Failure> {
        for disk in &trial.disks {
            context.observer.phase(slot, &format!("prepare disk {}", disk.name));
            context.event(slot, "phase", format!("prepare disk {}", disk.name))?;
            let mut spec = spec(context, disk);
            if let Source::Directory { path } = &mut spec.source {
                *path = checked(path, context.request.trust)?;
            }
            let observer = &mut *context.observer;
            let ready = scratch::make(
                &context.root,
                &mut context.ledger,
                &spec,
                &|| signal::interrupted_by().is_some(),
                &mut |progress| observer.progress(fraction(&progress)),
            )?;
            for note in &ready.notes {
                context.observer.remark(note);
            }
            self.ready.push(ready);
        }
        self.made = context.ledger.mark();
        Ok(())
    }

    fn remove(&mut self, context: &mut Context) -> Result<(), Failure> {
        self.planned.clear();
        self.ready.clear();
        match self.restore_to(context, self.before) {
            Some(error) => Err(error.into()),
            None => Ok(()),
        }
    }

    fn restore_to(&self, context: &mut Context, mark: Mark) -> Option<Error> {
        let root = context.root.clone();
        context.ledger.restore_to(&root, mark).into_iter().next()
    }
}

/// The real path of a user's directory, if no other user may change what it refers to: a user who may rename in
/// there decides where root's workloads write. A directory of the user who called sudo is refused as well,
/// since workloads open it by name while the run lasts.
fn checked(path: &Path, trust: Trust) -> Result<PathBuf, Error> {
    // The check applies to an entry below it, so that a directory like /tmp is accepted.
    let own = assay_sys::files::check(&path.join("assay"), None, trust)?.path();
    Ok(own.parent().unwrap_or(path).to_owned())
}

/// Where the workloads of a trial store their data.
fn data_locations(trial: &Trial) -> Vec<(usize, String, StoragePlan)> {
    let groups = trial.groups.iter().filter_map(|group| Some((group.disk?, group)));
    groups
        .flat_map(|(disk, group)| {
            group.workloads.iter().filter_map(move |workload| {
                Some((disk, workload.name.clone(), workload.storage.clone()?))
            })
        })
        .collect()
}

/// A disk without the configuration of its queue.
fn bare(disk: &DiskPlan) -> DiskPlan {
    DiskPlan { scheduler: None, queue: Vec::new(), ..disk.clone() }
}

fn spec(context: &Context, disk: &DiskPlan) -> ScratchSpec {
    let folder = &context.request.folder;
    ScratchSpec {
        name: disk.name.clone(),
        source: match &disk.source {
            DiskSource::Loop => {
                // A path through the descriptor, so that renaming the run folder does not redirect the
                // images.
                Source::Loop { image_dir: folder.stable_path(folder.dir()), size: disk.size }
            }
            DiskSource::Block { device, erase } => {
                Source::Block { device: device.into(), erase: erase.clone() }
            }
            DiskSource::Directory { path } => Source::Directory { path: path.into() },
            DiskSource::NullBlk(_) => {
                Source::NullBlk { size: disk.size, options: null_blk_attributes(disk) }
            }
        },
        format: match disk.format {
            Format::None => scratch::Format::None,
            Format::Ext4 => scratch::Format::Ext4,
            Format::Xfs => scratch::Format::Xfs,
        },
        partitions: disk.partitions,
        scheduler: disk.scheduler.clone(),
        queue: disk.queue.clone(),
        mount_dir: Path::new(MOUNTS).join(format!("assay-{}", context.request.run_id)),
    }
}

#[cfg(test)]
mod tests;
