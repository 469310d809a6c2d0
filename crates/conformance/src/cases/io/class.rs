//! io.prio.class: the class of a group's requests.

use assay_kernel::Error;

use super::disk::{count, go, reader, scheduled};
use crate::fixture::Fixture;
use crate::interval::Interval;
use crate::outcome::{Outcome, Verdict};

pub(super) fn idle(ground: &mut Fixture) -> Result<Outcome, Error> {
    let disk = match scheduled(ground, "bfq", &[("iosched/low_latency", "0")])? {
        Ok(disk) => disk,
        Err(why) => return Ok(Outcome::not_available(why)),
    };
    let file = ground.by_version("blkio.prio.class", "io.prio.class");
    let mut probes = Vec::new();
    for class in ["idle", "restrict-to-be"] {
        ground.make(class)?;
        ground.write(class, file, class)?;
        probes.push(reader(ground, class, &disk, "block=4096 depth=8")?);
    }
    for probe in &mut probes {
        go(probe)?;
    }
    ground.pause(0.5)?;
    let windows = ground.windows(6, 0.5, || probes.iter_mut().map(count).collect())?;
    let shares = windows.iter().filter_map(|window| window.shares().map(|shares| shares[0]));
    Ok(judge(Interval::of(&shares.collect::<Vec<f64>>())))
}

/// Without classes the two would get one half each.
fn judge(share: Interval) -> Outcome {
    let seen = format!("the group of the class idle got {share} of what both read");
    // A share cannot be below zero, but the interval of a mean near zero can.
    match share.against(f64::NEG_INFINITY, 0.25) {
        Verdict::Kept => Outcome::kept(seen),
        Verdict::Broken => Outcome::broken("the class idle does not yield").with(seen),
        _ => Outcome::undecided("the shares vary too much between windows").with(seen),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_halves_mean_that_classes_are_ignored() {
        assert_eq!(judge(Interval::of(&[0.02, 0.03, 0.02])).verdict, Verdict::Kept);
        assert_eq!(judge(Interval::of(&[0.50, 0.51, 0.49])).verdict, Verdict::Broken);
        assert_eq!(judge(Interval::of(&[0.1, 0.5, 0.2])).verdict, Verdict::Undecided);
    }
}
