//! `limit`: whether each limit on memory bound at all.
//!
//! An experiment under a limit that nothing met shows nothing about the limit, and its numbers do
//! not tell: a workload whose limit was never met looks like one that a limit does not hurt.

use super::Evidence;
use crate::knob_value;
use crate::repeat::Repeat;
use crate::sorted::Sorted;
use assay_stats::series::{Series, growth};
use assay_verdict::Fact;
use assay_verdict::Measure;
use assay_verdict::wording::{percent, rate};

/// Pages that were taken and wanted back must come to this part of the limit to have mattered: a
/// limit just above what is wanted takes a page here and there from whoever comes first.
const WANTED_BACK: f64 = 0.01;

/// Waiting for memory for this part of the time is more than the kernel's own noise.
const WAITED: f64 = 0.01;

/// A group that came so near was at its limit, though no counter says that it was met: on cgroup
/// v1 a group's charges come in batches of 64 pages.
const AT_LIMIT: f64 = 0.995;

const PAGE: f64 = 4096.0;

/// in every trial in which a group has a limit on memory, the check says for each
/// whether it bound, touched or did not bind. `None` where no group has one.
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
    let said: Vec<String> = limited.iter().map(|group| of_group(evidence.repeats, group)).collect();
    Some(Fact { fact: "limit".to_owned(), evidence: said.join("; ") })
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
    /// The most of its anonymous memory that was in huge pages.
    huge: Option<f64>,
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

/// What one group's limit did in each repeat, and the figures behind it.
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
    let seen: Vec<Seen> = found.iter().map(|(_, seen)| *seen).collect();
    format!("`{group}` {}: {}", outcomes(&found), figures(&seen))
}

/// `did not bind`, or `bound in repeat 2, touched in repeats 1 and 3`.
fn outcomes(found: &[(usize, Seen)]) -> String {
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

/// The figures over all repeats; what could not be seen is named.
fn figures(seen: &[Seen]) -> String {
    let held = |bytes: f64| rate(Measure::MemoryCurrent, bytes);
    let limit = seen.first().map_or(0.0, |seen| seen.limit);
    let range = |of: fn(&Seen) -> Option<f64>, write: &dyn Fn(f64) -> String| -> Option<String> {
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
        Some(met) => format!("met {met} times"),
        None => "how often it was met is not available".to_owned(),
    });
    if let Some(bytes) = range(|seen| seen.refaulted, &held) {
        parts.push(format!("{bytes} taken and wanted back"));
    }
    let killed = |seen: &Seen| seen.killed.filter(|killed| *killed > 0.0);
    if let Some(killed) = range(killed, &|killed| format!("{killed:.0}")) {
        parts.push(format!("{killed} processes killed"));
    }
    if let Some(huge) = range(|seen| seen.huge, &held) {
        parts.push(format!("{huge} in huge pages at most"));
    }
    parts.push(match range(|seen| seen.waited, &percent) {
        Some(waited) => format!("waited for memory {waited} of the time"),
        None => "waiting for memory not available (cgroup v1 counts it for no group)".to_owned(),
    });
    parts.join(", ")
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

    fn outcome(seen: Seen) -> Outcome {
        Seen { limit: LIMIT, ..seen }.outcome()
    }

    #[test]
    fn a_limit_binds_when_it_was_met_and_what_it_took_was_missed() {
        let met = Seen { peak: Some(LIMIT), met: Some(12.0), ..Seen::default() };
        assert_eq!(outcome(met), Outcome::Touched);
        assert_eq!(outcome(Seen { refaulted: Some(0.02 * LIMIT), ..met }), Outcome::Bound);
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
        let text = figures(&[Seen { limit: LIMIT, ..Seen::default() }]);
        assert!(text.contains("limit 200.0 MiB, peak not available"), "{text}");
        assert!(text.contains("cgroup v1"), "{text}");
    }

    #[test]
    fn repeats_that_differ_are_told_apart_and_those_that_agree_are_not() {
        let free =
            Seen { limit: LIMIT, peak: Some(0.6 * LIMIT), met: Some(0.0), ..Seen::default() };
        let met = Seen { peak: Some(LIMIT), met: Some(3.0), ..free };
        assert_eq!(outcomes(&[(1, free), (2, free)]), "did not bind");
        let found = [(1, free), (2, met), (3, free)];
        assert_eq!(outcomes(&found), "touched in repeat 2; did not bind in repeats 1, 3");
        let text = figures(&[free, met]);
        assert!(text.contains("peak 60.0 % to 100 % of it, met 0 to 3 times"), "{text}");
    }
}
