//! memory.high slows down a group above it, without killing.

use assay_kernel::Error;

use super::hog::{MIB, Progress, execute, mib, oom_kills};
use crate::fixture::Fixture;
use crate::outcome::{Outcome, Stop};

const REQUESTED: u64 = 96 * MIB;
/// Time limit for the throttled hog, in seconds.
const SECONDS: u64 = 3;

/// Result of a hog below or above memory.high.
#[derive(Debug, Clone, Copy)]
struct Hog {
    high: Option<u64>,
    /// `None` if it was killed.
    got: Option<Progress>,
    /// memory.events, `high`.
    events: u64,
    kills: u64,
}

fn hog(fixture: &Fixture, group: &str, high: Option<u64>) -> Result<Hog, Error> {
    fixture.make(group)?;
    // With swap space, reclaim would succeed and nothing would be slowed down.
    if fixture.has(group, "memory.swap.max") {
        fixture.write(group, "memory.swap.max", "0")?;
    }
    if let Some(high) = high {
        fixture.write(group, "memory.high", &high.to_string())?;
    }
    let mut probe = fixture.start(group, "memory")?;
    let got = execute(&mut probe, &format!("touch {REQUESTED} {SECONDS}"))?;
    let events = fixture.keyed(group, "memory.events", "high")?;
    Ok(Hog { high, got, events, kills: oom_kills(fixture, group)? })
}

impl Hog {
    fn speed(&self) -> f64 {
        self.got.map_or(0.0, |progress| progress.mib() / progress.seconds)
    }

    fn evidence(&self) -> String {
        let high = self.high.map_or_else(|| "max".to_owned(), |n| format!("{:.0} MiB", mib(n)));
        let got = self.got.map_or_else(
            || "it was killed".to_owned(),
            |progress| format!("{:.0} of 96 MiB in {:.2} s", progress.mib(), progress.seconds),
        );
        format!("memory.high {high}: {got}; events high {}, oom_kill {}", self.events, self.kills)
    }
}

pub(super) fn throttles(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    let free = hog(fixture, "free", None)?;
    let held = hog(fixture, "held", Some(24 * MIB))?;
    Ok(judge(&free, &held))
}

/// Throttling makes a hog slower by orders of magnitude; a busy host slows both hogs.
fn judge(free: &Hog, held: &Hog) -> Outcome {
    let part = held.speed() / free.speed();
    let outcome = if held.got.is_none() || held.kills > 0 {
        Outcome::broken("memory.high killed")
    } else if free.got.is_none() {
        Outcome::void("the hog without a limit did not survive, either")
    } else if held.events == 0 {
        Outcome::broken("nothing was counted above memory.high")
    } else if part < 0.5 {
        Outcome::kept(format!("{:.1} % of the unlimited speed", part * 100.0))
    } else if part > 0.8 {
        Outcome::broken("the hog was not slowed")
    } else {
        Outcome::undecided("the two speeds are too similar")
    };
    outcome.with(held.evidence()).with(free.evidence())
}

pub(super) fn leaves_alone(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    Ok(judge_alone(&hog(fixture, "a", Some(1 << 30))?))
}

fn judge_alone(hog: &Hog) -> Outcome {
    let whole = hog.got.is_some_and(|progress| progress.bytes == REQUESTED);
    if hog.events > 0 || hog.kills > 0 {
        return Outcome::broken("memory.high acted on a group below it").with(hog.evidence());
    }
    if whole {
        return Outcome::kept(hog.evidence());
    }
    Outcome::undecided("the host was too slow for the hog").with(hog.evidence())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Verdict;

    fn at(seconds: f64, bytes: u64, events: u64) -> Hog {
        Hog { high: Some(24 * MIB), got: Some(Progress { bytes, seconds }), events, kills: 0 }
    }

    #[test]
    fn missing_throttling_and_kills_are_broken() {
        let free = Hog { high: None, ..at(0.05, REQUESTED, 0) };
        assert_eq!(judge(&free, &at(3.0, 30 * MIB, 50)).verdict, Verdict::Kept);
        assert_eq!(judge(&free, &at(0.05, REQUESTED, 50)).verdict, Verdict::Broken);
        assert_eq!(judge(&free, &at(3.0, 30 * MIB, 0)).verdict, Verdict::Broken);
        let killed = Hog { got: None, kills: 1, ..free };
        assert_eq!(judge(&free, &killed).verdict, Verdict::Broken);
        assert_eq!(judge(&free, &at(0.08, REQUESTED, 50)).verdict, Verdict::Undecided);
    }

    #[test]
    fn acting_below_the_boundary_is_broken() {
        assert_eq!(judge_alone(&at(0.05, REQUESTED, 0)).verdict, Verdict::Kept);
        assert_eq!(judge_alone(&at(0.05, REQUESTED, 1)).verdict, Verdict::Broken);
        assert_eq!(judge_alone(&at(3.0, MIB, 0)).verdict, Verdict::Undecided);
    }
}
