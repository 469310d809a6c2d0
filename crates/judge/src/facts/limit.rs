//! `limit`: whether each memory limit bound.
//!
//! An experiment under a limit that was never reached shows nothing about the limit, and its
//! numbers do not reveal that: the workload looks like one that a limit does not hurt.

use assay_record::run_folder::knob_value;
use assay_record::run_folder::sorted::Sorted;
use assay_record::terms::Measure;
use assay_stats::series::{Series, growth};

use super::Evidence;
use crate::repeat::Repeat;
use crate::verdict::Fact;
use crate::verdict::wording::{percent, rate};

/// Minimum refaults relative to the limit: a limit just above the demand takes a page here and
/// there.
const WANTED_BACK: f64 = 0.01;

/// Waiting for memory for a smaller part of the time is noise.
const WAITED: f64 = 0.01;

/// A group whose peak came this near was at its limit, even without a counter of it: on cgroup v1
/// charges come in batches of 64 pages.
const AT_LIMIT: f64 = 0.995;

const PAGE: f64 = 4096.0;

/// States for every memory limit of the trial whether it bound, touched or did not bind. `None`
/// without memory limits.
pub(super) fn fact(evidence: &Evidence<'_>) -> Option<Fact> {
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
    let parts: Vec<String> =
        limited.iter().map(|group| of_group(evidence.repeats, group)).collect();
    Some(Fact { fact: "limit".to_owned(), evidence: parts.join("; ") })
}

/// Readings about one group's limit.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct LimitReadings {
    /// Bytes.
    limit: f64,
    /// Peak use of the group.
    peak: Option<f64>,
    /// How often the limit was reached.
    met: Option<f64>,
    /// Refaulted bytes.
    refaulted: Option<f64>,
    /// Processes killed.
    killed: Option<f64>,
    /// Peak of its anonymous memory in huge pages.
    huge: Option<f64>,
    /// The part of the time in which some task of the group waited for memory.
    waited: Option<f64>,
}

/// Effect of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// It caused refaults, waiting or kills.
    Bound,
    /// It was reached without harm.
    Touched,
    /// It was never reached.
    DidNotBind,
}

impl LimitReadings {
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
}

impl Outcome {
    const fn word(self) -> &'static str {
        match self {
            Self::Bound => "bound",
            Self::Touched => "touched",
            Self::DidNotBind => "did not bind",
        }
    }
}

/// The effect of one group's limit in each repeat, with the figures.
fn of_group(repeats: &[Repeat<'_>], group: &str) -> String {
    let mut found = Vec::new();
    for repeat in repeats {
        let seen = repeat.table("memory").and_then(|table| {
            let limit = knob_value::number(repeat.record, group, "memory.max")?;
            Ok(seen(repeat, &table, group, limit))
        });
        match seen {
            Ok(seen) => found.push((repeat.number, seen)),
            Err(why) => return format!("`{group}`: not available: {why}"),
        }
    }
    let seen: Vec<LimitReadings> = found.iter().map(|(_, seen)| *seen).collect();
    format!("`{group}` {}: {}", outcomes(&found), figures(&seen))
}

/// `did not bind`, or `bound in repeat 2, touched in repeats 1 and 3`.
fn outcomes(found: &[(usize, LimitReadings)]) -> String {
    let parts = [Outcome::Bound, Outcome::Touched, Outcome::DidNotBind].map(|outcome| {
        let repeats: Vec<String> = found
            .iter()
            .filter(|(_, seen)| seen.outcome() == outcome)
            .map(|(number, _)| number.to_string())
            .collect();
        match repeats.len() {
            0 => None,
            all if all == found.len() => Some(outcome.word().to_owned()),
            1 => Some(format!("{} in repeat {}", outcome.word(), repeats[0])),
            _ => Some(format!("{} in repeats {}", outcome.word(), repeats.join(", "))),
        }
    });
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// The figures over all repeats; missing ones are named.
fn figures(seen: &[LimitReadings]) -> String {
    let held = |bytes: f64| rate(Measure::MemoryCurrent, bytes);
    let limit = seen.first().map_or(0.0, |seen| seen.limit);
    let range = |of: fn(&LimitReadings) -> Option<f64>,
                 write: &dyn Fn(f64) -> String|
     -> Option<String> {
        let values: Vec<f64> = seen.iter().filter_map(of).collect();
        let (low, high) =
            (values.iter().copied().reduce(f64::min)?, values.iter().copied().reduce(f64::max)?);
        let (low, high) = (write(low), write(high));
        Some(if low == high { high } else { format!("{low} to {high}") })
    };
    let mut parts = vec![format!("limit {}", held(limit))];
    parts.push(match range(|seen| seen.peak, &|peak| percent(peak / limit)) {
        Some(peak) => format!("peak {peak} of it"),
        None => "peak not available".to_owned(),
    });
    parts.push(match range(|seen| seen.met, &|met| format!("{met:.0}")) {
        Some(met) => format!("reached {met} times"),
        None => "how often it was reached is not available".to_owned(),
    });
    if let Some(bytes) = range(|seen| seen.refaulted, &held) {
        parts.push(format!("{bytes} refaulted"));
    }
    let killed = |seen: &LimitReadings| seen.killed.filter(|killed| *killed > 0.0);
    if let Some(killed) = range(killed, &|killed| format!("{killed:.0}")) {
        parts.push(format!("{killed} processes killed"));
    }
    if let Some(huge) = range(|seen| seen.huge, &held) {
        parts.push(format!("at most {huge} in huge pages"));
    }
    parts.push(match range(|seen| seen.waited, &percent) {
        Some(waited) => format!("waited for memory {waited} of the time"),
        None => "waiting for memory not available (cgroup v1 does not count it)".to_owned(),
    });
    parts.join(", ")
}

/// Reads all samples of the repeat, not only its judged window: a limit that bound during the
/// warm-up has bound.
fn seen(repeat: &Repeat<'_>, table: &Sorted<'_>, group: &str, limit: f64) -> LimitReadings {
    let series = |columns: &[&str]| table.sum(group, columns).ok();
    let grown = |columns: &[&str]| series(columns).and_then(|series| whole(&series)).map(|g| g.0);
    let most = |columns: &[&str]| series(columns)?.iter().map(|(_, value)| *value).reduce(f64::max);
    let waited = repeat.table("pressure").ok().and_then(|pressure| {
        let series = pressure.sum(group, &["memory_some_us"]).ok()?;
        whole(&series).map(|(grown, seconds)| grown * 1e-6 / seconds)
    });
    // The higher of the peak file and the sampled values: a peak file may be missing.
    let peak = [most(&["peak_bytes"]), most(&["current_bytes"])];
    LimitReadings {
        limit,
        peak: peak.into_iter().flatten().reduce(f64::max),
        met: grown(&["max_events"]),
        refaulted: grown(Measure::MemoryRefaults.columns()).map(|pages| pages * PAGE),
        killed: grown(&["oom_kills"]),
        huge: most(&["anon_huge_bytes"]),
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

    fn outcome(seen: LimitReadings) -> Outcome {
        LimitReadings { limit: LIMIT, ..seen }.outcome()
    }

    #[test]
    fn a_limit_binds_when_it_was_reached_and_hurt() {
        let met = LimitReadings { peak: Some(LIMIT), met: Some(12.0), ..LimitReadings::default() };
        assert_eq!(outcome(met), Outcome::Touched);
        assert_eq!(outcome(LimitReadings { refaulted: Some(0.02 * LIMIT), ..met }), Outcome::Bound);
        assert_eq!(outcome(LimitReadings { refaulted: Some(4096.0), ..met }), Outcome::Touched);
        assert_eq!(outcome(LimitReadings { killed: Some(1.0), ..met }), Outcome::Bound);
        assert_eq!(outcome(LimitReadings { waited: Some(0.2), ..met }), Outcome::Bound);
    }

    #[test]
    fn a_limit_that_was_never_reached_did_not_bind() {
        let free =
            LimitReadings { peak: Some(0.6 * LIMIT), met: Some(0.0), ..LimitReadings::default() };
        assert_eq!(outcome(free), Outcome::DidNotBind);
        assert_eq!(outcome(LimitReadings { refaulted: Some(LIMIT), ..free }), Outcome::DidNotBind);
        let unseen = LimitReadings { met: None, peak: Some(LIMIT), ..LimitReadings::default() };
        assert_eq!(outcome(unseen), Outcome::Touched, "the peak shows it too");
    }

    #[test]
    fn missing_figures_are_named() {
        let text = figures(&[LimitReadings { limit: LIMIT, ..LimitReadings::default() }]);
        assert!(text.contains("limit 200.0 MiB, peak not available"), "{text}");
        assert!(text.contains("cgroup v1"), "{text}");
    }

    #[test]
    fn different_outcomes_are_listed_by_repeat() {
        let free = LimitReadings {
            limit: LIMIT,
            peak: Some(0.6 * LIMIT),
            met: Some(0.0),
            ..LimitReadings::default()
        };
        let met = LimitReadings { peak: Some(LIMIT), met: Some(3.0), ..free };
        assert_eq!(outcomes(&[(1, free), (2, free)]), "did not bind");
        let found = [(1, free), (2, met), (3, free)];
        assert_eq!(outcomes(&found), "touched in repeat 2; did not bind in repeats 1, 3");
        let text = figures(&[free, met]);
        assert!(text.contains("peak 60.0 % to 100 % of it, reached 0 to 3 times"), "{text}");
    }
}
