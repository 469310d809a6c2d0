//! Scratch disks, kept from one repeat to the next while their plan stays the same: writing an
//! image takes longer than many a repeat. Where only the queue differs, only the queue is set anew.

use std::path::{Path, PathBuf};

use assay_files::Trust;
use assay_host::ledger::Mark;
use assay_host::scratch::{self, ScratchDisk, ScratchSpec, Source};
use assay_kernel::{Error, signal};
use assay_plan::{DiskPlan, PlacePlan, Slot, Trial, null_blk_attributes};
use assay_study::{DiskSource, Format};
use assay_workload::fio::Place;

use crate::failure::Failure;
use crate::run::{Context, fraction};
use crate::start::{find_place, remove_place};

/// Where file systems are mounted (hier(7)): nobody but root can rename what lies above, as whoever
/// owns the directory of the run folder can.
const MOUNTS: &str = "/run";

/// The disks that stand at the moment.
pub(crate) struct Disks {
    before: Mark,
    /// After the disks were made and before their queues were set.
    made: Mark,
    planned: Vec<DiskPlan>,
    /// Where the trial that ran last put its data: disk, workload, place.
    used: Vec<(usize, String, PlacePlan)>,
    ready: Vec<ScratchDisk>,
}

impl Disks {
    pub(crate) fn none(before: Mark) -> Self {
        Self { before, made: before, planned: Vec::new(), used: Vec::new(), ready: Vec::new() }
    }

    pub(crate) fn ready(&self) -> &[ScratchDisk] {
        &self.ready
    }

    /// Makes the disks of `trial` stand.
    pub(crate) fn provide(
        &mut self,
        context: &mut Context,
        slot: Slot,
        trial: &Trial,
    ) -> Result<(), Failure> {
        let used = std::mem::replace(&mut self.used, places(trial));
        if self.planned == trial.disks {
            return self.clear(&used);
        }
        let without_queues = |disks: &[DiskPlan]| disks.iter().map(bare).collect::<Vec<_>>();
        let same_disks = without_queues(&self.planned) == without_queues(&trial.disks);
        if !same_disks {
            self.take_away(context)?;
            self.make(context, slot, trial)?;
        } else if let Some(error) = self.take_back(context, self.made) {
            return Err(error.into());
        } else {
            self.clear(&used)?;
        }
        if let Err(error) = self.set_queues(context, trial) {
            // A course may go on with another trial, which must find the queues as they were made.
            self.planned = without_queues(&trial.disks);
            let worse = self.take_back(context, self.made);
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

    /// Removes what another trial laid out where this one has nothing or less of it: files of 16
    /// groups beside those of 4 fill a disk. Data in the same place is used again.
    fn clear(&self, used: &[(usize, String, PlacePlan)]) -> Result<(), Failure> {
        for place in used.iter().filter(|place| !self.used.contains(place)) {
            let (disk, workload, plan) = place;
            let Some(disk) = self.ready.get(*disk) else { continue };
            if let Place::Directory { path, .. } = find_place(plan, disk, workload)? {
                remove_place(Path::new(&path))?;
            }
        }
        Ok(())
    }

    /// Makes the disks, all but their queues.
    fn make(&mut self, context: &mut Context, slot: Slot, trial: &Trial) -> Result<(), Failure> {
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

    fn take_away(&mut self, context: &mut Context) -> Result<(), Failure> {
        self.planned.clear();
        self.ready.clear();
        match self.take_back(context, self.before) {
            Some(error) => Err(error.into()),
            None => Ok(()),
        }
    }

    fn take_back(&self, context: &mut Context, mark: Mark) -> Option<Error> {
        let root = context.root.clone();
        context.ledger.restore_to(&root, mark).into_iter().next()
    }
}

/// A directory of the user's without links, if nobody else may change what its path stands for: who
/// may rename in there decides what root's workloads write to. That of the user who called sudo is
/// such a one, since workloads open it by its name while the run lasts.
fn checked(path: &Path, trust: Trust) -> Result<PathBuf, Error> {
    // Below it, so that one such as /tmp will do.
    let own = assay_files::check(&path.join("assay"), None, trust)?.path();
    Ok(own.parent().unwrap_or(path).to_owned())
}

/// Where the workloads of a trial have their data.
fn places(trial: &Trial) -> Vec<(usize, String, PlacePlan)> {
    let groups = trial.groups.iter().filter_map(|group| Some((group.disk?, group)));
    groups
        .flat_map(|(disk, group)| {
            group.workloads.iter().filter_map(move |workload| {
                Some((disk, workload.name.clone(), workload.place.clone()?))
            })
        })
        .collect()
}

/// A disk as it is before its queue is set.
fn bare(disk: &DiskPlan) -> DiskPlan {
    DiskPlan { scheduler: None, queue: Vec::new(), ..disk.clone() }
}

fn spec(context: &Context, disk: &DiskPlan) -> ScratchSpec {
    let folder = &context.request.folder;
    ScratchSpec {
        name: disk.name.clone(),
        source: match &disk.source {
            DiskSource::Loop => {
                // Whoever may rename the run folder does not move where its images are made.
                Source::Loop { image_dir: folder.steady(folder.dir()), size: disk.size }
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
