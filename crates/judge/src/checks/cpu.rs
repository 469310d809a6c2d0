//! `cpu`: the limiting resource is the one that the promise is about.

use assay_record::run_folder::knob_value;

use super::{Evidence, Finding, Rule, Scope};
use crate::cpus::{self, Shared};
use crate::repeat::Repeat;
use crate::verdict::wording::{count, percent, some_of};

/// With less idle time the CPUs are the limit.
const LEAST_IDLE: f64 = 0.05;

/// Threshold for the main use of a CPU.
const HALF: f64 = 0.5;

/// For promises about the disk: the CPUs must have had time to spare. Without samples the promise
/// is void, since a busy CPU and a deep queue look alike from the groups' side.
pub(super) const SPARE: Rule = Rule::each("cpu", Scope::IoShares, spare)
    .proves("C-CPU", "the CPUs were saturated: they, and not the disk, limited the groups");

fn spare(evidence: &Evidence<'_>, repeat: &Repeat<'_>) -> Finding {
    // Groups restricted to some CPUs cannot use idle time elsewhere. Groups on different CPUs
    // share only the whole machine.
    let shared = evidence.shared(repeat).ok().flatten();
    match cpus::spent(repeat, shared.as_ref().map(|shared| &shared.set)) {
        Err(why) => Finding::missing(&why),
        Ok(spent) => Finding::new(
            spent.idle >= LEAST_IDLE,
            format!(
                "the CPUs were idle {} of the time (at least {} needed)",
                percent(spent.idle),
                percent(LEAST_IDLE)
            ),
        )
        .and(busiest(evidence, repeat)),
    }
}

/// The busiest CPU alone: interrupts of a disk arrive on one, the worker of a loop device runs on
/// one, and a single-threaded group cannot use two. A CPU kept busy by other processes does not
/// matter to groups that can run elsewhere. `None` where single CPUs were not sampled.
fn busiest(evidence: &Evidence<'_>, repeat: &Repeat<'_>) -> Option<Finding> {
    let all = cpus::each(repeat)?;
    let busiest = all.iter().min_by(|a, b| a.idle.total_cmp(&b.idle))?;
    let by_groups = cpus::used_on(evidence.trial, repeat, &busiest.name);
    let text = format!(
        "{}, the busiest, was idle {} (in the kernel {}, in interrupts {} of the time)",
        busiest.name,
        percent(busiest.idle),
        percent(busiest.kernel),
        percent(busiest.interrupts)
    );
    let is_theirs = busiest.kernel >= HALF || by_groups.is_none_or(|part| part >= HALF);
    Some(Finding::new(busiest.idle >= LEAST_IDLE || !is_theirs, text))
}

/// For promises about shares of CPU time: the groups must have competed for the CPUs, which takes
/// more threads than CPUs and no idle time.
pub(super) const SATURATED: Rule =
    Rule::each("cpu", Scope::CpuShares, saturated).proves_by(|evidence| {
        let uncontended = |repeat: &Repeat<'_>| {
            let shared = evidence.shared(repeat).unwrap_or(None);
            shared.is_some_and(|shared| {
                thread_count(evidence, &shared).is_some_and(|n| n <= shared.count())
            })
        };
        match evidence.repeats.iter().any(uncontended) {
            true => (
                "C-CPU-UNCONTENDED",
                "there was a CPU for every thread of the groups, so that no weight decided",
            ),
            false => {
                ("C-CPU-IDLE", "the CPUs had time to spare, so that the groups did not compete")
            }
        }
    });

fn saturated(evidence: &Evidence<'_>, repeat: &Repeat<'_>) -> Finding {
    // Groups on different CPUs have no number to judge, which is reported separately.
    let shared = evidence.shared(repeat).unwrap_or(None);
    match cpus::spent(repeat, shared.as_ref().map(|shared| &shared.set)) {
        Err(why) => Finding::missing(&why),
        Ok(spent) => check_contention(evidence, shared.as_ref(), spent.idle),
    }
}

/// Number of threads of all measured groups, where known.
fn thread_count(evidence: &Evidence<'_>, shared: &Shared) -> Option<f64> {
    let threads = |group: &&str| shared.threads.get(*group).copied().map(f64::from);
    evidence.groups.iter().map(threads).sum()
}

fn check_contention(evidence: &Evidence<'_>, shared: Option<&Shared>, idle: f64) -> Finding {
    let busy = idle < LEAST_IDLE;
    let mut text = format!(
        "the CPUs were idle {} of the time (less than {} needed for groups to compete)",
        percent(idle),
        percent(LEAST_IDLE)
    );
    let Some(shared) = shared else { return Finding::new(busy, text) };
    let Some(thread_count) = thread_count(evidence, shared) else {
        return Finding::new(busy, text);
    };
    let contended = thread_count > shared.count();
    let cpus = count(shared.set.len(), "CPU");
    let threads = count(thread_count as usize, "thread");
    text = if contended {
        format!("the groups have {threads} for {cpus} ({}); {text}", shared.set)
    } else {
        format!(
            "nothing was contended: the groups have {threads} for {cpus} ({}), one CPU for each, \
             whatever the weights; {text}",
            shared.set
        )
    };
    Finding::new(busy && contended, text)
}

/// For promises that a quota can be used in full: there must have been room, and threads to use it.
pub(super) const ROOM: Rule = Rule::each("cpu", Scope::CpuQuotas, room).proves_by(|evidence| {
    let few = evidence.repeats.iter().any(|repeat| {
        let shared = evidence.shared(repeat).ok().flatten();
        shared.is_some_and(|shared| !too_few_threads(evidence, repeat, &shared).is_empty())
    });
    match few {
        true => ("C-CPU-ROOM", "a group had too few threads, or CPUs, to use its quota"),
        false => ("C-CPU-ROOM", "the CPUs had no room for the quotas"),
    }
});

fn room(evidence: &Evidence<'_>, repeat: &Repeat<'_>) -> Finding {
    let found = evidence.shared(repeat).and_then(|shared| match shared {
        None => Err("which CPUs the groups could use was not recorded".to_owned()),
        Some(shared) => has_room(evidence, repeat, &shared),
    });
    found.unwrap_or_else(|why| Finding::missing(&why))
}

fn has_room(
    evidence: &Evidence<'_>,
    repeat: &Repeat<'_>,
    shared: &Shared,
) -> Result<Finding, String> {
    let short = too_few_threads(evidence, repeat, shared);
    if !short.is_empty() {
        return Ok(Finding::new(false, some_of(&short, "; ")));
    }
    let spent = cpus::spent(repeat, Some(&shared.set))?;
    let others = cpus::others(evidence.trial, repeat, shared, spent)?;
    Ok(Finding::new(
        spent.idle >= LEAST_IDLE,
        format!(
            "{} were idle {} of the time (at least {} needed to use a quota in full), and \
             processes outside the groups used {}",
            shared.label(),
            percent(spent.idle),
            percent(LEAST_IDLE),
            percent(others)
        ),
    ))
}

/// Groups whose quota exceeds what their threads can use.
fn too_few_threads(evidence: &Evidence<'_>, repeat: &Repeat<'_>, shared: &Shared) -> Vec<String> {
    let short = evidence.groups.iter().filter_map(|group| {
        let quota = knob_value::number(repeat.record, group, "cpu.max").ok()?;
        let threads = *shared.threads.get(*group)?;
        (shared.demand(group) < quota).then(|| {
            format!(
                "{} of `{group}` on {} cannot use a quota of {quota} CPUs",
                count(threads as usize, "thread"),
                count(shared.set.len(), "CPU")
            )
        })
    });
    short.collect()
}
