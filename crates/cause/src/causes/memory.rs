//! C-RECLAIM and C-THP: direct reclaim and failed huge page allocations while the groups ran. Both
//! take time from groups that allocate memory, whatever shares of CPU or disk they are promised.

use assay_judge::subject::Subject;
use assay_judge::verdict::Strength;
use assay_judge::verdict::wording::some_of;
use assay_record::run_folder::PromiseRecord;
use assay_record::terms::Measure;

use super::{CauseEntry, Examined, FoundBy, Outcome, Suspect};

pub(super) const RECLAIM: CauseEntry = CauseEntry {
    code: "C-RECLAIM",
    what: "Memory was short, and the groups' own threads had to reclaim it before they got any.",
    fingerprint: "`allocstall_normal` or `allocstall_movable` of /proc/vmstat, or `max` or `high` of a group's `memory.events` (v1: `memory.failcnt`), grew by more than 8 a second.",
    confirm: "A higher memory limit, or smaller workloads: the counter no longer grows.",
    remedy: "Leave memory free for the workloads (`memory.max`, `memory.high` of groups around).",
    source: "mm/vmscan.c: do_try_to_free_pages counts allocstall only if the machine is short (6.1 to 7.3), while pgscan_direct of /proc/vmstat has reclaim at limits of groups on 7.2.13 and not on 6.18.44 (tried); mm/memcontrol.c: try_charge_memcg, reclaim_high",
    ..CauseEntry::suspected(Suspect::Any(reclaim))
};

pub(super) const THP: CauseEntry = CauseEntry {
    code: "C-THP",
    what: "Huge pages were requested and not available, so that some groups ran on huge pages and others did not.",
    fingerprint: "`thp_fault_fallback`, `thp_fault_fallback_charge` or `compact_stall` grew by more than a hundred a second.",
    confirm: "No huge pages for any workload (`huge_pages` of its placement set to never): differences between the groups vanish.",
    remedy: "Switch huge pages off for all, or free and compact memory before the run (`drop_caches`).",
    source: "Documentation/admin-guide/mm/transhuge.rst: monitoring usage",
    ..CauseEntry::suspected(Suspect::Any(thp))
};

pub(super) const GUEST_CACHE: CauseEntry = CauseEntry {
    code: "C-CACHE-GUEST",
    what: "A virtual machine sees a cache that is made up or shared.",
    fingerprint: "The machine is virtual, and a cache ends elsewhere than sysfs says (`*_capacity_part` of `chase`).",
    confirm: "The same on the host itself, or while its other guests rest: the cache ends where sysfs says.",
    remedy: "Believe the measured end (`*_capacity_bytes`).",
    source: "arch/x86/kernel/cpu/cacheinfo.c: sizes come from CPUID (leaf 4, 8000001D), which a hypervisor answers",
    ..CauseEntry::found_by(FoundBy::Suspicion)
};

/// `None` for a promise on something else than the end of a cache.
pub(super) fn guest_cache(subject: &Subject<'_>, promise: &PromiseRecord) -> Option<Examined> {
    let mut tools = subject.trial.groups.iter().flat_map(|group| &group.workloads);
    let is_chase = tools.any(|workload| workload.tool == "chase");
    (is_chase && promise.measure.ends_with("_capacity_part")).then_some(())?;
    let what = "the cache of a virtual machine is made up, or other virtual machines use it too";
    Some(Ok(match &subject.host.virtual_machine {
        Some(machine) => Outcome::Fits(
            Strength::Fair,
            what,
            vec![format!("this machine is a guest of {machine}")],
        ),
        None => Outcome::RuledOut("this is no virtual machine".to_owned()),
    }))
}

/// Reclaims a second by allocating threads: each of them wants 32 pages or more (`SWAP_CLUSTER_MAX`), together 1 MiB/s.
const RECLAIMS: f64 = 8.0;

/// Limit of failed huge page allocations and compaction stalls a second.
const FALLEN_BACK: f64 = 100.0;

/// The counters are those of the whole host and do not show which group was affected, so that they are a weak sign for
/// shares.
const fn strength(measure: Option<Measure>) -> Strength {
    match measure {
        Some(measure) if measure.is_io() || measure.is_cpu() => Strength::Weak,
        _ => Strength::Fair,
    }
}

fn reclaim(subject: &Subject<'_>, measure: Option<Measure>) -> Examined {
    let what = "memory was short, and threads of the groups had to reclaim it themselves";
    counted(subject, &reclaims(subject), RECLAIMS, strength(measure), what)
}

/// Huge pages do not affect a disk.
fn thp(subject: &Subject<'_>, measure: Option<Measure>) -> Examined {
    if measure.is_some_and(Measure::is_io) {
        return Ok(Outcome::Unconcerned);
    }
    let huge = ["thp_fault_fallback", "thp_fault_fallback_charge", "compact_stall"].map(of_machine);
    let what = "huge pages were requested and not available, so that some groups have them and others do not";
    counted(subject, &huge, FALLEN_BACK, strength(measure), what)
}

/// A counter: source, subject and column of its samples.
type Counter<'s> = (&'static str, &'s str, &'static str);

const fn of_machine(column: &'static str) -> Counter<'static> {
    ("vmstat", "host", column)
}

/// How often threads reclaimed memory themselves: since the machine was short, or at a limit of their group or of one above.
fn reclaims<'s>(subject: &Subject<'s>) -> Vec<Counter<'s>> {
    let groups = subject.trial.groups.iter();
    let at_limits = groups.flat_map(|group| {
        ["max_events", "high_events"].map(|column| ("memory", group.name.as_str(), column))
    });
    ["allocstall_normal", "allocstall_movable"]
        .map(of_machine)
        .into_iter()
        .chain(at_limits)
        .collect()
}

/// Fits if one of these counters grew by more than `most` a second in some repeat.
fn counted(
    subject: &Subject<'_>,
    counters: &[Counter<'_>],
    most: f64,
    strength: Strength,
    what: &'static str,
) -> Examined {
    let mut seen: Vec<(f64, String)> = Vec::new();
    let mut missing = String::new();
    for repeat in &subject.repeats {
        for (source, of, column) in counters {
            match repeat.growth(source, of, &[column]) {
                Ok((grown, seconds)) => {
                    let rate = grown / seconds;
                    let whose = if *of == "host" { String::new() } else { format!(" of `{of}`") };
                    seen.push((rate, format!("`{column}`{whose} grew by {rate:.1} a second")));
                }
                Err(why) => missing = why,
            }
        }
    }
    seen.sort_by(|a, b| b.0.total_cmp(&a.0));
    let fastest = seen.first().ok_or(missing)?.0;
    let texts: Vec<String> = seen.into_iter().map(|(_, text)| text).collect();
    let text = some_of(&texts, ", ");
    Ok(match fastest <= most {
        true => Outcome::RuledOut(text),
        false => Outcome::Fits(strength, what, vec![text]),
    })
}
