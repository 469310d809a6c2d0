//! Swap: how much a group may use, and what zswap keeps compressed in memory.

use std::path::Path;

use assay_kernel::Error;

use super::hog::{MIB, Progress, execute, mib, oom_kills};
use crate::fixture::Fixture;
use crate::outcome::{Outcome, Stop};

const LIMIT: u64 = 32 * MIB;
const REQUESTED: u64 = 64 * MIB;

/// Result of a hog twice as large as its memory limit, with limited swap space.
#[derive(Debug, Clone, Copy)]
struct Swapped {
    allowed: u64,
    got: Option<u64>,
    swapped: u64,
    kills: u64,
}

fn hog(fixture: &Fixture, allowed: u64) -> Result<Swapped, Error> {
    fixture.make("a")?;
    fixture.write(
        "a",
        fixture.by_version("memory.limit_in_bytes", "memory.max"),
        &LIMIT.to_string(),
    )?;
    // v1 limits memory and swap together, v2 swap alone.
    let (file, value) = fixture
        .by_version(("memory.memsw.limit_in_bytes", LIMIT + allowed), ("memory.swap.max", allowed));
    fixture.write("a", file, &value.to_string())?;
    let mut probe = fixture.start("a", "memory")?;
    let got = execute(&mut probe, &format!("touch {REQUESTED}"))?.map(|progress| progress.bytes);
    let swapped = if fixture.is_v2() {
        fixture.number("a", "memory.swap.current")?
    } else {
        fixture.keyed("a", "memory.stat", "swap")?
    };
    Ok(Swapped { allowed, got, swapped, kills: oom_kills(fixture, "a")? })
}

impl Swapped {
    fn evidence(&self) -> String {
        format!(
            "memory 32 MiB, swap {:.0} MiB, a process that wants 64 MiB {}; {:.1} MiB in swap, \
             oom_kill {}",
            mib(self.allowed),
            if self.got.is_some() { "survived" } else { "was killed" },
            mib(self.swapped),
            self.kills
        )
    }
}

pub(super) fn takes_the_rest(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    Ok(judge_rest(&hog(fixture, 128 * MIB)?, free_swap(fixture)?))
}

/// Free swap space of the host, in bytes.
fn free_swap(fixture: &Fixture) -> Result<u64, Error> {
    let text = fixture.root().read("/proc/meminfo")?;
    Ok(assay_kernel::parse::keyed::kibibytes(&text, "SwapFree").unwrap_or(0))
}

fn judge_rest(hog: &Swapped, free: u64) -> Outcome {
    if hog.got.is_none() && free < REQUESTED {
        return Outcome::void("the host's swap space is nearly full").with(hog.evidence());
    }
    let kept = hog.got == Some(REQUESTED) && hog.swapped >= 24 * MIB && hog.kills == 0;
    Outcome::holds(kept, hog.evidence())
}

pub(super) fn is_bounded(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    Ok(judge_bound(&hog(fixture, 8 * MIB)?))
}

fn judge_bound(hog: &Swapped) -> Outcome {
    let kept = hog.got.is_none() && hog.kills == 1 && hog.swapped <= hog.allowed;
    Outcome::holds(kept, hog.evidence())
}

/// A process that has filled its memory and swaps for a few seconds, with this memory.swap.high.
#[derive(Debug, Clone, Copy)]
struct Braked {
    /// `None` if it was killed.
    got: Option<Progress>,
    /// `high` of memory.swap.events.
    events: u64,
}

impl Braked {
    fn new(fixture: &Fixture, group: &str, high: &str) -> Result<Self, Error> {
        fixture.make(group)?;
        fixture.write(group, "memory.max", &LIMIT.to_string())?;
        fixture.write(group, "memory.swap.high", high)?;
        let mut probe = fixture.start(group, "memory")?;
        // What fits is as fast with every limit.
        execute(&mut probe, &format!("touch {LIMIT}"))?;
        let got = execute(&mut probe, &format!("touch {} 3", REQUESTED - LIMIT))?;
        Ok(Self { got, events: fixture.keyed(group, "memory.swap.events", "high")? })
    }

    fn speed(&self) -> f64 {
        self.got.map_or(0.0, |progress| progress.mib() / progress.seconds)
    }
}

pub(super) fn high(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    let free = Braked::new(fixture, "free", "max")?;
    Ok(judge_high(&free, &Braked::new(fixture, "held", &MIB.to_string())?))
}

fn judge_high(free: &Braked, held: &Braked) -> Outcome {
    let part = held.speed() / free.speed();
    let outcome = if free.got.is_none() {
        Outcome::void("the hog without a limit did not survive")
    } else if held.got.is_none() {
        Outcome::broken("memory.swap.high killed")
    } else if held.events == 0 {
        Outcome::broken("nothing was counted above memory.swap.high")
    } else if part < 0.5 {
        Outcome::kept(format!("{:.1} % of the unlimited speed", part * 100.0))
    } else if part > 0.8 {
        Outcome::broken("the hog was not slowed")
    } else {
        Outcome::undecided("the two speeds are too similar")
    };
    let shown = [("max", free), ("1 MiB", held)].map(|(high, hog)| {
        format!(
            "memory 32 MiB full, memory.swap.high {high}: {:.1} MiB/s; events high {}",
            hog.speed(),
            hog.events
        )
    });
    shown.into_iter().fold(outcome, Outcome::with)
}

/// Peak zswap use of a group that swaps.
fn zswapped(fixture: &Fixture, group: &str, most: &str) -> Result<u64, Error> {
    fixture.make(group)?;
    fixture.write(group, "memory.max", &LIMIT.to_string())?;
    fixture.write(group, "memory.zswap.max", most)?;
    let mut probe = fixture.start(group, "memory")?;
    execute(&mut probe, &format!("touch {REQUESTED}"))?;
    fixture.number(group, "memory.zswap.current")
}

pub(super) fn zswap(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    let switch = Path::new("/sys/module/zswap/parameters/enabled");
    let root = fixture.root().clone();
    if !root.exists(switch) {
        return Err(Stop::not_available("zswap is not built into this kernel"));
    }
    if let Err(error) = fixture.ledger().write_file(&root, switch, "Y") {
        return Err(Stop::not_available(format!("zswap cannot be enabled: {error}")));
    }
    let (free, none) = (zswapped(fixture, "free", "max")?, zswapped(fixture, "none", "0")?);
    Ok(judge_zswap(free, none))
}

fn judge_zswap(free: u64, none: u64) -> Outcome {
    let evidence = format!(
        "a process that swaps: {:.2} MiB compressed with memory.zswap.max max, {:.2} MiB with 0",
        mib(free),
        mib(none)
    );
    if none == 0 && free == 0 {
        return Outcome::void("zswap kept nothing without a limit, either").with(evidence);
    }
    Outcome::holds(none == 0, evidence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Verdict;

    #[test]
    fn unbounded_swap_is_broken() {
        let bounded = Swapped { allowed: 8 * MIB, got: None, swapped: 0, kills: 1 };
        assert_eq!(judge_bound(&bounded).verdict, Verdict::Kept);
        let free = Swapped { got: Some(REQUESTED), swapped: 33 * MIB, kills: 0, ..bounded };
        assert_eq!(judge_bound(&free).verdict, Verdict::Broken);
    }

    #[test]
    fn a_kill_despite_free_swap_is_broken() {
        let killed = Swapped { allowed: 128 * MIB, got: None, swapped: 0, kills: 1 };
        assert_eq!(judge_rest(&killed, 1 << 30).verdict, Verdict::Broken);
        assert_eq!(judge_rest(&killed, MIB).verdict, Verdict::Void);
        let lives = Swapped { got: Some(REQUESTED), swapped: 33 * MIB, kills: 0, ..killed };
        assert_eq!(judge_rest(&lives, 1 << 30).verdict, Verdict::Kept);
    }

    #[test]
    fn zswap_beyond_its_limit_is_broken() {
        assert_eq!(judge_zswap(MIB, 0).verdict, Verdict::Kept);
        assert_eq!(judge_zswap(MIB, MIB).verdict, Verdict::Broken);
        assert_eq!(judge_zswap(0, 0).verdict, Verdict::Void);
    }

    #[test]
    fn a_hog_above_swap_high_that_goes_on_as_before_or_dies_is_broken() {
        let hog = |mib_a_second: u64, events| Braked {
            got: Some(Progress { bytes: mib_a_second * MIB, seconds: 1.0 }),
            events,
        };
        let free = hog(60, 0);
        assert_eq!(judge_high(&free, &hog(6, 40)).verdict, Verdict::Kept);
        assert_eq!(judge_high(&free, &hog(60, 40)).verdict, Verdict::Broken);
        assert_eq!(judge_high(&free, &hog(6, 0)).verdict, Verdict::Broken);
        assert_eq!(judge_high(&free, &Braked { got: None, events: 1 }).verdict, Verdict::Broken);
        assert_eq!(judge_high(&Braked { got: None, ..free }, &free).verdict, Verdict::Void);
    }
}
