//! io.max on disks that are made out of another one. They have no queue of requests of their own: what is
//! read from them is throttled before it is handed down.

use std::path::Path;

use assay_host::ledger::Layer;
use assay_kernel::Error;
use assay_kernel::block::numbers;

use super::cap::{BYTES, judge, two_readers};
use super::disk::{Disk, SIZE};
use crate::fixture::Fixture;
use crate::interval::Interval;
use crate::outcome::{Outcome, Stop, Verdict};

/// A disk made by this layer, and the one below it.
fn stacked(fixture: &mut Fixture, layer: Layer) -> Result<[Disk; 2], Stop> {
    let root = fixture.root().clone();
    if let Some(why) = layer.lacking(&root) {
        return Err(Stop::not_available(why));
    }
    let below = fixture.blank_disk(SIZE)?;
    // The kernel takes no array with the whole name of the case's groups.
    let name = std::process::id().to_string();
    let node = fixture.ledger().stack_disk(&root, layer, &name, &below.name)?;
    let disk = |node: &Path| -> Result<Disk, Error> {
        Ok(Disk { node: node.display().to_string(), numbers: numbers(node)? })
    };
    Ok([disk(&node)?, disk(&below.node)?])
}

/// Two groups that read the disk on top, one of them capped there.
fn caps(fixture: &mut Fixture, layer: Layer) -> Result<Outcome, Stop> {
    let [top, _] = stacked(fixture, layer)?;
    two_readers(fixture, BYTES, [("capped", &top), ("free", &top)], |capped, free| {
        judge(capped, free, "1 MiB/s on the disk on top")
    })
}

/// One group that is capped on the disk on top, and reads both.
fn below(fixture: &mut Fixture, layer: Layer) -> Result<Outcome, Stop> {
    let [top, below] = stacked(fixture, layer)?;
    two_readers(fixture, BYTES, [("capped", &top), ("capped", &below)], judge_below)
}

fn judge_below(top: Interval, below: Interval) -> Outcome {
    let evidence = format!(
        "a group capped at 1 MiB/s on the disk on top got {top} of that there, and {below} of it from \
         the disk below"
    );
    if below.low > 2.0 {
        return Outcome::kept(evidence);
    }
    if below.verdict_within(0.8, 1.2) == Verdict::Kept {
        return Outcome::broken("the limit applies to the disk below, too").with(evidence);
    }
    Outcome::undecided("the disk below was not much faster than the limit").with(evidence)
}

pub(super) fn caps_mapped(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    caps(fixture, Layer::DeviceMapper)
}

pub(super) fn below_mapped(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    below(fixture, Layer::DeviceMapper)
}

pub(super) fn caps_array(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    caps(fixture, Layer::Md)
}

pub(super) fn below_array(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    below(fixture, Layer::Md)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(mean: f64) -> Interval {
        Interval { low: mean * 0.98, mean, high: mean * 1.02 }
    }

    #[test]
    fn a_limit_that_is_ignored_on_top_or_acts_below_is_broken() {
        let capped = |capped, free| judge(near(capped), near(free), "1 MiB/s").verdict;
        assert_eq!(capped(1.0, 40.0), Verdict::Kept);
        // Handed down past the limit, or counted once for each part that a request is split into.
        assert_eq!(capped(40.0, 40.0), Verdict::Broken);
        assert_eq!(capped(2.0, 40.0), Verdict::Broken);
        assert_eq!(judge_below(near(1.0), near(40.0)).verdict, Verdict::Kept);
        assert_eq!(judge_below(near(1.0), near(1.0)).verdict, Verdict::Broken);
        assert_eq!(judge_below(near(1.0), near(1.6)).verdict, Verdict::Undecided);
    }
}
