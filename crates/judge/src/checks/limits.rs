//! Limits that bind override weights: of CPU time, and of bytes and requests.

use crate::verdict::wording::some_of;
use assay_record::run_folder::LimitReading;

use super::{Evidence, Finding, Rule, Scope, overrides_recorded};
use crate::repeat::{Repeat, is_part};
use crate::throttle;

/// `quota`: no CPU quota, of a group or of one around it, bound while shares were judged.
///
/// A binding quota overrides the weights. Groups without a quota have no counter, and need none.
///
/// A throttled group cannot submit I/O either, and leaves CPUs idle meanwhile.
pub(super) const fn quota(scope: Scope) -> Rule {
    let summary = "a CPU quota bound, so that it and not the weights decided";
    Rule::each("quota", scope, quotas).proves("C-CPU-QUOTA", summary)
}

fn quotas(evidence: &Evidence<'_>, repeat: &Repeat<'_>) -> Finding {
    let Ok(table) = repeat.table("throttle") else { return unseen(repeat) };
    let own = evidence.trial.groups.iter().map(|group| group.name.clone());
    let names: Vec<String> = own.chain(throttle::above(repeat)).collect();
    let bound: Vec<String> = names
        .iter()
        .filter_map(|name| {
            let seen = throttle::counts(&table, repeat, name)?;
            (seen.throttled > 0.0).then(|| format!("the quota of `{name}` {seen}"))
        })
        .collect();
    Finding::unless(&bound, || "no CPU quota bound".to_owned())
}

/// Without counters, a quota that is known to be set may have bound.
fn unseen(repeat: &Repeat<'_>) -> Finding {
    let limits = repeat.record.overrides.iter().flat_map(|overrides| &overrides.limits);
    let quotas: Vec<String> = limits
        .filter(|limit| matches!(limit.file.as_str(), "cpu.max" | "cpu.cfs_quota_us"))
        .map(|limit| format!("`{}` of `{}` reads {}", limit.file, limit.group, limit.text()))
        .collect();
    match quotas.is_empty() {
        true => Finding::new(true, "no group has a CPU quota, and none is known around them"),
        false => Finding::new(
            false,
            format!("{}, and how often it bound was not sampled", some_of(&quotas, "; ")),
        ),
    }
}

/// A group that used this part of its limit was throttled: the kernel grants requests in slices of
/// 100 ms, so a limit is never used in full.
const NEAR: f64 = 0.8;

/// `io-limit`: no limit of bytes or requests, of a group or of one around it, bound while shares of
/// a disk were judged.
///
/// A limit overrides weights. The kernel does not count how often it acts, so a limit counts as
/// binding where the group came near it.
///
/// Evaluated where the run recorded limits.
pub(super) const IO_LIMIT: Rule =
    Rule::each("io-limit", Scope::IoShares, io_limit).when(overrides_recorded).proves(
        "C-IO-LIMIT",
        "a limit of bytes, requests or latency bound, so that it and not the weights decided",
    );

fn io_limit(evidence: &Evidence<'_>, repeat: &Repeat<'_>) -> Finding {
    let Some(overrides) = &repeat.record.overrides else {
        return Finding::unverified("limits were not recorded");
    };
    let (mut bound, mut free) = (Vec::new(), Vec::new());
    for reading in overrides.limits.iter().filter(|reading| concerns(evidence, reading)) {
        for limit in limits_of(reading) {
            let used = limit.column.map(|columns| used(evidence, repeat, reading, columns));
            let text = limit.text(reading, used.as_ref());
            match used {
                Some(Ok(used)) if used < NEAR * limit.value => free.push(text),
                _ => bound.push(text),
            }
        }
    }
    let none = "no group has a limit on the disk, and none is known in groups around them";
    let free = if free.is_empty() { none.to_owned() } else { some_of(&free, "; ") };
    Finding::unless(&bound, || free)
}

/// Whether a limit concerns measured groups, directly or through an outer group; on cgroup v1 a
/// limit holds for its own group alone (block/blk-throttle.c: `sq->parent_sq` without the default
/// hierarchy).
fn concerns(evidence: &Evidence<'_>, reading: &LimitReading) -> bool {
    let own = |name: &&str| *name == reading.group;
    match reading.file.as_str() {
        file if file.starts_with("blkio.throttle.") => evidence.groups.iter().any(own),
        "io.max" | "io.latency" => {
            reading.group.starts_with("above:")
                || evidence.groups.iter().any(|name| is_part(name, &reading.group))
        }
        _ => false,
    }
}

/// One number of a limit file.
struct Limit {
    what: &'static str,
    value: f64,
    /// The column of `io` that it limits; `None` where no counter shows whether it bound.
    column: Option<&'static str>,
}

impl Limit {
    fn text(&self, reading: &LimitReading, used: Option<&Result<f64, String>>) -> String {
        let group = reading.group.strip_prefix("above:").unwrap_or(&reading.group);
        let limit =
            format!("`{}` of `{group}` allows {:.0} {}", reading.file, self.value, self.what);
        match used {
            Some(Ok(used)) => format!("{limit}, and {used:.0} were used"),
            Some(Err(why)) => format!("{limit}, and what was used is not available: {why}"),
            None => format!("{limit}, for which the kernel throttles other groups"),
        }
    }
}

fn limits_of(reading: &LimitReading) -> Vec<Limit> {
    let mut found = Vec::new();
    for line in reading.text().lines() {
        for word in line.split_whitespace().skip(1) {
            let (key, value) = word.split_once('=').unwrap_or((reading.file.as_str(), word));
            let known = match key {
                "rbps" | "blkio.throttle.read_bps_device" => ("bytes a second", Some("read_bytes")),
                "wbps" | "blkio.throttle.write_bps_device" => {
                    ("bytes a second", Some("write_bytes"))
                }
                "riops" | "blkio.throttle.read_iops_device" => {
                    ("requests a second", Some("read_ios"))
                }
                "wiops" | "blkio.throttle.write_iops_device" => {
                    ("requests a second", Some("write_ios"))
                }
                "target" => ("microseconds of latency", None),
                _ => continue,
            };
            if let Ok(value) = value.parse::<f64>() {
                found.push(Limit { what: known.0, value, column: known.1 });
            }
        }
    }
    found
}

/// Use per second of the group, or of all groups inside it.
fn used(
    evidence: &Evidence<'_>,
    repeat: &Repeat<'_>,
    reading: &LimitReading,
    column: &str,
) -> Result<f64, String> {
    let table = repeat.table("io")?;
    let leaves = evidence.trial.groups.iter().filter(|group| group.is_loaded());
    let inside = leaves.filter(|group| {
        reading.group.starts_with("above:") || is_part(&group.name, &reading.group)
    });
    let mut sum = 0.0;
    for group in inside {
        let (grown, seconds) = repeat.grown(&table, &group.name, &[column])?;
        sum += grown / seconds;
    }
    Ok(sum)
}
