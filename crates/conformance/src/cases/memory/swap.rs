//! Swap space: how much of it a group may use, and what zswap keeps compressed in memory.

use std::path::Path;

use assay_kernel::Error;

use super::hog::{MIB, mib, oom_kills, order};
use crate::fixture::Fixture;
use crate::outcome::Outcome;

const LIMIT: u64 = 32 * MIB;
const WANTED: u64 = 64 * MIB;

/// A hog twice as large as its memory, with so much swap space.
#[derive(Debug, Clone, Copy)]
struct Swapped {
    allowed: u64,
    got: Option<u64>,
    swapped: u64,
    kills: u64,
}

fn hog(ground: &Fixture, allowed: u64) -> Result<Swapped, Error> {
    ground.make("a")?;
    ground.write(
        "a",
        ground.by_version("memory.limit_in_bytes", "memory.max"),
        &LIMIT.to_string(),
    )?;
    // v1 limits memory and swap together, v2 swap by itself.
    let (file, value) = ground
        .by_version(("memory.memsw.limit_in_bytes", LIMIT + allowed), ("memory.swap.max", allowed));
    ground.write("a", file, &value.to_string())?;
    let mut probe = ground.start("a", "memory")?;
    let got = order(&mut probe, &format!("touch {WANTED}"))?.map(|done| done.bytes);
    let swapped = if ground.is_v2() {
        ground.number("a", "memory.swap.current")?
    } else {
        ground.keyed("a", "memory.stat", "swap")?
    };
    Ok(Swapped { allowed, got, swapped, kills: oom_kills(ground, "a")? })
}

impl Swapped {
    fn seen(&self) -> String {
        format!(
            "memory 32 MiB, swap {:.0} MiB, a process that wants 64 MiB {}; {:.1} MiB in swap, \
             oom_kill {}",
            mib(self.allowed),
            if self.got.is_some() { "lives" } else { "was killed" },
            mib(self.swapped),
            self.kills
        )
    }
}

pub(super) fn takes_the_rest(ground: &mut Fixture) -> Result<Outcome, Error> {
    Ok(judge_rest(&hog(ground, 128 * MIB)?, free_swap(ground)?))
}

/// Free swap space of the host, in bytes.
fn free_swap(ground: &Fixture) -> Result<u64, Error> {
    let text = ground.root().read("/proc/meminfo")?;
    Ok(assay_kernel::parse::keyed::kibibytes(&text, "SwapFree").unwrap_or(0))
}

fn judge_rest(hog: &Swapped, free: u64) -> Outcome {
    if hog.got.is_none() && free < WANTED {
        return Outcome::void("the host's swap space is nearly full").with(hog.seen());
    }
    let kept = hog.got == Some(WANTED) && hog.swapped >= 24 * MIB && hog.kills == 0;
    Outcome::holds(kept, hog.seen())
}

pub(super) fn is_bounded(ground: &mut Fixture) -> Result<Outcome, Error> {
    Ok(judge_bound(&hog(ground, 8 * MIB)?))
}

fn judge_bound(hog: &Swapped) -> Outcome {
    let kept = hog.got.is_none() && hog.kills == 1 && hog.swapped <= hog.allowed;
    Outcome::holds(kept, hog.seen())
}

/// How much zswap held for a group that swaps.
fn zswapped(ground: &Fixture, group: &str, most: &str) -> Result<u64, Error> {
    ground.make(group)?;
    ground.write(group, "memory.max", &LIMIT.to_string())?;
    ground.write(group, "memory.zswap.max", most)?;
    let mut probe = ground.start(group, "memory")?;
    order(&mut probe, &format!("touch {WANTED}"))?;
    ground.number(group, "memory.zswap.current")
}

pub(super) fn zswap(ground: &mut Fixture) -> Result<Outcome, Error> {
    let switch = Path::new("/sys/module/zswap/parameters/enabled");
    let root = ground.root().clone();
    if !root.exists(switch) {
        return Ok(Outcome::not_available("zswap is not built into this kernel"));
    }
    if let Err(error) = ground.ledger().write_file(&root, switch, "Y") {
        return Ok(Outcome::not_available(format!("zswap cannot be switched on: {error}")));
    }
    let (free, none) = (zswapped(ground, "free", "max")?, zswapped(ground, "none", "0")?);
    Ok(judge_zswap(free, none))
}

fn judge_zswap(free: u64, none: u64) -> Outcome {
    let seen = format!(
        "a process that swaps: {:.2} MiB compressed with memory.zswap.max max, {:.2} MiB with 0",
        mib(free),
        mib(none)
    );
    if none == 0 && free == 0 {
        return Outcome::void("zswap kept nothing without a limit either").with(seen);
    }
    Outcome::holds(none == 0, seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Verdict;

    #[test]
    fn swap_that_is_not_bounded_is_broken() {
        let bounded = Swapped { allowed: 8 * MIB, got: None, swapped: 0, kills: 1 };
        assert_eq!(judge_bound(&bounded).verdict, Verdict::Kept);
        let free = Swapped { got: Some(WANTED), swapped: 33 * MIB, kills: 0, ..bounded };
        assert_eq!(judge_bound(&free).verdict, Verdict::Broken);
    }

    #[test]
    fn a_kill_with_swap_to_go_to_is_broken_unless_there_is_none_left() {
        let killed = Swapped { allowed: 128 * MIB, got: None, swapped: 0, kills: 1 };
        assert_eq!(judge_rest(&killed, 1 << 30).verdict, Verdict::Broken);
        assert_eq!(judge_rest(&killed, MIB).verdict, Verdict::Void);
        let lives = Swapped { got: Some(WANTED), swapped: 33 * MIB, kills: 0, ..killed };
        assert_eq!(judge_rest(&lives, 1 << 30).verdict, Verdict::Kept);
    }

    #[test]
    fn zswap_beyond_its_limit_is_broken() {
        assert_eq!(judge_zswap(MIB, 0).verdict, Verdict::Kept);
        assert_eq!(judge_zswap(MIB, MIB).verdict, Verdict::Broken);
        assert_eq!(judge_zswap(0, 0).verdict, Verdict::Void);
    }
}
