//! Validity checks on external numbers.
//!
//! Checks without data are listed as not available and pass, since otherwise nothing measured
//! elsewhere could ever be judged. The caveat of the judgement reports it.

use assay_judge::verdict::wording::{percent, some_of};
use assay_judge::verdict::{Cause, Check};

use super::{Amounts, ExternalData, ExternalGroup};

/// Groups must have run together for this part of the longest runtime.
const TOGETHER: f64 = 0.9;

/// A group that kept fewer than this part of its requests outstanding was not backlogged.
const LEAST_PART: f64 = 0.5;

/// The evidence that a check holds, or that it does not.
type Finding = Result<String, String>;

/// A check's name, what it finds, and the cause that its failure proves: code and summary.
type Rule = (&'static str, fn(&ExternalData) -> Finding, (&'static str, &'static str));

const CHECKS: [Rule; 6] = [
    ("workloads", workloads, ("C-WORKLOAD", "a workload failed")),
    ("alone", alone, ("C-ALONE", "there was no other group to share with")),
    ("together", together, ("C-NOT-TOGETHER", "the groups did not run at the same time")),
    ("backlogged", backlogged, ("C-DEMAND", "a group did not request all that it could have had")),
    ("disk", disk, ("C-OTHER-DISK", "the groups used different disks")),
    ("page-cache", page_cache, ("C-PAGE-CACHE", "the page cache may have been measured")),
];

/// All checks, including those that hold.
pub(super) fn all(outside: &ExternalData) -> Vec<Check> {
    let one = |(name, find, _): &Rule| {
        let found = find(outside);
        let ok = found.is_ok();
        Check { check: (*name).to_owned(), ok, evidence: found.unwrap_or_else(|why| why) }
    };
    CHECKS.iter().map(one).collect()
}

/// The cause proven by a failed check.
pub(super) fn cause(check: &Check) -> Option<Cause> {
    let (_, _, (code, summary)) = CHECKS.iter().find(|(name, ..)| *name == check.check)?;
    (!check.ok).then(|| Cause::new(code, summary, vec![check.evidence.clone()]))
}

fn named(groups: &[ExternalGroup], say: impl Fn(&ExternalGroup) -> Option<String>) -> Vec<String> {
    let lines = groups.iter().filter_map(|group| Some((group, say(group)?)));
    lines.map(|(group, said)| format!("`{}` {said}", group.name)).collect()
}

fn workloads(outside: &ExternalData) -> Finding {
    let failed = named(&outside.groups, |group| group.facts.failure.clone());
    match failed.is_empty() {
        true => Ok("no workload reports an error".to_owned()),
        false => Err(some_of(&failed, "; ")),
    }
}

fn alone(outside: &ExternalData) -> Finding {
    let groups = outside.groups.len();
    let text = format!("{groups} groups are compared");
    if groups > 1 { Ok(text) } else { Err(text) }
}

/// Shares are meaningful only for a common time.
fn together(outside: &ExternalData) -> Finding {
    let spans: Option<Vec<(f64, f64)>> = outside.groups.iter().map(span).collect();
    let seconds: Vec<f64> = outside.groups.iter().filter_map(length).collect();
    let longest = seconds.iter().copied().fold(0.0, f64::max);
    let shortest = seconds.iter().copied().fold(f64::INFINITY, f64::min);
    if seconds.len() == outside.groups.len() && shortest < TOGETHER * longest {
        return Err(format!("one group ran for {shortest:.1} s and another for {longest:.1} s"));
    }
    let Some(spans) = spans else {
        return Ok("not available: the time at which each group ran is unknown".to_owned());
    };
    let from = spans.iter().map(|span| span.0).fold(f64::NEG_INFINITY, f64::max);
    let to = spans.iter().map(|span| span.1).fold(f64::INFINITY, f64::min);
    let part = (to - from).max(0.0) / longest.max(f64::MIN_POSITIVE);
    let text = format!(
        "all groups ran at once for {:.1} s, {} of the longest (at least {} needed)",
        (to - from).max(0.0),
        percent(part),
        percent(TOGETHER)
    );
    if part >= TOGETHER { Ok(text) } else { Err(text) }
}

/// When a group ran, by its readings or its tool.
fn span(group: &ExternalGroup) -> Option<(f64, f64)> {
    match &group.amounts {
        Amounts::Series(series) => {
            Some((series.first()?.0 as f64 * 1e-9, series.last()?.0 as f64 * 1e-9))
        }
        Amounts::Total { .. } => Some((group.facts.began_s?, group.facts.ended_s?)),
    }
}

fn length(group: &ExternalGroup) -> Option<f64> {
    match &group.amounts {
        Amounts::Series(_) => span(group).map(|(from, to)| to - from),
        Amounts::Total { seconds, .. } => Some(*seconds),
    }
}

fn backlogged(outside: &ExternalData) -> Finding {
    let idle = named(&outside.groups, |group| {
        let facts = &group.facts;
        if let Some(option) = &facts.paced {
            return Some(format!("was limited by its own option `{option}`"));
        }
        let (kept, wanted) = (facts.outstanding?, facts.wanted?);
        (kept < LEAST_PART * wanted).then(|| {
            format!("kept {kept:.1} of {wanted} requests outstanding, by latency times rate")
        })
    });
    if !idle.is_empty() {
        return Err(some_of(&idle, "; "));
    }
    let kept = named(&outside.groups, |group| {
        Some(format!("kept {:.1} requests outstanding", group.facts.outstanding?))
    });
    if kept.is_empty() {
        return Ok(
            "not available: whether the groups always had requests waiting is unknown".to_owned()
        );
    }
    let queue = outside.groups.iter().find_map(|group| group.facts.disk.as_ref());
    let queue = queue.map_or_else(String::new, |(disk, queue)| {
        format!("; the mean queue of {disk} was {queue:.1}")
    });
    Ok(format!("by latency times rate {}{queue}", some_of(&kept, ", ")))
}

fn disk(outside: &ExternalData) -> Finding {
    let mut disks: Vec<&str> = outside
        .groups
        .iter()
        .filter_map(|group| Some(group.facts.disk.as_ref()?.0.as_str()))
        .collect();
    disks.sort_unstable();
    disks.dedup();
    match disks.as_slice() {
        [] => Ok("not available: the disk used is unknown".to_owned()),
        [one] => Ok(format!("all groups with a known disk used {one}")),
        several => {
            Err(format!("the groups used {}, which are divided separately", several.join(", ")))
        }
    }
}

fn page_cache(outside: &ExternalData) -> Finding {
    let buffered = named(&outside.groups, |group| {
        (group.facts.direct == Some(false)).then(|| "went through the page cache".to_owned())
    });
    if !buffered.is_empty() {
        let said = some_of(&buffered, "; ");
        return Err(format!("{said}, so that its bytes need not be the disk's"));
    }
    match outside.groups.iter().all(|group| group.facts.direct == Some(true)) {
        true => Ok("all groups bypassed the page cache".to_owned()),
        false => Ok("not available: whether I/O was direct is unknown".to_owned()),
    }
}
