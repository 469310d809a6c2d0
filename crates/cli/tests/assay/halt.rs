//! The moments of a run at which it is killed or interrupted.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use crate::bench::Bench;
use crate::running::Running;
use crate::study::{Weights, loop_disk, loop_disk_with_ext4};
use assay_test_support::entries;

/// A moment, by what the run has done so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// The image of the disk is partly written.
    Filling,
    /// The image is attached to a loop device, and file systems are being made.
    Attached,
    /// Groups are being made.
    Groups,
    /// Workloads are being started, or wait for the common start.
    Start,
    /// Workloads run.
    Run,
    /// Workloads are being stopped.
    Stop,
}

impl Moment {
    /// A study in which this moment lasts long enough to be caught.
    fn study(self) -> Weights {
        let small = Weights::small();
        match self {
            Self::Filling => Weights { disk: loop_disk(512), ..small },
            Self::Attached => Weights { disk: loop_disk_with_ext4(128, 4), ..small },
            Self::Groups => Weights { groups: 32, ..small },
            Self::Start => Weights { groups: 16, ..small },
            Self::Run => Weights { at_most: "60 s", groups: 2, ..small },
            Self::Stop => Weights { at_most: "1 s", groups: 16, ..small },
        }
    }

    fn has_come(self, run: &Running) -> bool {
        match self {
            Self::Filling => image_bytes(run.out()) > 8 << 20,
            Self::Attached => is_attached(run.out()),
            Self::Groups => run.says("make groups"),
            Self::Start => run.says("start workloads"),
            Self::Run => run.says("run"),
            Self::Stop => run.says("stop workloads"),
        }
    }
}

/// Starts a run and returns when the moment has come.
pub(crate) fn run_until(bench: &Bench, moment: Moment) -> Running {
    let study = bench.write("study.toml", &moment.study().text());
    let mut run = bench.start(&study, &[]);
    run.wait_until(&format!("{moment:?}"), |run| moment.has_come(run));
    if moment == Moment::Run {
        // Until the middle of the window.
        sleep(Duration::from_millis(500));
    }
    run
}

fn image_bytes(out: &Path) -> u64 {
    image_of(out).and_then(|path| fs::metadata(path).ok()).map_or(0, |found| found.len())
}

/// The image of a run's disk, while there is one.
pub(crate) fn image_of(out: &Path) -> Option<PathBuf> {
    entries(out).into_iter().find(|path| path.extension().is_some_and(|kind| kind == "img"))
}

fn is_attached(out: &Path) -> bool {
    entries(Path::new("/sys/block")).iter().any(|disk| {
        let file = fs::read_to_string(disk.join("loop/backing_file")).unwrap_or_default();
        Path::new(&file).starts_with(out)
    })
}
