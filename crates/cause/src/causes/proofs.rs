//! What the kernel's events prove or exclude of the causes of a promise, and what that makes of suspicions.

use assay_judge::checks::demand::part_kept;
use assay_judge::cpus;
use assay_judge::cpus::Shared;
use assay_judge::laws::{depth, group_caps};
use assay_judge::queue::Queue;
use assay_judge::repeat::Repeat;
use assay_judge::subject::Subject;
use assay_judge::verdict::wording::count;
use assay_judge::verdict::{Cause, Proof, ProofState, Verdict};
use assay_record::terms::Side;

use super::measured::Measured;
use super::measured::cpus::all_ran_on;
use super::rules::{Case, Rule, decide};
use super::{Outcome, RULES, Suspicion, Symptom};

/// What events say about every cause of a promise on shares; nothing where no repeat has events.
pub(super) fn find(symptom: &Symptom<'_, '_>, verdict: Verdict) -> Found {
    let Symptom { subject, promise, measure, numbers, names } = *symptom;
    let measured = |repeat| {
        let queue = Queue::all(subject.trial, repeat).into_iter().find_map(Result::ok);
        let device = queue.as_ref().map(|queue| queue.device.as_str());
        Measured::new(repeat, names, device)
    };
    let all: Vec<WithEvents<'_>> =
        subject.repeats.iter().map(|repeat| (repeat, measured(repeat))).collect();
    if !symptom.is_of_shares() || all.iter().all(|(_, measured)| measured.is_none()) {
        return Found::default();
    }
    let promised: Vec<f64> = numbers.promised().collect();
    let inputs = Inputs { symptom, promised: &promised };
    let is_asked = |repeat: &Repeat<'_>| match verdict {
        Verdict::Undecided => inputs.is_broken_as_observed(repeat),
        _ => inputs.is_broken(repeat),
    };
    let (broke, every): (Vec<_>, Vec<_>) =
        (all.iter().filter(|(repeat, _)| is_asked(repeat)).collect(), all.iter().collect());
    let failed = subject.failed(|scope| scope.concerns(measure, &promise.is));
    let codes: Vec<&str> = failed.iter().filter_map(|failed| Some(failed.proves?.0)).collect();
    let is_of_check = |rule: &Rule| verdict == Verdict::Void && codes.contains(&rule.code);
    // The cause of a failed check may explain the errors as well as another one: then that is not known to be theirs.
    let mut proofs = decide(RULES, measure, &inputs.cases(&broke, false), broke.len());
    proofs.retain(|proof| !RULES.iter().any(|rule| rule.code == proof.code && is_of_check(rule)));
    for rule in RULES.iter().filter(|rule| is_of_check(rule)) {
        proofs.extend(decide(&[*rule], measure, &inputs.cases(&every, true), every.len()));
    }
    Found { proofs, broke: broke.len(), repeats: all.len() }
}

/// What events say, of repeats that were off.
#[derive(Default)]
pub(super) struct Found {
    pub(super) proofs: Vec<Proof>,
    broke: usize,
    repeats: usize,
}

/// A group that kept so many times the requests outstanding that its workloads keep has larger ones, of which the
/// disk made several.
const MORE_THAN_KEPT: f64 = 1.1;

/// A repeat, with what events say of it if there are some.
type WithEvents<'r> = (&'r Repeat<'r>, Option<Measured>);

/// What the cases of a promise have in common.
struct Inputs<'a, 'r> {
    symptom: &'a Symptom<'a, 'r>,
    promised: &'a [f64],
}

impl<'a> Inputs<'a, '_> {
    fn seen(&self, repeat: &Repeat<'_>) -> Option<Vec<f64>> {
        let totals = repeat.grid(self.symptom.measure).ok()?.totals();
        let all: f64 = totals.iter().sum();
        (all > 0.0).then(|| totals.iter().map(|total| total / all).collect())
    }

    fn is_broken(&self, repeat: &Repeat<'_>) -> bool {
        self.seen(repeat).is_some_and(|seen| {
            let mut each = seen.iter().zip(self.promised);
            each.any(|(seen, promised)| {
                Side::Both.error(seen / promised, 1.0) > self.symptom.promise.within
            })
        })
    }

    /// Whether the group that was furthest off over all observed seconds was off in the judged ones of this repeat, too, and
    /// to the same side. Others may be off there by chance, of which nothing is said.
    fn is_broken_as_observed(&self, repeat: &Repeat<'_>) -> bool {
        let Some(was) = &self.symptom.numbers.was else { return false };
        let group = self.symptom.names.iter().position(|name| *name == was.group);
        let Some((group, seen)) = group.zip(self.seen(repeat)) else { return false };
        let Some(observed) = self.symptom.numbers.groups[group].was else { return false };
        let (seen, promised) = (seen[group], self.promised[group]);
        let off = Side::Both.error(seen / promised, 1.0) > self.symptom.promise.within;
        off && (seen > promised) == (observed.value > promised)
    }

    /// The requests that BFQ lets each group hold; no cap where its demand is not known.
    fn caps(&self, pool: f64) -> Vec<f64> {
        let groups =
            self.symptom.names.iter().map(String::as_str).zip(self.promised.iter().copied());
        let mut caps = vec![f64::INFINITY; self.promised.len()];
        for cap in group_caps(self.symptom.subject.trial, groups, pool) {
            caps[cap.group] = cap.cap.max(1.0);
        }
        caps
    }

    /// Requests that each group keeps outstanding. The disk makes several of a large one; where the size of one is not
    /// known and the disk saw more than the group keeps, their number is not known.
    fn depths(&self, measured: &Measured) -> Option<Vec<f64>> {
        let one = |(number, name): (usize, &String)| {
            let depth = depth(self.symptom.subject.trial, name)?;
            let Ok(disk) = &measured.disk else { return Some(depth) };
            let of = &disk.groups[number];
            match self.requests_of_each(name, of.bytes / of.requests.max(1.0)) {
                Some(each) => Some(depth * each),
                None => (of.whole() <= MORE_THAN_KEPT * depth * disk.seconds).then_some(depth),
            }
        };
        self.symptom.names.iter().enumerate().map(one).collect()
    }

    /// Requests of the disk, of this mean size, for each of a group's, on average; `None` where the group's have no
    /// single size.
    fn requests_of_each(&self, name: &str, size: f64) -> Option<f64> {
        let group = self.symptom.subject.trial.groups.iter().find(|group| group.name == *name)?;
        let (mut all, mut sum) = (0.0, 0.0);
        for io in group.workloads.iter().map(|workload| &workload.io) {
            let depth = f64::from(io.outstanding?);
            sum += depth * (io.block_size? as f64 / size.max(1.0)).max(1.0);
            all += depth;
        }
        (all > 0.0 && size > 0.0).then_some(sum / all)
    }

    /// Whether the study gave every workload of the measured groups a CPU that it could not leave.
    fn is_bound(&self) -> bool {
        let of = |name: &String| {
            self.symptom.subject.trial.groups.iter().find(|group| group.name == *name)
        };
        let is_placed = |name: &str| {
            let mut placed = self.symptom.subject.trial.placements.iter();
            placed.any(|one| {
                one.workload == name && one.cpus.as_ref().is_some_and(|cpus| cpus.len() == 1)
            })
        };
        self.symptom.names.iter().all(|name| {
            of(name).is_some_and(|group| group.workloads.iter().all(|one| is_placed(&one.name)))
        })
    }

    /// Whether the check of quotas failed.
    fn has_throttled(&self) -> bool {
        let mut checks = self.symptom.subject.checks.iter().map(|validity| &validity.check);
        checks.any(|check| check.check == "quota" && !check.ok)
    }

    fn cases(&self, of: &[&'a WithEvents<'a>], disturbed: bool) -> Vec<Case<'a>> {
        let one = |(repeat, measured): &&'a WithEvents<'a>| {
            self.case(repeat, measured.as_ref()?, disturbed)
        };
        of.iter().filter_map(one).collect()
    }

    fn case(
        &self,
        repeat: &Repeat<'_>,
        measured: &'a Measured,
        disturbed: bool,
    ) -> Option<Case<'a>> {
        let names = self.symptom.names;
        let shared =
            Shared::in_repeat(self.symptom.subject.host, self.symptom.subject.trial, repeat.record);
        let shared = shared.ok().flatten();
        let threads = |name: &String| {
            let group =
                self.symptom.subject.trial.groups.iter().find(|group| group.name == *name)?;
            group.workloads.iter().map(|workload| workload.threads.map(f64::from)).sum()
        };
        let kept = |name: &String| {
            let mut groups = self.symptom.subject.trial.groups.iter();
            part_kept(groups.find(|group| group.name == *name)?, repeat)
        };
        let used_by_others =
            shared.as_ref().and_then(|shared| others(self.symptom.subject, repeat, shared));
        let cpus: Vec<usize> =
            shared.map(|shared| shared.set.iter().map(usize::from).collect()).unwrap_or_default();
        let queues = Queue::all(self.symptom.subject.trial, repeat);
        let queue = queues.into_iter().find_map(Result::ok);
        let pool = queue.as_ref().and_then(|queue| queue.nr_requests);
        let scheduler = queue.and_then(|queue| queue.scheduler);
        Some(Case {
            names,
            promised: self.promised,
            weights: self.symptom.numbers.by_weight().collect::<Vec<f64>>(),
            seen: self.seen(repeat)?,
            within: self.symptom.promise.within,
            depths: self.depths(measured),
            kept: names.iter().map(kept).collect(),
            threads: names.iter().map(threads).collect(),
            // Events have it of the same seconds as the waiting.
            ran: measured
                .ran(&cpus)
                .filter(|ran| agrees(repeat, names, ran))
                .or_else(|| ran(repeat, names, &cpus)),
            others: used_by_others,
            others_on: others_on(self.symptom.subject, repeat, &cpus),
            is_bound: self.is_bound(),
            has_throttled: self.has_throttled(),
            cpus,
            pool,
            caps: pool.map(|pool| self.caps(pool)),
            schedules: scheduler.is_some_and(|scheduler| scheduler != "none"),
            disturbed,
            measured,
        })
    }
}

/// Part of the time of these CPUs that processes outside of the groups used; `None` where it was not sampled.
fn others(subject: &Subject<'_>, repeat: &Repeat<'_>, shared: &Shared) -> Option<f64> {
    let spent = cpus::spent(repeat, Some(&shared.set)).ok()?;
    cpus::others(subject.trial, repeat, shared, spent).ok()
}

/// The same of each; `None` where neither the kernel (cgroup2) nor events have groups on each CPU.
fn others_on(subject: &Subject<'_>, repeat: &Repeat<'_>, cpus: &[usize]) -> Option<Vec<f64>> {
    let each = cpus::each(repeat)?;
    let on = |cpu: &usize| {
        let one = each.iter().find(|one| one.name == format!("cpu{cpu}"))?;
        let (used, stolen) = match cpus::used_on(subject.trial, repeat, &one.name) {
            Some(used) => (used, one.steal),
            // By events a thread runs on while the hypervisor has its CPU.
            None => (all_ran_on(repeat.evidence().ok()?, *cpu)?, 0.0),
        };
        Some((1.0 - one.idle - stolen - used).max(0.0))
    };
    cpus.iter().map(on).collect()
}

/// CPUs that each group kept busy of each of these, by the kernel's own count; `None` where it has none (cgroup2).
fn ran(repeat: &Repeat<'_>, names: &[String], cpus: &[usize]) -> Option<Vec<Vec<f64>>> {
    let table = repeat.table("cpu_split").ok()?;
    let on = |name: &String, cpu: &usize| {
        let (grown, seconds) = repeat.grown(&table, name, &[&format!("cpu{cpu}_ns")]).ok()?;
        Some(grown * 1e-9 / seconds)
    };
    names.iter().map(|name| cpus.iter().map(|cpu| on(name, cpu)).collect()).collect()
}

/// Whether the events have as much of each group as the kernel's own count of its CPU time: switches that were not shown are
/// missing in them.
fn agrees(repeat: &Repeat<'_>, names: &[String], ran: &[Vec<f64>]) -> bool {
    names.iter().zip(ran).all(|(name, ran)| {
        let used = repeat.growth("cpu", name, &["usage_ns"]);
        let used = used.map(|(grown, seconds)| grown * 1e-9 / seconds);
        used.is_ok_and(|used| (ran.iter().sum::<f64>() - used).abs() <= MOST_APART * used)
    })
}

/// Events cover the warm-up as well, in which a group may have used a little more or less.
const MOST_APART: f64 = 0.05;

/// Suspicions after the kernel's events have spoken: proven ones are known, excluded ones are ruled out, and what
/// contributes has its figures among the evidence.
pub(super) fn settle(mut suspicions: Vec<Suspicion>, proofs: &[Proof]) -> Vec<Suspicion> {
    for proof in proofs {
        let Some(rule) = RULES.iter().find(|rule| rule.code == proof.code) else { continue };
        let evidence = sentence(proof);
        let outcome = match proof.state {
            ProofState::Proven => Outcome::Proven(cause(rule, proof)),
            ProofState::Excluded => Outcome::RuledOut(evidence),
            ProofState::Contributes => {
                let fitting = suspicions.iter_mut().find_map(|one| match &mut one.examined {
                    Ok(Outcome::Fits(_, _, known)) if one.code == rule.code => Some(known),
                    _ => None,
                });
                if let Some(known) = fitting {
                    known.push(evidence);
                    continue;
                }
                Outcome::Open(evidence)
            }
        };
        if proof.state != ProofState::Contributes {
            suspicions.retain(|one| one.code != rule.code);
        }
        suspicions.push(Suspicion { code: rule.code, examined: Ok(outcome) });
    }
    suspicions
}

/// Causes of failed checks with what events say of them, then causes of the errors that events prove.
pub(super) fn add_to_checks(causes: &mut Vec<Cause>, proofs: &[Proof]) {
    for proof in proofs {
        match causes.iter_mut().find(|cause| cause.code == proof.code) {
            Some(cause) => cause.evidence.push(sentence(proof)),
            None if proof.state == ProofState::Proven => causes.extend(proven(proof)),
            None => {}
        }
    }
}

/// Causes that are proven for the observed seconds of an undecided promise, or for those of the repeats that were off.
pub(super) fn of_observed_seconds(found: &Found) -> Vec<Cause> {
    let known = found.proofs.iter().filter(|proof| proof.state == ProofState::Proven);
    let of = match found.repeats {
        repeats if repeats == found.broke => String::new(),
        repeats => format!(" of {} of {}", found.broke, count(repeats, "repeat")),
    };
    let of_seconds = |mut cause: Cause| {
        let proven = format!("proven for the observed seconds{of}");
        cause.summary = cause.summary.replacen("proven", &proven, 1);
        cause
    };
    known.filter_map(proven).map(of_seconds).collect()
}

/// The cause that is proven.
fn proven(proof: &Proof) -> Option<Cause> {
    let rule = RULES.iter().find(|rule| rule.code == proof.code)?;
    Some(cause(rule, proof))
}

fn cause(rule: &Rule, proof: &Proof) -> Cause {
    Cause {
        code: proof.code.clone(),
        summary: format!("proven: {}", rule.summary),
        evidence: vec![sentence(proof)],
        strength: None,
    }
}

/// What events say, with the number of repeats.
fn sentence(proof: &Proof) -> String {
    let repeats = match proof.of {
        1 => String::new(),
        of => format!(" in {} of {}", proof.repeats, count(of, "repeat")),
    };
    format!("the kernel's events: {}{repeats}: {}", proof.state.word(), proof.evidence)
}
