//! `others`: nobody outside the groups took the CPUs that they were to divide.
//!
//! Of several CPUs, what others take on one is missing there and not elsewhere, so that shares
//! shift by about as much as the others took, on average over where they were, and no weight of the
//! study can be held against that. Of C CPUs somebody who stays on one may take up to C times as
//! much from the group that runs there: the CPU that lost most is asked by itself, roughly. Of a
//! single CPU they take from all groups alike: the scheduler picks among the groups by their weights
//! whenever the CPU is not the others' (kernel/sched/fair.c, `pick_next_task_fair`), so that there
//! is less to divide and the shares of it stand.

use assay_run_folder::PromiseRecord;

use super::{Evidence, Finding, Scope, ValidityCheck, of_each_repeat};
use crate::cpus::{self, Shared};
use crate::repeat::Repeat;
use assay_verdict::wording::percent;

/// The margin where no promise of shares says one.
const USUAL_MARGIN: f64 = 0.1;

/// Of a single CPU others may take so many times the margin. What they take there may be missing to
/// one group alone, whose threads the load balancer left on it; how many of them there were for how
/// long no counter says, so that this is a rough bound against an outsider that stays on one CPU.
const ON_ONE: f64 = 5.0;

/// Without a reading the promise is void: shares that somebody else shifted look the same.
pub(super) fn gate(evidence: &Evidence<'_>) -> ValidityCheck {
    let check = of_each_repeat("others", evidence, |repeat| {
        find(evidence, repeat).unwrap_or_else(|why| Finding::missing(&why))
    });
    let stolen = evidence.repeats.iter().any(|repeat| stolen(evidence, repeat).unwrap_or(false));
    let proves = if stolen {
        ("C-STEAL", "the hypervisor took CPU time that the groups were to divide")
    } else {
        let summary = "somebody outside the groups used the CPUs that the groups were to divide";
        ("C-CPU-OTHERS", summary)
    };
    ValidityCheck { check, scope: Scope::CpuShares, proves: Some(proves) }
}

/// What others took of the CPUs that the groups divide, as parts of them.
struct Taken {
    others: f64,
    steal: f64,
    /// Each CPU by itself, where they were sampled.
    each: Vec<OnOne>,
}

struct OnOne {
    name: String,
    /// Known where the kernel counts groups by CPU (cgroup v1).
    others: Option<f64>,
    steal: f64,
}

impl Taken {
    fn of(evidence: &Evidence<'_>, repeat: &Repeat<'_>, shared: &Shared) -> Result<Self, String> {
        let spent = cpus::spent(repeat, Some(&shared.set))?;
        let names: Vec<String> = shared.set.iter().map(|cpu| format!("cpu{cpu}")).collect();
        let each = cpus::each(repeat).unwrap_or_default().into_iter();
        let each = each.filter(|one| names.contains(&one.name)).map(|one| {
            let by_groups = cpus::used_on(evidence.trial, repeat, &one.name);
            let others = by_groups.map(|used| (1.0 - one.idle - one.steal - used).max(0.0));
            OnOne { others, steal: one.steal, name: one.name }
        });
        Ok(Self {
            others: cpus::others(evidence.trial, repeat, shared, spent)?,
            steal: spent.steal,
            each: each.collect(),
        })
    }

    /// The most of a single CPU, and of which.
    fn most_of_one(&self, of: fn(&OnOne) -> Option<f64>) -> Option<(&str, f64)> {
        let each = self.each.iter().filter_map(|one| Some((one.name.as_str(), of(one)?)));
        each.max_by(|a, b| a.1.total_cmp(&b.1))
    }

    fn others_on_one(&self) -> Option<(&str, f64)> {
        self.most_of_one(|one| one.others)
    }

    fn steal_on_one(&self) -> Option<(&str, f64)> {
        self.most_of_one(|one| Some(one.steal))
    }
}

/// Whether it was the hypervisor alone that took more than it may.
fn stolen(evidence: &Evidence<'_>, repeat: &Repeat<'_>) -> Result<bool, String> {
    let Some(shared) = Shared::of(evidence.host, evidence.trial, repeat.record)? else {
        return Ok(false);
    };
    let taken = Taken::of(evidence, repeat, &shared)?;
    let allowed = allowed(evidence, repeat);
    Ok(!allowed.holds(taken.steal, taken.steal_on_one())
        && allowed.holds(taken.others, taken.others_on_one()))
}

fn find(evidence: &Evidence<'_>, repeat: &Repeat<'_>) -> Result<Finding, String> {
    let Some(shared) = Shared::of(evidence.host, evidence.trial, repeat.record)? else {
        return Ok(Finding::spared("which CPUs the groups could use was not recorded"));
    };
    let taken = Taken::of(evidence, repeat, &shared)?;
    let said = format!(
        "processes outside the groups used {} of {}, and the hypervisor took {}",
        percent(taken.others),
        shared.label(),
        percent(taken.steal)
    );
    if shared.set.len() == 1 {
        let why = "one CPU, which lessens what is divided and not how";
        return Ok(Finding::new(true, format!("{said}: of {why}")));
    }
    let allowed = allowed(evidence, repeat);
    let (others, steal) = (taken.others_on_one(), taken.steal_on_one());
    let on_one = |(name, part): (&str, f64)| format!("{} of {name}", percent(part));
    let single = [
        others.map(on_one).map(|most| format!("processes outside used up to {most}")),
        steal.map(on_one).map(|most| format!("the hypervisor took up to {most}")),
    ];
    let single: Vec<String> = single.into_iter().flatten().collect();
    let single = match single.is_empty() {
        true => String::new(),
        false => format!(
            "; of a single CPU {} (at most {} allowed)",
            single.join(" and "),
            percent(allowed.of_one)
        ),
    };
    Ok(Finding::new(
        allowed.holds(taken.others, others) && allowed.holds(taken.steal, steal),
        format!(
            "{said} (at most {} each allowed, which shifts a share by up to {} where it is spread \
             over the CPUs){single}",
            percent(allowed.of_all),
            percent(allowed.within)
        ),
    ))
}

/// What others may take.
struct Allowed {
    /// Of all CPUs together.
    of_all: f64,
    /// Of a single one.
    of_one: f64,
    /// The margin that they follow from.
    within: f64,
}

impl Allowed {
    fn new(of_all: f64, within: f64) -> Self {
        Self { of_all: of_all.min(1.0), of_one: (ON_ONE * within).min(1.0), within }
    }

    /// Whether what was taken is no more than that, of all CPUs and of the one that lost most.
    fn holds(&self, taken: f64, on_one: Option<(&str, f64)>) -> bool {
        taken <= self.of_all && on_one.is_none_or(|(_, part)| part <= self.of_one)
    }
}

/// What others may take of the CPUs: what is missing where a group of share `s` runs is missing to it
/// alone, and the part `1 - s` of it goes to the others.
fn allowed(evidence: &Evidence<'_>, repeat: &Repeat<'_>) -> Allowed {
    let promises = evidence.trial.promises.iter();
    let of = |promise: &PromiseRecord| {
        if promise.measure != "cpu.time" {
            return None;
        }
        let shares = evidence.promised(repeat, promise)?;
        let least = shares.iter().map(|expected| expected.share).fold(1.0, f64::min);
        Some(Allowed::new(promise.within / (1.0 - least).max(f64::MIN_POSITIVE), promise.within))
    };
    let strictest = promises.filter_map(of).min_by(|a, b| a.of_all.total_cmp(&b.of_all));
    strictest.unwrap_or_else(|| Allowed::new(USUAL_MARGIN, USUAL_MARGIN))
}
