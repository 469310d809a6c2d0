//! Validity checks on external numbers.
//!
//! Checks without data are listed as not available and pass, since otherwise nothing measured
//! elsewhere could ever be judged. The caveat of the judgement reports it.

use assay_verdict::wording::{percent, some_of};
use assay_verdict::{Cause, Check};

use super::numbers::{Amounts, ExternalData, ExternalGroup};

/// Groups must have run together for this part of the longest runtime.
const TOGETHER: f64 = 0.9;

/// A group that kept fewer than this part of its requests outstanding was not backlogged.
const LEAST_PART: f64 = 0.5;

/// All checks, including those that hold.
pub(super) fn all(outside: &ExternalData) -> Vec<Check> {
    vec![
        workloads(outside),
        alone(outside),
        together(outside),
        backlogged(outside),
        disk(outside),
        page_cache(outside),
    ]
}

/// The cause proven by a failed check.
pub(super) fn cause(check: &Check) -> Option<Cause> {
    let (code, summary) = match check.check.as_str() {
        "workloads" => ("C-WORKLOAD", "a workload failed"),
        "alone" => ("C-ALONE", "there was no other group to share with"),
        "together" => ("C-NOT-TOGETHER", "the groups did not run at the same time"),
        "backlogged" => ("C-DEMAND", "a group did not request all that it could have had"),
        "disk" => ("C-OTHER-DISK", "the groups used different disks"),
        "page-cache" => ("C-PAGE-CACHE", "the page cache may have been measured"),
        _ => return None,
    };
    (!check.ok).then(|| Cause {
        code: code.to_owned(),
        summary: summary.to_owned(),
        evidence: vec![check.evidence.clone()],
        strength: None,
    })
}

fn check(name: &str, ok: bool, evidence: impl Into<String>) -> Check {
    Check { check: name.to_owned(), ok, evidence: evidence.into() }
}

fn named(groups: &[ExternalGroup], say: impl Fn(&ExternalGroup) -> Option<String>) -> Vec<String> {
    let lines = groups.iter().filter_map(|group| Some((group, say(group)?)));
    lines.map(|(group, said)| format!("`{}` {said}", group.name)).collect()
}

fn workloads(outside: &ExternalData) -> Check {
    let failed = named(&outside.groups, |group| group.facts.failure.clone());
    match failed.is_empty() {
        true => check("workloads", true, "no workload reports an error"),
        false => check("workloads", false, some_of(&failed, "; ")),
    }
}

fn alone(outside: &ExternalData) -> Check {
    let groups = outside.groups.len();
    check("alone", groups > 1, format!("{groups} groups are compared"))
}

/// Shares are meaningful only for a common time.
fn together(outside: &ExternalData) -> Check {
    let spans: Option<Vec<(f64, f64)>> = outside.groups.iter().map(span).collect();
    let seconds: Vec<f64> = outside.groups.iter().filter_map(length).collect();
    let longest = seconds.iter().copied().fold(0.0, f64::max);
    let shortest = seconds.iter().copied().fold(f64::INFINITY, f64::min);
    if seconds.len() == outside.groups.len() && shortest < TOGETHER * longest {
        return check(
            "together",
            false,
            format!("one group ran for {shortest:.1} s and another for {longest:.1} s"),
        );
    }
    let Some(spans) = spans else {
        return check(
            "together",
            true,
            "not available: the time at which each group ran is unknown",
        );
    };
    let from = spans.iter().map(|span| span.0).fold(f64::NEG_INFINITY, f64::max);
    let to = spans.iter().map(|span| span.1).fold(f64::INFINITY, f64::min);
    let part = (to - from).max(0.0) / longest.max(f64::MIN_POSITIVE);
    check(
        "together",
        part >= TOGETHER,
        format!(
            "all groups ran at once for {:.1} s, {} of the longest (at least {} needed)",
            (to - from).max(0.0),
            percent(part),
            percent(TOGETHER)
        ),
    )
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

fn backlogged(outside: &ExternalData) -> Check {
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
        return check("backlogged", false, some_of(&idle, "; "));
    }
    let kept = named(&outside.groups, |group| {
        Some(format!("kept {:.1} requests outstanding", group.facts.outstanding?))
    });
    if kept.is_empty() {
        return check(
            "backlogged",
            true,
            "not available: whether the groups always had requests waiting is unknown",
        );
    }
    let queue = outside.groups.iter().find_map(|group| group.facts.disk.as_ref());
    let queue = queue.map_or_else(String::new, |(disk, queue)| {
        format!("; the mean queue of {disk} was {queue:.1}")
    });
    check("backlogged", true, format!("by latency times rate {}{queue}", some_of(&kept, ", ")))
}

fn disk(outside: &ExternalData) -> Check {
    let mut disks: Vec<&str> = outside
        .groups
        .iter()
        .filter_map(|group| Some(group.facts.disk.as_ref()?.0.as_str()))
        .collect();
    disks.sort_unstable();
    disks.dedup();
    match disks.as_slice() {
        [] => check("disk", true, "not available: the disk used is unknown"),
        [one] => check("disk", true, format!("all groups with a known disk used {one}")),
        several => check(
            "disk",
            false,
            format!("the groups used {}, which are divided separately", several.join(", ")),
        ),
    }
}

fn page_cache(outside: &ExternalData) -> Check {
    let buffered = named(&outside.groups, |group| {
        (group.facts.direct == Some(false)).then(|| "went through the page cache".to_owned())
    });
    if !buffered.is_empty() {
        let said = some_of(&buffered, "; ");
        return check(
            "page-cache",
            false,
            format!("{said}, so that its bytes need not be the disk's"),
        );
    }
    match outside.groups.iter().all(|group| group.facts.direct == Some(true)) {
        true => check("page-cache", true, "all groups bypassed the page cache"),
        false => check("page-cache", true, "not available: whether I/O was direct is unknown"),
    }
}
