//! memory.high slows a group down that is above it, and kills nobody.

use assay_kernel::Error;

use super::hog::{Done, MIB, mib, oom_kills, order};
use crate::fixture::Fixture;
use crate::outcome::Outcome;

const WANTED: u64 = 96 * MIB;
/// How long the slowed hog is waited for, in seconds.
const SECONDS: u64 = 3;

/// What a hog got below or above memory.high.
#[derive(Debug, Clone, Copy)]
struct Hog {
    high: Option<u64>,
    /// `None` when it was killed.
    got: Option<Done>,
    /// memory.events, `high`.
    events: u64,
    kills: u64,
}

fn hog(ground: &Fixture, group: &str, high: Option<u64>) -> Result<Hog, Error> {
    ground.make(group)?;
    // With swap space to go to, reclaim would succeed and nothing would be held up.
    if ground.has(group, "memory.swap.max") {
        ground.write(group, "memory.swap.max", "0")?;
    }
    if let Some(high) = high {
        ground.write(group, "memory.high", &high.to_string())?;
    }
    let mut probe = ground.start(group, "memory")?;
    let got = order(&mut probe, &format!("touch {WANTED} {SECONDS}"))?;
    let events = ground.keyed(group, "memory.events", "high")?;
    Ok(Hog { high, got, events, kills: oom_kills(ground, group)? })
}

impl Hog {
    fn speed(&self) -> f64 {
        self.got.map_or(0.0, |done| done.mib() / done.seconds)
    }

    fn seen(&self) -> String {
        let high = self.high.map_or_else(|| "max".to_owned(), |n| format!("{:.0} MiB", mib(n)));
        let got = self.got.map_or_else(
            || "it was killed".to_owned(),
            |done| format!("{:.0} of 96 MiB in {:.2} s", done.mib(), done.seconds),
        );
        format!("memory.high {high}: {got}; events high {}, oom_kill {}", self.events, self.kills)
    }
}

pub(super) fn throttles(ground: &mut Fixture) -> Result<Outcome, Error> {
    let free = hog(ground, "free", None)?;
    let held = hog(ground, "held", Some(24 * MIB))?;
    Ok(judge(&free, &held))
}

/// Throttling makes a hog slower by orders of magnitude, and a busy host slows both.
fn judge(free: &Hog, held: &Hog) -> Outcome {
    let part = held.speed() / free.speed();
    let outcome = if held.got.is_none() || held.kills > 0 {
        Outcome::broken("memory.high killed")
    } else if free.got.is_none() {
        Outcome::void("the hog without a limit did not live either")
    } else if held.events == 0 {
        Outcome::broken("nothing was counted above memory.high")
    } else if part < 0.5 {
        Outcome::kept(format!("{:.1} % of the speed that it has without", part * 100.0))
    } else if part > 0.8 {
        Outcome::broken("the hog was not slowed")
    } else {
        Outcome::undecided("the two speeds are too near to each other")
    };
    outcome.with(held.seen()).with(free.seen())
}

pub(super) fn leaves_alone(ground: &mut Fixture) -> Result<Outcome, Error> {
    Ok(judge_alone(&hog(ground, "a", Some(1 << 30))?))
}

fn judge_alone(hog: &Hog) -> Outcome {
    let whole = hog.got.is_some_and(|done| done.bytes == WANTED);
    if hog.events > 0 || hog.kills > 0 {
        return Outcome::broken("memory.high acted on a group below it").with(hog.seen());
    }
    if whole {
        return Outcome::kept(hog.seen());
    }
    Outcome::undecided("the host was too slow for the hog").with(hog.seen())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Verdict;

    fn at(seconds: f64, bytes: u64, events: u64) -> Hog {
        Hog { high: Some(24 * MIB), got: Some(Done { bytes, seconds }), events, kills: 0 }
    }

    #[test]
    fn a_kernel_that_does_not_slow_or_kills_is_broken() {
        let free = Hog { high: None, ..at(0.05, WANTED, 0) };
        assert_eq!(judge(&free, &at(3.0, 30 * MIB, 50)).verdict, Verdict::Kept);
        assert_eq!(judge(&free, &at(0.05, WANTED, 50)).verdict, Verdict::Broken);
        assert_eq!(judge(&free, &at(3.0, 30 * MIB, 0)).verdict, Verdict::Broken);
        let killed = Hog { got: None, kills: 1, ..free };
        assert_eq!(judge(&free, &killed).verdict, Verdict::Broken);
        assert_eq!(judge(&free, &at(0.08, WANTED, 50)).verdict, Verdict::Undecided);
    }

    #[test]
    fn acting_below_the_boundary_is_broken() {
        assert_eq!(judge_alone(&at(0.05, WANTED, 0)).verdict, Verdict::Kept);
        assert_eq!(judge_alone(&at(0.05, WANTED, 1)).verdict, Verdict::Broken);
        assert_eq!(judge_alone(&at(3.0, MIB, 0)).verdict, Verdict::Undecided);
    }
}
