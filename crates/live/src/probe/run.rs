//! One limit after the other: what is asked for, what the files say, and what a copy does.

use std::path::{Path, PathBuf};
use std::time::Instant;

use assay_host::Ledger;
use assay_host::facts::HostFacts;
use assay_sys::kernel::{Error, Root, signal};
use jiff::Timestamp;

use crate::probe::asked::{WishOf, Wishes};
use crate::probe::beside::{Allowed, Beside, Workshop, keyed};
use crate::probe::claim::{Claim, claim};
use crate::probe::levels::room_beside;
use crate::probe::limit::Limit;
use crate::probe::proof::{MEMORY, Proof, TASKS, is_tried_inside, prove};
use crate::probe::target::{Place, Target};
use crate::probe::{Answer, Document, SCHEMA, Verdict};

/// What to probe, and with what.
#[derive(Debug)]
pub struct Request {
    /// The host.
    pub facts: HostFacts,
    /// Whose limits; behind a pod its containers.
    pub targets: Vec<Target>,
    /// Which limits.
    pub limits: Vec<Limit>,
    /// How often each limit is tried.
    pub repeat: u32,
    /// What was asked for.
    pub wishes: Wishes,
    /// What proofs may do.
    pub allowed: Allowed,
    /// Directory of ledgers.
    pub state_dir: PathBuf,
    /// The run's id, `20261121T120000Z-4711`; the ledger and the groups are named after it.
    pub id: String,
    /// The program whose command starts probes: this one.
    pub program: PathBuf,
    /// Start time, RFC 3339.
    pub started_at: String,
}

impl Request {
    /// The limits of a target, with a ledger in the folder and probes of the program.
    #[must_use]
    pub fn new(
        root: &Root,
        facts: HostFacts,
        target: Target,
        limits: Vec<Limit>,
        (state_dir, program): (PathBuf, PathBuf),
    ) -> Self {
        let now = Timestamp::now();
        let containers = target.containers(root, &facts.cgroup);
        Self {
            targets: std::iter::once(target).chain(containers).collect(),
            facts,
            limits,
            repeat: 1,
            wishes: Wishes::default(),
            allowed: Allowed::default(),
            state_dir,
            id: format!("{}-{}", now.strftime("%Y%m%dT%H%M%SZ"), std::process::id()),
            program,
            started_at: now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        }
    }
}

/// What came of it.
#[derive(Debug)]
pub struct Finished {
    /// As far as it got.
    pub document: Document,
    /// What could not be removed.
    pub not_restored: Vec<Error>,
    /// The signal that requested the stop, if any.
    pub interrupted: Option<&'static str>,
}

/// Probes each limit and removes what it made after each. `progress` is called with the file before the first proof of each.
///
/// # Errors
/// Only if no ledger can be created, before anything is changed.
pub fn run(
    request: &Request,
    root: &Root,
    progress: &mut dyn FnMut(&str),
) -> Result<Finished, Error> {
    let mut ledger = Ledger::begin(&request.state_dir, &format!("probe-{}", request.id))?;
    let patience = if request.facts.is_emulated() { 3.0 } else { 1.0 };
    let workshop = Workshop {
        root,
        ledger: &mut ledger,
        id: &request.id,
        program: &request.program,
        patience,
        may: &request.allowed,
    };
    let mut probing = Probing {
        request,
        workshop,
        not_restored: Vec::new(),
        progress,
        answers: Vec::new(),
        unlimited: Vec::new(),
    };
    for target in &request.targets {
        for limit in &request.limits {
            if signal::interrupted_by().is_some() {
                break;
            }
            probing.answer(target, *limit);
        }
    }
    probing.answer_unmet_wishes();
    let Probing { not_restored, answers, unlimited, .. } = probing;
    let restored = ledger.finish()? && not_restored.is_empty();
    let target = request.targets.first();
    let document = Document {
        schema: SCHEMA,
        target: target.map(|target| target.name.clone()).unwrap_or_default(),
        group: target.map(|target| target.group.clone()).unwrap_or_default(),
        processes: target.map_or(0, |target| target.processes),
        kernel: request.facts.kernel.clone(),
        started_at: request.started_at.clone(),
        answers,
        unlimited,
        restored,
    };
    Ok(Finished { document, not_restored, interrupted: signal::interrupted_by() })
}

struct Probing<'p> {
    request: &'p Request,
    workshop: Workshop<'p>,
    not_restored: Vec<Error>,
    progress: &'p mut dyn FnMut(&str),
    answers: Vec<Answer>,
    /// Files of the first target without a limit.
    unlimited: Vec<String>,
}

impl Probing<'_> {
    fn answer(&mut self, target: &Target, limit: Limit) {
        let began = Instant::now();
        let root = self.workshop.root;
        let place = match target.place(root, &self.request.facts.cgroup, limit) {
            Ok(place) => place,
            Err(why) => return self.answer_without_place(target, limit, &why),
        };
        let Some(knob) = limit.file(place.is_v2) else { return };
        let (claim, proof) = match claim(root, limit, target, &place, &self.request.wishes) {
            Ok(None) => {
                let is_spoken_of = !matches!(limit, Limit::SwapMax | Limit::Devices);
                if target.outer.is_none() && is_spoken_of {
                    self.unlimited.push(knob.to_owned());
                }
                return;
            }
            Ok(Some(claim)) => {
                // The limit of a pod holds for each of its containers.
                let group = place.shown(&claim.group);
                if self.answers.iter().any(|one| one.knob == knob && one.group == group) {
                    return;
                }
                let proof = match (&claim.lost, &claim.hindered) {
                    (Some(lost), _) => Proof::not_enforced(lost.clone()),
                    (None, Some(why)) => Proof::not_provable(why.clone()),
                    (None, None) => self.proofs(limit, &place, &claim),
                };
                (Some(claim), proof)
            }
            Err(error) => (None, Proof::not_provable(error.to_string())),
        };
        let group = claim.as_ref().map_or(&place.group, |claim| &claim.group);
        self.answers.push(Answer {
            knob: knob.to_owned(),
            group: place.shown(group),
            value: claim.as_ref().and_then(|claim| claim.value.clone()),
            asked: claim.and_then(|claim| claim.wish).map(|wish| wish.asked),
            verdict: proof.verdict,
            reason: proof.reason,
            measured: proof.measured,
            met: met(root, &place.group, limit, place.is_v2),
            seconds: (began.elapsed().as_secs_f64() * 100.0).round() / 100.0,
        });
    }

    /// No hierarchy has the controller. That matters only if somebody asked for the limit.
    fn answer_without_place(&mut self, target: &Target, limit: Limit, why: &str) {
        let bundle = target.bundle.as_ref();
        let Some(wish) = bundle.and_then(|bundle| bundle.wish(limit, None, None)) else { return };
        self.answers.push(Answer {
            knob: limit.file(true).unwrap_or_default().to_owned(),
            group: target.group.clone(),
            value: None,
            verdict: Verdict::NotEnforced,
            reason: format!(
                "{} was asked for; controller {}: {why}",
                wish.asked.value,
                limit.controller()
            ),
            asked: Some(wish.asked),
            measured: Vec::new(),
            met: None,
            seconds: 0.0,
        });
    }

    /// What was asked for, and does not stand in a file whose limit no probe tries, such as `memory.low`.
    fn answer_unmet_wishes(&mut self) {
        let is_wanted = |file: &str| {
            let controllers = self.request.limits.iter().map(|limit| limit.controller());
            let name = file.rsplit('/').next().unwrap_or_default();
            let of = name.split('.').next().unwrap_or_default();
            controllers.into_iter().any(|one| one == of || one == "io" && of == "blkio")
        };
        for WishOf { file, group, wish } in self.request.wishes.unmet() {
            let knob = file.rsplit('/').next().unwrap_or_default();
            let is_answered = |one: &Answer| one.knob == knob && one.group == *group;
            if !is_wanted(file) || self.answers.iter().any(is_answered) {
                continue;
            }
            let value = self.workshop.root.read_trimmed(file).ok();
            let says = value.as_deref().unwrap_or("no such file");
            self.answers.push(Answer {
                knob: knob.to_owned(),
                group: group.clone(),
                reason: format!("{} was asked for, and the file says {says}", wish.asked.value),
                value,
                asked: Some(wish.asked.clone()),
                verdict: Verdict::NotEnforced,
                measured: Vec::new(),
                met: None,
                seconds: 0.0,
            });
        }
    }

    /// As many proofs as were requested. Only what all that show anything agree on is shown.
    fn proofs(&mut self, limit: Limit, place: &Place, claim: &Claim) -> Proof {
        let tries = self.request.repeat.max(1);
        let proofs: Vec<Proof> = (0..tries)
            .take_while(|_| signal::interrupted_by().is_none())
            .map(|at| self.proof(limit, place, claim, at == 0))
            .collect();
        Proof::agreed(proofs)
    }

    fn proof(&mut self, limit: Limit, place: &Place, claim: &Claim, is_first: bool) -> Proof {
        let is_inside = self.request.allowed.inside && is_tried_inside(limit);
        match self.lacks_room(limit, place, &claim.group, is_inside) {
            Ok(None) => {}
            Ok(Some(lacking)) => return Proof::not_provable(lacking),
            Err(error) => return Proof::not_provable(error.to_string()),
        }
        if is_first {
            (self.progress)(claim.knob);
        }
        let tried = |beside: &Beside<'_>| {
            prove(limit, beside, &claim.group, claim.amount, claim.divided.as_ref())
        };
        let result = if is_inside {
            self.workshop.inside(&place.entry, tried)
        } else {
            let (result, not_restored) = self.workshop.beside(&claim.group, tried);
            self.not_restored.extend(not_restored);
            result
        };
        match result {
            Ok(Some(proof)) => proof,
            Ok(None) => Proof::not_provable("the proof hung; its processes were killed"),
            Err(error) => Proof::not_provable(error.to_string()),
        }
    }

    /// Why a proof might harm what is beside it: the groups above have no room for both. A probe inside may fill the group itself, too.
    fn lacks_room(
        &self,
        limit: Limit,
        place: &Place,
        group: &Path,
        is_inside: bool,
    ) -> Result<Option<String>, Error> {
        let root = self.workshop.root;
        let group = if is_inside { &place.entry.join("probe") } else { group };
        let memory = [(Limit::MemoryMax, MEMORY), (Limit::MemoryHigh, MEMORY)];
        let tasks = (Limit::PidsMax, TASKS);
        let needed: &[(Limit, f64)] = match limit {
            Limit::MemoryMax | Limit::MemoryHigh | Limit::SwapMax => &memory,
            Limit::PidsMax => &[tasks],
            // On v1 it enters one hierarchy alone.
            _ if is_inside && place.is_v2 => &[memory[0], memory[1], tasks],
            _ => return Ok(None),
        };
        for (of, needs) in needed.iter().copied() {
            let room = room_beside(root, &place.mount, group, of, place.is_v2)?;
            if let Some((above, room)) = room.filter(|(_, room)| *room < needs) {
                let above = above.strip_prefix(&place.mount).unwrap_or(&above).display();
                let [room, needs] = [room.max(0.0), needs].map(|amount| of.shown(amount));
                let at = if is_inside { "" } else { " above it" };
                return Ok(Some(format!(
                    "/{above}{at} has room for {room}, and a proof needs {needs}"
                )));
            }
        }
        let text = root.read("/proc/meminfo")?;
        let available = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
        let kib: Option<f64> =
            available.and_then(|text| text.trim().trim_end_matches(" kB").parse().ok());
        let is_short =
            limit.controller() == "memory" && kib.is_some_and(|kib| kib * 1024.0 < 2.0 * MEMORY);
        Ok(is_short.then(|| "the machine has hardly any memory available".to_owned()))
    }
}

/// How often the group itself met its limit.
fn met(root: &Root, group: &Path, limit: Limit, is_v2: bool) -> Option<String> {
    let (file, key, what) = match (limit, is_v2) {
        (Limit::MemoryMax, true) => {
            ("memory.events", "oom_kill", "processes killed for lack of memory")
        }
        (Limit::MemoryHigh, true) => ("memory.events", "high", "times slowed"),
        (Limit::HugePages, true) => ("hugetlb.2MB.events", "max", "huge pages refused"),
        (Limit::PidsMax, _) => ("pids.events", "max", "forks refused"),
        (Limit::CpuMax, _) => ("cpu.stat", "nr_throttled", "periods throttled"),
        _ => return None,
    };
    let count = keyed(root, group, file, key)?;
    Some(format!("{count} {what}"))
}
