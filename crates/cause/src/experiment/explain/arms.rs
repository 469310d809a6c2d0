//! Chooses the changes to try, their order, and which of them this host cannot make.

use std::time::Duration;

use assay_host::facts::{Available, Hierarchy, HostFacts};
use assay_host::knob::{WEIGHT_MODE, WeightMode};
use assay_judge::verdict::{ProofState, Verdict};
use assay_run::prepare::only_trial;
use assay_study::plan::{Plan, Trial};
use assay_study::{Intervention, Study};
use assay_sys::exit::Error;

use super::ExplainOptions;
use super::target::Target;
use crate::cause_docs::cause_entry;
use crate::causes::{CauseEntry, FoundBy, catalogue};
use crate::{Arm, PERMUTE, excluded};

/// Default length of a repeat: enough to measure errors that matter.
const DEFAULT_LENGTH: Duration = Duration::from_secs(3);

/// The kernel's limit on a scheduler's requests (MAX_SCHED_RQ, block/blk-mq.h).
const MOST_REQUESTS: u32 = 2048;

/// Why the mode of weights is switched in guests of the lab only. The kernel patches its code for that
/// (`static_call_update`), and one write in a dozen ended an emulated guest of 7.3.4 with `Oops: int3` in
/// `task_tick_fair`. Nobody knows yet whether the emulator or the kernel is at fault, and a host must not find out.
const NOT_ON_A_HOST: &str = "it patches the kernel's code, after which a guest of Linux 7.3.4 once panicked: only guests of \
                             the lab try it (assay lab exec --kernel debian-7.3 -- sh -c 'assay run STUDY --out \
                             /tmp/run; assay diagnose /tmp/run')";

/// The changes, and the trials of those that are possible.
pub(super) struct Chosen {
    /// The unchanged trial first.
    pub(super) arms: Vec<Arm>,
    /// Names and trials, in the order of the trial numbers in `arms`.
    pub(super) trials: Vec<(String, Trial)>,
}

/// Chooses the changes of a target.
pub(super) struct Chooser<'a> {
    target: &'a Target,
    facts: &'a HostFacts,
    only: &'a [String],
    at_most: Duration,
    is_lab: bool,
    plan: &'a dyn Fn(&Study) -> Plan,
}

impl<'a> Chooser<'a> {
    /// `plan` plans a study for the host with these facts; `is_lab`: it is a guest of the lab.
    pub(super) fn new(
        target: &'a Target,
        facts: &'a HostFacts,
        options: &'a ExplainOptions,
        is_lab: bool,
        plan: &'a dyn Fn(&Study) -> Plan,
    ) -> Self {
        let own = Duration::from_secs_f64(target.at_most_s.max(1.0));
        let at_most = options.at_most.unwrap_or_else(|| DEFAULT_LENGTH.min(own));
        Self { target, facts, only: &options.only, at_most, is_lab, plan }
    }

    /// Chooses the changes that test suspected causes, then those that test every broken share.
    pub(super) fn choose(&self) -> Result<Chosen, Error> {
        let mut chosen = Chosen { arms: Vec::new(), trials: Vec::new() };
        let unchanged = self.trial(None).map_err(|why| {
            Error::host(format!("the trial cannot be repeated on this host: {why}"))
                .note("nothing was touched")
        })?;
        let same = Intervention::Repeat;
        chosen.add("unchanged", Some((&same, 1.0)), Vec::new(), Ok(unchanged));
        for (name, tests) in changes_to_try(self.target, self.only)? {
            let change = match name {
                "weight-mode" if !self.is_lab => Err(NOT_ON_A_HOST.to_owned()),
                _ => intervention(name, self.target, self.facts, self.at_most),
            };
            match change {
                Ok((change, times)) => {
                    let changed = self.trial(Some(&change));
                    chosen.add(name, Some((&change, times)), tests, changed);
                }
                Err(why) => chosen.add(name, None, tests, Err(why)),
            }
        }
        Ok(chosen)
    }

    /// The trial with one thing changed, as planned for this host.
    fn trial(&self, change: Option<&Intervention>) -> Result<Trial, String> {
        let mut study = self.target.study.clone();
        study.design.at_most = self.at_most;
        // All arms run equally long, so that their intervals can be compared.
        study.design.stop = assay_study::Stop::AtMost;
        // What events in the kernel prove or exclude needs no change to tell.
        study.sampling.evidence = true;
        if let Some(change) = change {
            change.apply(&mut study, &self.target.factors)?;
        }
        only_trial((self.plan)(&study))
    }
}

impl Chosen {
    fn add(
        &mut self,
        name: &str,
        change: Option<(&Intervention, f64)>,
        tests: Vec<String>,
        trial: Result<Trial, String>,
    ) {
        let trial = trial.map(|trial| {
            self.trials.push((name.to_owned(), trial));
            self.trials.len() - 1
        });
        let text = match change {
            Some(_) if self.arms.is_empty() => name.to_owned(),
            Some((change, _)) => change.to_string(),
            None => name.to_owned(),
        };
        self.arms.push(Arm {
            name: name.to_owned(),
            change: text,
            remedy: change.and_then(|(change, _)| change.remedy()),
            times: change.map_or(1.0, |(_, times)| times),
            tests,
            trial,
        });
    }
}

/// Interventions with the codes of the causes that they test, each intervention once.
#[derive(Default)]
struct Changes(Vec<(&'static str, Vec<String>)>);

impl Changes {
    fn add(&mut self, name: &'static str, code: &str) {
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, codes)) if codes.iter().any(|known| known == code) => {}
            Some((_, codes)) => codes.push(code.to_owned()),
            None => self.0.push((name, vec![code.to_owned()])),
        }
    }

    /// Those that test the suspects; if no check proves one of them, also those that test every broken
    /// share.
    fn add_suspected(&mut self, target: &Target) {
        let suspects = target.suspects().iter().filter_map(|cause| cause_entry(&cause.code));
        let suspects: Vec<&CauseEntry> = suspects.collect();
        for entry in &suspects {
            entry.tests.iter().for_each(|name| self.add(name, entry.code));
        }
        // A failed check and events in the kernel are proof enough; only the cause's own remedy remains to be
        // tried.
        let is_proven = |entry: &&CauseEntry| {
            let by_events = target.judged.proofs.iter();
            let mut by_events = by_events.filter(|proof| proof.state == ProofState::Proven);
            matches!(entry.found_by, FoundBy::ValidityCheck(_))
                || by_events.any(|proof| proof.code == entry.code)
        };
        if !suspects.iter().any(is_proven) {
            self.add_for_every_share(target);
        }
    }

    /// Causes that the recorded run rules out need no test. Two checks that passed are tested
    /// nevertheless, since a check sees only a mean.
    fn add_for_every_share(&mut self, target: &Target) {
        let names = cause_entry("C-UNKNOWN").map_or(&[][..], |entry| entry.tests);
        for name in names {
            for entry in catalogue().filter(|entry| entry.tests.contains(name)) {
                let tried = entry.found_by == FoundBy::Suspicion
                    || matches!(entry.code, "C-CPU" | "C-SCHEDULER");
                if tried && excluded(entry.code, &target.trial, &target.judged).is_none() {
                    self.add(name, entry.code);
                }
            }
        }
    }

    /// Those of a requested cause, or the requested change itself.
    fn add_requested(&mut self, requested: &str) -> Result<(), Error> {
        let is_it = |name: &str| name == requested;
        let all = catalogue();
        let matching: Vec<_> = all
            .filter(|entry| is_it(entry.code) || entry.tests.iter().any(|name| is_it(name)))
            .collect();
        if matching.is_empty() && requested != PERMUTE {
            return Err(Error::usage(format!(
                "unknown cause or change `{requested}`\n  hint: `assay explain CODE` names the changes that test a cause"
            )));
        }
        for entry in matching {
            let names = entry.tests.iter().filter(|name| is_it(entry.code) || is_it(name));
            names.for_each(|name| self.add(name, entry.code));
        }
        Ok(())
    }
}

/// Names of interventions with the causes that they test, suspects first. The interventions for every
/// broken share also test causes that were ruled out.
fn changes_to_try(
    target: &Target,
    only: &[String],
) -> Result<Vec<(&'static str, Vec<String>)>, Error> {
    let mut changes = Changes::default();
    if only.is_empty() {
        changes.add_suspected(target);
    }
    for requested in only {
        changes.add_requested(requested)?;
    }
    let Changes(mut changes) = changes;
    // Drop changes that only test C-UNKNOWN.
    changes.retain(|(_, codes)| codes.iter().any(|code| code != "C-UNKNOWN"));
    if permutes_weights(target, only) {
        changes.push((PERMUTE, Vec::new()));
    }
    Ok(changes)
}

/// Whether weights are exchanged among the groups: if shares under unequal weights are broken, or on
/// request. This tests no cause, but shows whether the error follows the weight or the group.
fn permutes_weights(target: &Target, only: &[String]) -> bool {
    let broken = target.judged.verdict == Verdict::Broken && target.judged.divides_by_knob();
    let knob = |group: &assay_judge::verdict::GroupJudgement| group.knob;
    let mut knobs = target.judged.groups.iter().map(knob);
    let first = knobs.next();
    let unequal = knobs.any(|knob| Some(knob) != first);
    match only {
        [] => broken && unequal,
        only => only.iter().any(|name| name == PERMUTE),
    }
}

/// The change of this name for the target's trial, with the factor by which the value grows; or the
/// reason why it cannot be made.
fn intervention(
    name: &'static str,
    target: &Target,
    facts: &HostFacts,
    at_most: Duration,
) -> Result<(Intervention, f64), String> {
    let queue = |attribute: &str, value: u32| Intervention::Queue {
        name,
        attribute: attribute.to_owned(),
        value: value.to_string(),
    };
    let now = |attribute: &str| {
        target.repeat.queues.first()?.at_start.get(attribute).map(|text| text.trim().to_owned())
    };
    let set_to = |attribute: &str, new: u32| match now(attribute) {
        Some(value) if value == new.to_string() => Err(format!("`{attribute}` is already {new}")),
        Some(_) => Ok(queue(attribute, new)),
        None => Err(format!("the disk has no `{attribute}`")),
    };
    let once = |change: Result<Intervention, String>| change.map(|change| (change, 1.0));
    match name {
        "requests" => {
            let pool: u32 = now("nr_requests")
                .and_then(|text| text.parse().ok())
                .ok_or("`nr_requests` was not recorded")?;
            let enough = (4 * pool).max(2 * target.outstanding.unwrap_or(0));
            let enough = for_caps(target, enough).min(MOST_REQUESTS);
            match enough > pool {
                true => Ok((queue("nr_requests", enough), f64::from(enough) / f64::from(pool))),
                false => Err(format!("`nr_requests` is already {pool}")),
            }
        }
        "iodepth" => Ok((Intervention::Depth { name, times: 1, by: 4 }, 0.25)),
        "room" => once(room(target, now("nr_requests").as_deref())),
        "deeper" => Ok((Intervention::Depth { name, times: 4, by: 1 }, 4.0)),
        "longer" => Ok((Intervention::Longer(4 * at_most), 4.0)),
        "slower" => Ok((Intervention::Slower { by: 16 }, 16.0)),
        "one-cpu" => {
            let mut allowed = facts.cpus.allowed.iter();
            let first = allowed.next().ok_or("no CPU is known")?;
            match allowed.next() {
                Some(_) => Ok((Intervention::Cpus(first.to_string()), 1.0)),
                None => Err("there is only one CPU".to_owned()),
            }
        }
        "weight-mode" => once(weights_once(target, facts)),
        "strict" => once(set_to("iosched/strict_guarantees", 1)),
        "low-latency" => once(set_to("iosched/low_latency", 0)),
        "slice-idle" => match now("iosched/slice_idle").as_deref() {
            Some("0") => Ok((queue("iosched/slice_idle", 8), 1.0)),
            Some(value) => Err(format!("`iosched/slice_idle` is already {value}")),
            None => Err("the disk has no `iosched/slice_idle`".to_owned()),
        },
        "rotational" => once(set_to("rotational", 0)),
        "scheduler" => once(another_scheduler(target, facts)),
        "direct" => Ok((Intervention::Direct, 1.0)),
        PERMUTE => Ok((Intervention::Permute, 1.0)),
        "repeat" => Ok((Intervention::Repeat, 1.0)),
        other => Err(format!("this version has no change `{other}`")),
    }
}

/// Weights of CPU that count once each, where the kernel has another mode.
fn weights_once(target: &Target, facts: &HostFacts) -> Result<Intervention, String> {
    let set = target.repeat.settings.iter().find(|one| one.setting == WEIGHT_MODE);
    let (mode, _) = WeightMode::of_host(
        Some(set.map_or(&facts.weight_mode, |one| &one.at_start)),
        &facts.kernel,
    );
    match facts.settings.get(WEIGHT_MODE) {
        _ if mode == WeightMode::Smp => Err(format!("`{WEIGHT_MODE}` is already smp")),
        Some(Available::Value(_)) => Ok(Intervention::WeightMode(WeightMode::Smp.name())),
        Some(Available::NotAvailable(why)) => Err(why.clone()),
        None => Err(format!("the facts of this host do not contain `{WEIGHT_MODE}`")),
    }
}

/// This many requests, or twice as many as often as BFQ's caps need to hold what each group keeps outstanding.
fn for_caps(target: &Target, least: u32) -> u32 {
    let doubled = std::iter::successors(Some(least), |requests| requests.checked_mul(2));
    let mut enough = doubled.take_while(|requests| *requests < MOST_REQUESTS);
    enough.find(|requests| target.has_room(*requests, 1)).unwrap_or(MOST_REQUESTS.max(least))
}

/// Both changes that give each group's requests room within BFQ's cap, where the larger pool alone does not.
fn room(target: &Target, pool: Option<&str>) -> Result<Intervention, String> {
    let most = MOST_REQUESTS.to_string();
    if pool == Some(most.as_str()) {
        return Err(format!("`nr_requests` is already {most}"));
    }
    let mut powers = (0..=MOST_REQUESTS.ilog2()).map(|power| 1 << power);
    match powers.find(|by| target.has_room(MOST_REQUESTS, *by)) {
        None => {
            Err(format!("with one request outstanding each, BFQ's caps of {most} are too small"))
        }
        Some(1) => Err(format!("BFQ's caps of {most} requests hold what groups keep outstanding")),
        Some(by) => Ok(Intervention::Room { requests: MOST_REQUESTS, by }),
    }
}

/// Another scheduler: bfq if it was not active; otherwise none, under which iocost divides the disk on
/// cgroup v2.
fn another_scheduler(target: &Target, facts: &HostFacts) -> Result<Intervention, String> {
    let active = target.repeat.queues.first().map(|queue| {
        let always = queue.scheduler_at_start == "bfq" && queue.scheduler_at_end == "bfq";
        always && !queue.drift.contains_key("scheduler")
    });
    let io = facts.cgroup.controllers.get("io").map(|controller| &controller.hierarchy);
    match (active, io) {
        (None, _) => Err("the study has no disk with a queue".to_owned()),
        (Some(false), _) => Ok(Intervention::Scheduler("bfq".to_owned())),
        (Some(true), Some(Hierarchy::V2(_))) => Ok(Intervention::Scheduler("none".to_owned())),
        (Some(true), _) => Err("bfq is active, and on cgroup v1 no other scheduler obeys weights \
                                (on v2 iocost does)"
            .to_owned()),
    }
}

#[cfg(test)]
mod tests;
