//! The validity of a single command (`assay exec --quiet-check`): the checks of disturbances from outside that a trial
//! has too, and those that only matter where a time is compared with a time of another day, such as a clock that
//! became slower.

use crate::verdict::wording::{margin, percent, some_of};
use crate::verdict::{Check, Validity};
use assay_host::facts::Available;
use assay_sys::units::CpuSet;

use super::others::Allowed;
use super::{Finding, host};

/// Ticks of 10 ms divide less than this too coarsely.
const SHORTEST_S: f64 = 0.5;

/// How much slower or faster the CPU may be after the command than before it.
const SPEED: f64 = 0.1;

/// Part of the time that a quota above the command may have held it back.
const HELD: f64 = 0.01;

/// What one CPU lost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OnOneCpu {
    /// Its number.
    pub cpu: u16,
    /// The part of its time.
    pub part: f64,
}

/// What was seen of the machine while a command ran.
#[derive(Debug, Clone, PartialEq)]
pub struct Disturbances {
    /// How long it ran.
    pub seconds: f64,
    /// The CPUs that it could use.
    pub cpus: CpuSet,
    /// The part of these CPUs that processes outside the command used.
    pub others: Available<f64>,
    /// The same of the CPU where it was most; known where the kernel counts groups by CPU (cgroup v1).
    pub others_on_one: Option<OnOneCpu>,
    /// Seconds in which some task of the command waited for a CPU, as the kernel counts pressure; not available where
    /// a limit of its own made it wait.
    pub waited: Available<f64>,
    /// The most processes and threads that the command had at once.
    pub most_tasks: Available<u64>,
    /// The group that used most of what others used, with its CPUs.
    pub busiest: Option<(String, f64)>,
    /// The part of these CPUs that the hypervisor took.
    pub steal: Available<f64>,
    /// The same of the CPU where it was most.
    pub steal_on_one: Option<OnOneCpu>,
    /// Groups above the command's own with the seconds for which their quota held it back.
    pub held_above: Available<Vec<(String, f64)>>,
    /// Accounted CPU seconds a second in both halves.
    pub halves: Available<(f64, f64)>,
    /// The time of a fixed computation on the first of these CPUs before and after, in seconds.
    pub speed: Available<(f64, f64)>,
    /// How often a CPU became slower because it was too hot.
    pub too_hot: Available<u64>,
    /// Pages a second that were swapped in or out.
    pub swapped: Available<f64>,
}

/// Judges whether nothing but the command decided how long it took; `within` is the part of the CPUs that others,
/// and the hypervisor, may have taken.
#[must_use]
pub fn validity(seen: &Disturbances, within: f64) -> Validity {
    let allowed = Allowed::new(within, within);
    let checks = [
        ("length", length(seen.seconds)),
        ("others", others(seen, &allowed)),
        ("steal", stolen(seen, &allowed)),
        ("quota", find(&seen.held_above, |held| quota(held, seen.seconds))),
        ("clock", find(&seen.halves, |(first, second)| accounted(*first, *second))),
        ("speed", find(&seen.speed, |(before, after)| speed(*before, *after))),
        ("heat", find(&seen.too_hot, |times| heat(*times))),
        ("swap", find(&seen.swapped, |rate| host::of_swap_rate(*rate))),
    ];
    let checks = checks.map(|(check, Finding { ok, evidence })| Check {
        check: check.to_owned(),
        ok,
        evidence,
    });
    Validity::new(within, checks.into())
}

/// Most checks pass where the machine has no evidence, and say so.
fn find<T>(seen: &Available<T>, judge: impl FnOnce(&T) -> Finding) -> Finding {
    match seen {
        Available::Value(value) => judge(value),
        Available::NotAvailable(why) => Finding::unverified(why),
    }
}

fn length(seconds: f64) -> Finding {
    let evidence = match seconds < SHORTEST_S {
        true => format!(
            "it ran for {seconds:.2} s, and the kernel counts CPU time in ticks: at least \
             {SHORTEST_S} s are needed"
        ),
        false => format!("it ran for {seconds:.2} s"),
    };
    Finding::new(seconds >= SHORTEST_S, evidence)
}

/// Without evidence it is void: a command that others slowed down would look the same.
fn others(seen: &Disturbances, allowed: &Allowed) -> Finding {
    let part = match &seen.others {
        Available::Value(part) => *part,
        Available::NotAvailable(why) => return Finding::missing(why),
    };
    let word = if seen.cpus.len() == 1 { "CPU" } else { "CPUs" };
    let mut evidence = format!(
        "others used {} of {word} {} (at most {} allowed)",
        percent(part),
        seen.cpus,
        margin(allowed.simultaneous)
    );
    if seen.cpus.len() > 1
        && let Some(one) = seen.others_on_one
    {
        let most = margin(allowed.of_one);
        evidence += &format!(", and {} of CPU {} (at most {most})", percent(one.part), one.cpu);
    }
    let waiting = waiting(seen, allowed.simultaneous);
    let ok = holds(allowed, part, seen.others_on_one, seen.cpus.len())
        && waiting.as_ref().is_none_or(|finding| finding.ok);
    let mut found = Finding::new(ok, evidence).and(waiting);
    if let (false, Some((group, cpus))) = (ok, &seen.busiest) {
        found.evidence += &format!("; most of it was {group}, with {cpus:.2} CPUs");
    }
    found
}

/// Where the kernel does not count groups by CPU, a competitor that stays on one of several is a small part of all and
/// may halve the speed of a thread there. The command's own waiting shows it, unless it had more threads than CPUs and
/// they waited for each other.
fn waiting(seen: &Disturbances, within: f64) -> Option<Finding> {
    let cpus = seen.cpus.len();
    if cpus < 2 || seen.others_on_one.is_some() {
        return None;
    }
    let unknown =
        |why: &str| Some(Finding::unverified(&format!("what others took of a single CPU ({why})")));
    let waited = match &seen.waited {
        Available::Value(waited) => waited / seen.seconds.max(f64::MIN_POSITIVE),
        Available::NotAvailable(why) => return unknown(why),
    };
    let (part, most) = (percent(waited), margin(within));
    if waited <= within {
        return Some(Finding::new(true, format!("it waited for a CPU {part} of the time")));
    }
    match &seen.most_tasks {
        Available::Value(tasks) if usize::try_from(*tasks).is_ok_and(|tasks| tasks <= cpus) => {
            let evidence =
                format!("it waited for a CPU {part} of the time (at most {most} allowed)");
            Some(Finding::new(false, evidence))
        }
        Available::Value(tasks) => unknown(&format!(
            "it waited for a CPU {part} of the time, and its {tasks} threads may have waited for each other"
        )),
        Available::NotAvailable(why) => unknown(&format!(
            "it waited for a CPU {part} of the time, and its number of threads is not known: {why}"
        )),
    }
}

fn stolen(seen: &Disturbances, allowed: &Allowed) -> Finding {
    find(&seen.steal, |part| {
        let found = host::of_steal(*part, allowed.simultaneous);
        let ok = holds(allowed, *part, seen.steal_on_one, seen.cpus.len());
        let on_one = seen.steal_on_one.filter(|_| found.ok && !ok);
        let on_one = on_one.map(|one| {
            let (part, most) = (percent(one.part), margin(allowed.of_one));
            Finding::new(false, format!("{part} of CPU {} (at most {most})", one.cpu))
        });
        found.and(on_one)
    })
}

/// Of a single CPU the part of all and of the most affected one are the same.
fn holds(allowed: &Allowed, part: f64, one: Option<OnOneCpu>, cpus: usize) -> bool {
    let one = one.filter(|_| cpus > 1).map(|one| ("", one.part));
    allowed.holds(part, one)
}

fn quota(held: &[(String, f64)], seconds: f64) -> Finding {
    let too_long = |one: &&(String, f64)| one.1 > HELD * seconds;
    let named: Vec<String> = held
        .iter()
        .filter(too_long)
        .map(|(group, held)| format!("`cpu.max` of {group} held it back for {held:.2} s"))
        .collect();
    match named.is_empty() {
        true => Finding::new(true, "no group above it ran out of its `cpu.max`"),
        false => Finding::new(false, some_of(&named, "; ")),
    }
}

fn accounted(first: f64, second: f64) -> Finding {
    host::of_halves(first, second).unwrap_or_else(|why| Finding::unverified(&why))
}

fn speed(before: f64, after: f64) -> Finding {
    let change = before / after.max(f64::MIN_POSITIVE) - 1.0;
    let word = if change < 0.0 { "slower" } else { "faster" };
    let (change, most) = (change.abs(), margin(SPEED));
    let evidence =
        format!("the CPU was {} {word} after it than before (at most {most})", percent(change));
    Finding::new(change <= SPEED, evidence)
}

fn heat(times: u64) -> Finding {
    match times {
        0 => Finding::new(true, "no CPU was throttled because of heat"),
        times => Finding::new(false, format!("CPUs were throttled because of heat {times} times")),
    }
}

#[cfg(test)]
mod tests;
