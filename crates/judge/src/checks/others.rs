//! `others`: only the groups used the CPUs that they divided.
//!
//! With several CPUs, what others take on one is missing only there, so shares shift by about as
//! much as the others took, averaged over the CPUs they used, and that cannot be blamed on the
//! weights. Of C CPUs, a process that stays on one may take up to C times as much from the group
//! running there: the most affected CPU is checked separately, roughly. Of a single CPU others take
//! from all groups alike: the scheduler picks among the groups by weight whenever the CPU is free
//! of others (kernel/sched/fair.c, `pick_next_task_fair`), so there is less to divide and the
//! shares stand.

use crate::verdict::wording::percent;
use assay_record::run_folder::PromiseRecord;

use super::{Evidence, Finding, Rule, Scope};
use crate::cpus::{self, Shared};
use crate::repeat::Repeat;

/// Margin used where no promise of shares defines one.
const USUAL_MARGIN: f64 = 0.1;

/// Limit for a single CPU, in margins. What others take there may be missing to one group alone,
/// whose threads the load balancer left on that CPU; no counter shows how many and for how long, so
/// this is a rough bound for a process that stays on one CPU.
const ON_ONE: f64 = 5.0;

/// Without samples the promise is void: shares shifted by others would look the same.
pub(super) const OTHERS: Rule =
    Rule::each("others", Scope::CpuShares, others).proves_by(|evidence| {
        let mut repeats = evidence.repeats.iter();
        match repeats.any(|repeat| stolen(evidence, repeat).unwrap_or(false)) {
            true => ("C-STEAL", "the hypervisor took CPU time that the groups were to divide"),
            false => (
                "C-CPU-OTHERS",
                "processes outside the groups used the CPUs that the groups were to divide",
            ),
        }
    });

fn others(evidence: &Evidence<'_>, repeat: &Repeat<'_>) -> Finding {
    find(evidence, repeat).unwrap_or_else(|why| Finding::missing(&why))
}

/// CPU time that others took, as parts of the CPUs that the groups divide.
struct OtherUse {
    others: f64,
    steal: f64,
    /// Each CPU separately, where sampled.
    each: Vec<CpuUse>,
}

struct CpuUse {
    name: String,
    /// Known where the kernel counts groups per CPU (cgroup v1).
    others: Option<f64>,
    steal: f64,
}

impl OtherUse {
    fn new(evidence: &Evidence<'_>, repeat: &Repeat<'_>, shared: &Shared) -> Result<Self, String> {
        let spent = cpus::spent(repeat, Some(&shared.set))?;
        let names: Vec<String> = shared.set.iter().map(|cpu| format!("cpu{cpu}")).collect();
        let each = cpus::each(repeat).unwrap_or_default().into_iter();
        let each = each.filter(|one| names.contains(&one.name)).map(|one| {
            let by_groups = cpus::used_on(evidence.trial, repeat, &one.name);
            let others = by_groups.map(|used| (1.0 - one.idle - one.steal - used).max(0.0));
            CpuUse { others, steal: one.steal, name: one.name }
        });
        Ok(Self {
            others: cpus::others(evidence.trial, repeat, shared, spent)?,
            steal: spent.steal,
            each: each.collect(),
        })
    }

    /// The most affected CPU and its part.
    fn most_of_one(&self, of: fn(&CpuUse) -> Option<f64>) -> Option<(&str, f64)> {
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

/// Whether only the hypervisor exceeded the limit.
fn stolen(evidence: &Evidence<'_>, repeat: &Repeat<'_>) -> Result<bool, String> {
    let Some(shared) = evidence.shared(repeat)? else {
        return Ok(false);
    };
    let other_use = OtherUse::new(evidence, repeat, &shared)?;
    let allowed = allowed(evidence, repeat);
    Ok(!allowed.holds(other_use.steal, other_use.steal_on_one())
        && allowed.holds(other_use.others, other_use.others_on_one()))
}

fn find(evidence: &Evidence<'_>, repeat: &Repeat<'_>) -> Result<Finding, String> {
    let Some(shared) = evidence.shared(repeat)? else {
        return Ok(Finding::unverified("which CPUs the groups could use was not recorded"));
    };
    let other_use = OtherUse::new(evidence, repeat, &shared)?;
    let totals = format!(
        "processes outside the groups used {} of {}, and the hypervisor took {}",
        percent(other_use.others),
        shared.label(),
        percent(other_use.steal)
    );
    if shared.set.len() == 1 {
        let why = "a single CPU that reduces what is divided but not the shares";
        return Ok(Finding::new(true, format!("{totals}: of {why}")));
    }
    let allowed = allowed(evidence, repeat);
    let (others, steal) = (other_use.others_on_one(), other_use.steal_on_one());
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
        allowed.holds(other_use.others, others) && allowed.holds(other_use.steal, steal),
        format!(
            "{totals} (at most {} each allowed, which shifts a share by up to {} where it is spread \
             over the CPUs){single}",
            percent(allowed.simultaneous),
            percent(allowed.within)
        ),
    ))
}

/// Limits for others.
pub(super) struct Allowed {
    /// For all CPUs together.
    pub(super) simultaneous: f64,
    /// For a single CPU.
    pub(super) of_one: f64,
    /// The margin from which they are derived.
    within: f64,
}

impl Allowed {
    pub(super) fn new(simultaneous: f64, within: f64) -> Self {
        Self { simultaneous: simultaneous.min(1.0), of_one: (ON_ONE * within).min(1.0), within }
    }

    /// Whether the total and the most affected CPU stay within the limits.
    pub(super) fn holds(&self, other_use: f64, on_one: Option<(&str, f64)>) -> bool {
        other_use <= self.simultaneous && on_one.is_none_or(|(_, part)| part <= self.of_one)
    }
}

/// Derives the limits: CPU time that others take where a group of share `s` runs is lost by that group alone,
/// and the part `1 - s` of it goes to the others.
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
    let strictest =
        promises.filter_map(of).min_by(|a, b| a.simultaneous.total_cmp(&b.simultaneous));
    strictest.unwrap_or_else(|| Allowed::new(USUAL_MARGIN, USUAL_MARGIN))
}
