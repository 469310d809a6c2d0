//! memory.low and memory.min keep a group's page cache while a sibling presses.
//!
//! The two groups share a limit of the group above, so that reclaim happens there and the host
//! itself is never short.

use assay_kernel::Error;

use super::hog::{MIB, cache, limit, mib, order, refaults, refusals};
use crate::fixture::Fixture;
use crate::outcome::Outcome;

const SHARED: u64 = 64 * MIB;
/// Reclaim passes a group by at first that has fewer than 4096 pages, 16 MiB (get_scan_count() of
/// mm/vmscan.c shifts by DEF_PRIORITY), so the victim has more.
const KEPT: u64 = 32 * MIB;
const HOG: u64 = 96 * MIB;

/// What was left of the victim's page cache.
#[derive(Debug, Clone, Copy)]
struct Left {
    before: u64,
    after: u64,
    /// Pages that it had to read again.
    refaults: u64,
    /// How often the shared limit was met.
    pressed: u64,
}

impl Left {
    fn lost(&self) -> f64 {
        1.0 - self.after as f64 / self.before.max(1) as f64
    }

    fn seen(&self, how: &str) -> String {
        format!(
            "{how}: {:.1} of {:.1} MiB left ({:.0} % lost), {} pages read again; the shared limit \
             was met {} times",
            mib(self.after),
            mib(self.before),
            self.lost() * 100.0,
            self.refaults,
            self.pressed
        )
    }
}

/// A victim reads its part of the disk, a hog the rest of what belongs to this arm; then the
/// victim reads again. `protection` is a file and its value.
fn press(
    ground: &Fixture,
    outer: &str,
    disk: &str,
    first: u64,
    protection: Option<&str>,
) -> Result<Left, Error> {
    let (victim, hog) = (format!("{outer}/victim"), format!("{outer}/hog"));
    ground.make_parent(outer)?;
    limit(ground, outer, SHARED)?;
    ground.make(&victim)?;
    ground.make(&hog)?;
    if let Some(file) = protection {
        ground.write(&victim, file, &(KEPT + 8 * MIB).to_string())?;
    }
    // Both on one CPU, so that their pages are on one node: reclaim begins on the node of whoever
    // asks, and is often content with what it finds there.
    let words = format!("memory cpu={}", ground.cpu());
    let mut owner = ground.start(&victim, &words)?;
    let read = format!("read {KEPT} {disk} {first}");
    order(&mut owner, &read)?;
    let before = cache(ground, &victim)?;
    let mut hungry = ground.start(&hog, &words)?;
    order(&mut hungry, &format!("read {HOG} {disk} {}", first + KEPT))?;
    let (after, old) = (cache(ground, &victim)?, refaults(ground, &victim)?);
    order(&mut owner, &read)?;
    let refaults = refaults(ground, &victim)?.saturating_sub(old);
    Ok(Left { before, after, refaults, pressed: refusals(ground, outer)? })
}

fn protects(ground: &mut Fixture, file: &str) -> Result<Outcome, Error> {
    let disk = ground.blank_disk(2 * (KEPT + HOG))?;
    let disk = disk.node.display().to_string();
    let bare = press(ground, "bare", &disk, 0, None)?;
    let kept = press(ground, "kept", &disk, KEPT + HOG, Some(file))?;
    Ok(judge(&bare, &kept, file))
}

pub(super) fn low(ground: &mut Fixture) -> Result<Outcome, Error> {
    protects(ground, "memory.low")
}

pub(super) fn min(ground: &mut Fixture) -> Result<Outcome, Error> {
    protects(ground, "memory.min")
}

/// The group without protection is the proof that there was something to protect from.
fn judge(bare: &Left, kept: &Left, file: &str) -> Outcome {
    let outcome = if bare.pressed == 0 || kept.pressed == 0 || bare.lost() < 0.2 {
        Outcome::void("the hog did not press: nothing was lost without protection either")
    } else if kept.lost() <= 0.05 {
        return Outcome::kept(kept.seen(file)).with(bare.seen("unprotected"));
    } else if kept.lost() >= bare.lost() / 2.0 {
        Outcome::broken("the protected group lost its page cache")
    } else {
        Outcome::undecided("the protected group lost some of its page cache")
    };
    outcome.with(kept.seen(file)).with(bare.seen("unprotected"))
}

pub(super) fn unprotected(ground: &mut Fixture) -> Result<Outcome, Error> {
    let disk = ground.blank_disk(KEPT + HOG)?;
    let disk = disk.node.display().to_string();
    Ok(judge_bare(&press(ground, "bare", &disk, 0, None)?))
}

/// Where nothing is lost although the limit was met, reclaim spared a group that nobody
/// protected.
fn judge_bare(bare: &Left) -> Outcome {
    let seen = bare.seen("unprotected");
    if bare.pressed == 0 {
        return Outcome::void("the hog did not press").with(seen);
    }
    if bare.lost() >= 0.2 && bare.refaults > 0 {
        return Outcome::kept(seen);
    }
    Outcome::undecided("little was lost without protection").with(seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Verdict;

    fn left(after: u64) -> Left {
        Left { before: KEPT, after: after * KEPT / 12, refaults: 1000, pressed: 40 }
    }

    #[test]
    fn a_kernel_that_ignores_protection_is_broken() {
        assert_eq!(judge(&left(2), &left(12), "memory.low").verdict, Verdict::Kept);
        assert_eq!(judge(&left(2), &left(2), "memory.low").verdict, Verdict::Broken);
        assert_eq!(judge(&left(2), &left(10), "memory.low").verdict, Verdict::Undecided);
    }

    #[test]
    fn without_pressure_nothing_is_shown() {
        assert_eq!(judge(&left(12), &left(12), "memory.low").verdict, Verdict::Void);
        let calm = Left { pressed: 0, ..left(2) };
        assert_eq!(judge(&calm, &left(12), "memory.min").verdict, Verdict::Void);
        assert_eq!(judge_bare(&calm).verdict, Verdict::Void);
        assert_eq!(judge_bare(&left(2)).verdict, Verdict::Kept);
    }
}
