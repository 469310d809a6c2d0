//! `limit`: whether each limit on memory bound at all.
//!
//! An experiment under a limit that nothing met shows nothing about the limit, and its numbers do
//! not tell: a workload whose limit was never met looks like one that a limit does not hurt.

use super::{Evidence, Finding, Gate, Scope, of_each_repeat};
use crate::measure::Measure;
use crate::reading;
use crate::repeat::Repeat;
use crate::series::{Series, Sorted, growth};
use crate::wording::{percent, rate};

/// Of what was taken, this part of the limit must have been wanted back for it to have mattered.
const WANTED_BACK: f64 = 0.001;

/// Waiting for memory for this part of the time is more than the kernel's own noise.
const WAITED: f64 = 0.01;

/// A group that came so near was at its limit, though no counter says that it was met: on cgroup
/// v1 a group's charges come in batches of 64 pages.
const AT_LIMIT: f64 = 0.995;

const PAGE: f64 = 4096.0;

/// No condition: in every trial in which a group has a limit on memory, the check says for each
/// whether it bound, touched or did not bind. `None` where no group has one.
pub(super) fn gate(evidence: &Evidence<'_>) -> Option<Gate> {
    let limited: Vec<&str> = evidence
        .trial
        .groups
        .iter()
        .filter(|group| group.knobs.iter().any(|knob| knob.knob == "memory.max"))
        .map(|group| group.name.as_str())
        .collect();
    if limited.is_empty() {
        return None;
    }
    let check = of_each_repeat("limit", evidence, |repeat| match repeat.table("memory") {
        Err(why) => Finding::spared(&why),
        Ok(table) => {
            let seen: Vec<String> =
                limited.iter().map(|group| of_group(repeat, &table, group)).collect();
            Finding::new(true, seen.join("; "))
        }
    });
    Some(Gate { check, scope: Scope::All, proves: None })
}

/// What was seen of one group's limit.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Seen {
    /// Bytes.
    limit: f64,
    /// The most that the group held.
    peak: Option<f64>,
    /// How often the limit was met.
    met: Option<f64>,
    /// Bytes that were taken and wanted back.
    refaulted: Option<f64>,
    /// Processes killed.
    killed: Option<f64>,
    /// The part of the time in which some task of the group waited for memory.
    waited: Option<f64>,
}

/// What a limit did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// It took something that was wanted back, made tasks wait, or killed.
    Bound,
    /// It was met, and what was taken was not missed.
    Touched,
    /// It was never met.
    DidNotBind,
}

impl Seen {
    fn outcome(&self) -> Outcome {
        let above = |value: Option<f64>, least: f64| value.is_some_and(|value| value > least);
        let met = above(self.met, 0.0) || above(self.peak, self.limit * AT_LIMIT);
        let hurt = above(self.refaulted, self.limit * WANTED_BACK)
            || above(self.killed, 0.0)
            || above(self.waited, WAITED);
        match (met, hurt) {
            (true, true) => Outcome::Bound,
            (true, false) => Outcome::Touched,
            (false, _) => Outcome::DidNotBind,
        }
    }

    /// The figures behind the outcome; what could not be seen is named.
    fn figures(&self) -> String {
        let held = |bytes: f64| rate(Measure::MemoryCurrent, bytes);
        let mut parts = vec![format!("limit {}", held(self.limit))];
        parts.push(match self.peak {
            Some(peak) => format!("peak {} ({})", held(peak), percent(peak / self.limit)),
            None => "peak not available".to_owned(),
        });
        parts.push(match self.met {
            Some(met) => format!("met {met:.0} times"),
            None => "how often it was met is not available".to_owned(),
        });
        if let Some(bytes) = self.refaulted {
            parts.push(format!("{} taken and wanted back", held(bytes)));
        }
        if let Some(killed) = self.killed.filter(|killed| *killed > 0.0) {
            parts.push(format!("{killed:.0} processes killed"));
        }
        parts.push(match self.waited {
            Some(waited) => format!("waited for memory {} of the time", percent(waited)),
            None => "waiting for memory is not counted for groups of cgroup v1".to_owned(),
        });
        parts.join(", ")
    }
}

fn of_group(repeat: &Repeat<'_>, table: &Sorted<'_>, group: &str) -> String {
    let limit = match reading::number(repeat.record, group, "memory.max") {
        Ok(limit) => limit,
        Err(why) => return format!("`{group}`: not available: {why}"),
    };
    let seen = seen(repeat, table, group, limit);
    let word = match seen.outcome() {
        Outcome::Bound => "bound",
        Outcome::Touched => "touched",
        Outcome::DidNotBind => "did not bind",
    };
    format!("`{group}` {word}: {}", seen.figures())
}

/// Over all samples of the repeat, and not only over its judged window: a limit that bound during
/// the warm-up has bound.
fn seen(repeat: &Repeat<'_>, table: &Sorted<'_>, group: &str, limit: f64) -> Seen {
    let series = |columns: &[&str]| table.sum(group, columns).ok();
    let grown = |columns: &[&str]| series(columns).and_then(|series| whole(&series)).map(|g| g.0);
    let most = |columns: &[&str]| series(columns)?.iter().map(|(_, value)| *value).reduce(f64::max);
    let waited = repeat.table("pressure").ok().and_then(|pressure| {
        let series = pressure.sum(group, &["memory_some_us"]).ok()?;
        whole(&series).map(|(grown, seconds)| grown * 1e-6 / seconds)
    });
    // The highest of what was ever held and of what was seen: a peak file may be missing.
    let peak = [most(&["peak_bytes"]), most(&["current_bytes"])];
    Seen {
        limit,
        peak: peak.into_iter().flatten().reduce(f64::max),
        met: grown(&["max_events"]),
        refaulted: grown(Measure::MemoryRefaults.columns()).map(|pages| pages * PAGE),
        killed: grown(&["oom_kills"]),
        waited,
    }
}

fn whole(series: &Series) -> Option<(f64, f64)> {
    growth(series, 0, u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: f64 = 200.0 * 1_048_576.0;

    fn outcome(seen: Seen) -> Outcome {
        Seen { limit: LIMIT, ..seen }.outcome()
    }

    #[test]
    fn a_limit_binds_when_it_was_met_and_what_it_took_was_missed() {
        let met = Seen { peak: Some(LIMIT), met: Some(12.0), ..Seen::default() };
        assert_eq!(outcome(met), Outcome::Touched);
        assert_eq!(outcome(Seen { refaulted: Some(0.01 * LIMIT), ..met }), Outcome::Bound);
        assert_eq!(outcome(Seen { refaulted: Some(4096.0), ..met }), Outcome::Touched);
        assert_eq!(outcome(Seen { killed: Some(1.0), ..met }), Outcome::Bound);
        assert_eq!(outcome(Seen { waited: Some(0.2), ..met }), Outcome::Bound);
    }

    #[test]
    fn a_limit_that_was_never_met_did_not_bind_whatever_else_happened() {
        let free = Seen { peak: Some(0.6 * LIMIT), met: Some(0.0), ..Seen::default() };
        assert_eq!(outcome(free), Outcome::DidNotBind);
        assert_eq!(outcome(Seen { refaulted: Some(LIMIT), ..free }), Outcome::DidNotBind);
        let unseen = Seen { met: None, peak: Some(LIMIT), ..Seen::default() };
        assert_eq!(outcome(unseen), Outcome::Touched, "the peak shows it as well");
    }

    #[test]
    fn figures_say_what_could_not_be_seen() {
        let text = Seen { limit: LIMIT, ..Seen::default() }.figures();
        assert!(text.contains("limit 200.0 MiB, peak not available"), "{text}");
        assert!(text.contains("cgroup v1"), "{text}");
    }
}
