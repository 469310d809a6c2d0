//! Scratch disks for cases that read files or divide a disk.

use std::path::Path;

use assay_host::ledger::LoopDevice;
use assay_host::scratch::{Format, ScratchDisk, ScratchSpec, Source, set_up};
use assay_kernel::{Error, signal};
use assay_units::Bytes;

use crate::fixture::Fixture;

/// Directory for images: one that is rarely in memory (hier(7)), so that reading the disk is not
/// reading memory twice.
const IMAGES: &str = "/var/tmp";

/// Four requests at a time, of which a timer ends each after 5 ms: 800 a second, which an emulated CPU can
/// ask for (Documentation/block/null_blk.rst).
const NULL_DISK: [(&str, &str); 4] = [
    ("submit_queues", "1"),
    ("hw_queue_depth", "4"),
    ("irqmode", "2"),
    ("completion_nsec", "5000000"),
];

impl Fixture<'_> {
    /// A loop disk of `size` that reads as zeros, for cases in which speed and content do not
    /// matter: it costs nothing to create. It is removed when the case ends.
    pub fn blank_disk(&mut self, size: u64) -> Result<LoopDevice, Error> {
        let path = Path::new(IMAGES).join(format!("{}.img", self.top));
        let image = self.ledger.make_file(self.root, &path)?;
        image.set_len(size).map_err(|cause| Error::new("truncate", &path, &cause))?;
        self.ledger.attach_loop(self.root, &image, &path)
    }

    /// A loop disk of `size` without a file system, full of data, with this scheduler and these
    /// queue attributes. It is removed when the case ends.
    pub fn loop_disk(
        &mut self,
        size: Bytes,
        scheduler: &str,
        queue: &[(&str, &str)],
    ) -> Result<ScratchDisk, Error> {
        self.scratch(Source::Loop { image_dir: IMAGES.into(), size }, scheduler, queue)
    }

    /// The same on a null_blk: reads take a fixed time and no CPU time to speak of, and return nothing.
    pub fn null_disk(
        &mut self,
        size: Bytes,
        scheduler: &str,
        queue: &[(&str, &str)],
    ) -> Result<ScratchDisk, Error> {
        let options = NULL_DISK.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        self.scratch(Source::NullBlk { size, options }, scheduler, queue)
    }

    fn scratch(
        &mut self,
        source: Source,
        scheduler: &str,
        queue: &[(&str, &str)],
    ) -> Result<ScratchDisk, Error> {
        let spec = ScratchSpec {
            name: "conform".to_owned(),
            source,
            format: Format::None,
            partitions: 0,
            scheduler: Some(scheduler.to_owned()),
            queue: queue.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect(),
            mount_dir: Path::new(IMAGES).to_owned(),
        };
        let stop = || signal::interrupted_by().is_some();
        set_up(self.root, self.ledger, &spec, &stop, &mut |_| {})
    }
}
