//! Scratch disks, kept from one repeat to the next while their plan stays the same: writing an
//! image takes longer than many a repeat.

use assay_host::ledger::Mark;
use assay_host::scratch::{self, ScratchDisk, ScratchSpec, Source};
use assay_kernel::signal;
use assay_plan::{DiskPlan, Slot, Trial, null_blk_attributes};
use assay_study::{DiskSource, Format};

use crate::failure::Failure;
use crate::run::{Context, fraction};

/// The disks that stand at the moment.
pub(crate) struct Disks {
    before: Mark,
    planned: Vec<DiskPlan>,
    ready: Vec<ScratchDisk>,
}

impl Disks {
    pub(crate) fn none(before: Mark) -> Self {
        Self { before, planned: Vec::new(), ready: Vec::new() }
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
        if self.planned == trial.disks {
            return Ok(());
        }
        self.take_away(context)?;
        for disk in &trial.disks {
            context.observer.phase(slot, &format!("prepare disk {}", disk.name));
            context.event(slot, "phase", format!("prepare disk {}", disk.name))?;
            let spec = spec(context, disk);
            let observer = &mut *context.observer;
            let ready = scratch::set_up(
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
            self.planned.push(disk.clone());
        }
        Ok(())
    }

    fn take_away(&mut self, context: &mut Context) -> Result<(), Failure> {
        self.planned.clear();
        self.ready.clear();
        let root = context.root.clone();
        match context.ledger.restore_to(&root, self.before).into_iter().next() {
            Some(error) => Err(error.into()),
            None => Ok(()),
        }
    }
}

fn spec(context: &Context, disk: &DiskPlan) -> ScratchSpec {
    let folder = &context.request.folder;
    ScratchSpec {
        name: disk.name.clone(),
        source: match &disk.source {
            DiskSource::Loop => {
                Source::Loop { image_dir: folder.path().to_owned(), size: disk.size }
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
        mount_dir: folder.file("mnt"),
    }
}
