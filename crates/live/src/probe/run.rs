//! One limit after the other: what is asked for, what the files say, and what a copy does.

use std::path::{Path, PathBuf};
use std::time::Instant;

use assay_host::facts::HostFacts;
use assay_host::facts::owner::Owner;
use assay_host::{Ledger, Owners};
use assay_sys::kernel::{Error, Root, signal};
use assay_sys::units::CpuSet;
use jiff::Timestamp;
use serde_json::Value;

use crate::probe::asked::Bundle;
use crate::probe::beside::{Workshop, keyed};
use crate::probe::levels::{levels, room_beside, tightest};
use crate::probe::limit::{Limit, cpus_file, cpus_of};
use crate::probe::proof::{MEMORY, Proof, TASKS, prove};
use crate::probe::target::{Place, Target, mount_of};
use crate::probe::{Answer, Asked, Document, SCHEMA};

/// What to probe, and with what.
#[derive(Debug)]
pub struct Request {
    /// The host.
    pub facts: HostFacts,
    /// Whose limits.
    pub target: Target,
    /// Which limits.
    pub limits: Vec<Limit>,
    /// The file and the text of the container's OCI bundle, if it is a container of a known runtime.
    pub bundle: Option<(String, Value)>,
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
        let owners = Owners::new(root);
        let mount = mount_of(&facts.cgroup, "cpu").map(|(mount, _)| mount).unwrap_or_default();
        // What a user says of his own containers is not what the host's runtime was asked for.
        let bundle = match owners.owner(&mount, &target.group) {
            Some(Owner::Container(container)) => owners.bundle(&container.id),
            _ => None,
        };
        Self {
            target,
            facts,
            limits,
            bundle,
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

/// Probes each limit and removes what it made after each. `progress` is called before each proof.
///
/// # Errors
/// Only if no ledger can be created, before anything is changed.
pub fn run(
    request: &Request,
    root: &Root,
    progress: &mut dyn FnMut(Limit),
) -> Result<Finished, Error> {
    let mut ledger = Ledger::begin(&request.state_dir, &format!("probe-{}", request.id))?;
    let patience = if request.facts.is_emulated() { 3.0 } else { 1.0 };
    let bundle = request.bundle.clone().map(|(file, config)| Bundle { file, config });
    let workshop = Workshop {
        root,
        ledger: &mut ledger,
        id: &request.id,
        program: &request.program,
        patience,
    };
    let mut probing = Probing { request, bundle, workshop, not_restored: Vec::new(), progress };
    let (mut answers, mut unlimited) = (Vec::new(), Vec::new());
    for limit in &request.limits {
        if signal::interrupted_by().is_some() {
            break;
        }
        match probing.answer(*limit) {
            Found::Answer(answer) => answers.push(*answer),
            Found::NoLimit(file) => unlimited.push(file.to_owned()),
            Found::NoFile => {}
        }
    }
    let not_restored = probing.not_restored;
    let restored = ledger.finish()? && not_restored.is_empty();
    let document = Document {
        schema: SCHEMA,
        target: request.target.name.clone(),
        group: request.target.group.clone(),
        processes: request.target.processes,
        kernel: request.facts.kernel.clone(),
        started_at: request.started_at.clone(),
        answers,
        unlimited,
        restored,
    };
    Ok(Finished { document, not_restored, interrupted: signal::interrupted_by() })
}

enum Found {
    Answer(Box<Answer>),
    /// The file of the target sets no limit, nor does one above it, and nobody asked for one.
    NoLimit(&'static str),
    /// This kernel or hierarchy has no such file.
    NoFile,
}

struct Probing<'p> {
    request: &'p Request,
    bundle: Option<Bundle>,
    workshop: Workshop<'p>,
    not_restored: Vec<Error>,
    progress: &'p mut dyn FnMut(Limit),
}

/// What there is to prove about a limit.
struct Claim {
    knob: &'static str,
    /// The group whose file is tried.
    group: PathBuf,
    amount: f64,
    value: Option<String>,
    /// Why no proof is needed.
    lost: Option<String>,
}

impl Probing<'_> {
    fn answer(&mut self, limit: Limit) -> Found {
        let began = Instant::now();
        let asked = self.asked(limit);
        let place =
            self.request.target.place(self.workshop.root, &self.request.facts.cgroup, limit);
        let (place, claim) = match place {
            Err(_) if asked.is_none() => return Found::NoFile,
            Err(why) => (
                None,
                Ok(Some(Claim::lost(limit, format!("controller {}: {why}", limit.controller())))),
            ),
            Ok(place) => {
                let claim = self.claim(limit, &place, asked.as_ref());
                (Some(place), claim)
            }
        };
        let claim = match claim {
            Ok(Some(claim)) => claim,
            Ok(None) => {
                return place
                    .and_then(|place| limit.file(place.is_v2))
                    .map_or(Found::NoFile, Found::NoLimit);
            }
            Err(error) => Claim { lost: None, ..Claim::lost(limit, error.to_string()) },
        };
        let proof = match (&claim.lost, &place) {
            (Some(lost), _) => Proof::not_enforced(lost.clone()),
            (None, Some(place)) => self.proof(limit, place, &claim),
            (None, None) => Proof::not_provable("its group was not found"),
        };
        let mount = place.as_ref().map_or(Path::new("/"), |place| &place.mount);
        Found::Answer(Box::new(Answer {
            knob: claim.knob.to_owned(),
            group: format!(
                "/{}",
                claim.group.strip_prefix(mount).unwrap_or(&claim.group).display()
            ),
            value: claim.value,
            asked: asked.map(|(_, asked)| asked),
            verdict: proof.verdict,
            reason: proof.reason,
            measured: proof.measured,
            met: place.and_then(|place| met(self.workshop.root, &place.group, limit, place.is_v2)),
            seconds: (began.elapsed().as_secs_f64() * 100.0).round() / 100.0,
        }))
    }

    fn asked(&self, limit: Limit) -> Option<(f64, Asked)> {
        let bundle = self.bundle.as_ref()?;
        let by = bundle.file.clone();
        if limit == Limit::CpusetCpus {
            return Some((0.0, Asked { value: bundle.cpus()?.to_owned(), by }));
        }
        let amount = bundle.amount(limit)?;
        Some((amount, Asked { value: limit.shown(amount), by }))
    }

    /// What the files say, before anything is tried. `None`: there is no limit.
    fn claim(
        &self,
        limit: Limit,
        place: &Place,
        asked: Option<&(f64, Asked)>,
    ) -> Result<Option<Claim>, Error> {
        let root = self.workshop.root;
        let Some(knob) = limit.file(place.is_v2) else { return Ok(None) };
        let mut claim =
            Claim { knob, group: place.group.clone(), amount: 0.0, value: None, lost: None };
        if !root.exists(place.group.join(knob)) {
            let Some((_, asked)) = asked else { return Ok(None) };
            let above = place.group.parent().unwrap_or(&place.group);
            claim.lost = Some(format!(
                "{} was asked for, and the group has no {knob}: {} does not enable the controller {}",
                asked.value,
                above.join("cgroup.subtree_control").display(),
                limit.controller()
            ));
            return Ok(Some(claim));
        }
        let text = root.read_trimmed(place.group.join(knob))?.replace('\n', "; ");
        claim.value = Some(text.clone());
        let is_set = match limit {
            Limit::CpusetCpus => self.set(&mut claim, place, asked.map(|(_, asked)| asked))?,
            Limit::IoMax => !text.is_empty(),
            Limit::CpuWeight => limit.amount(root, &place.group, place.is_v2)?.is_some(),
            _ => self.bound(&mut claim, limit, place, asked)?,
        };
        if !is_set {
            return Ok(None);
        }
        if claim.lost.is_none() {
            claim.lost = match (&place.elsewhere, self.request.target.processes) {
                (Some(elsewhere), _) => {
                    Some(format!("its processes are in {elsewhere}, where this file has no effect"))
                }
                (None, 0) => Some("no process is in the group or below it".to_owned()),
                _ => None,
            };
        }
        Ok(Some(claim))
    }

    /// An amount, and the tightest one of all levels.
    fn bound(
        &self,
        claim: &mut Claim,
        limit: Limit,
        place: &Place,
        asked: Option<&(f64, Asked)>,
    ) -> Result<bool, Error> {
        let levels = levels(self.workshop.root, &place.mount, &place.group, limit, place.is_v2)?;
        let own = levels.first().and_then(|level| level.amount);
        if let Some((amount, asked)) = asked
            && own.is_none_or(|own| (own / amount - 1.0).abs() > 0.01)
        {
            let says = own.map_or_else(|| "no limit".to_owned(), |own| limit.shown(own));
            claim.lost = Some(format!("{} was asked for, and the file says {says}", asked.value));
            return Ok(true);
        }
        let Some((at, amount)) = tightest(&levels) else { return Ok(false) };
        claim.amount = amount;
        if at > 0 {
            let above = &levels[at].group;
            let path = above.strip_prefix(&place.mount).unwrap_or(above).display();
            let amount = limit.shown(amount);
            match own {
                Some(own) => {
                    claim.lost = Some(format!(
                        "/{path} above it has {amount}, less than its {}",
                        limit.shown(own)
                    ));
                }
                None => {
                    claim.value = Some(self.workshop.root.read_trimmed(above.join(claim.knob))?);
                    claim.group = above.clone();
                }
            }
        }
        Ok(true)
    }

    /// Whether a set of CPUs leaves any out, and whether it is the one that was asked for.
    fn set(&self, claim: &mut Claim, place: &Place, asked: Option<&Asked>) -> Result<bool, Error> {
        let root = self.workshop.root;
        let set = |group: &Path| cpus_of(root, group, place.is_v2);
        let own = set(&place.group)?;
        if let Some(asked) = asked
            && asked.value.parse::<CpuSet>().is_ok_and(|wanted| wanted != own)
        {
            claim.lost = Some(format!("CPUs {} were asked for, and it has {own}", asked.value));
            return Ok(true);
        }
        let above =
            place.group.parent().filter(|above| root.exists(above.join(cpus_file(place.is_v2))));
        Ok(asked.is_some() || above.map(set).transpose()?.is_some_and(|above| above != own))
    }

    fn proof(&mut self, limit: Limit, place: &Place, claim: &Claim) -> Proof {
        match self.lacks_room(limit, place, &claim.group) {
            Ok(None) => {}
            Ok(Some(lacking)) => return Proof::not_provable(lacking),
            Err(error) => return Proof::not_provable(error.to_string()),
        }
        (self.progress)(limit);
        let (result, not_restored) = self
            .workshop
            .beside(&claim.group, |beside| prove(limit, beside, &claim.group, claim.amount));
        self.not_restored.extend(not_restored);
        match result {
            Ok(Some(proof)) => proof,
            Ok(None) => Proof::not_provable("the proof hung; its processes were killed"),
            Err(error) => Proof::not_provable(error.to_string()),
        }
    }

    /// Why a proof might harm what is beside it: the groups above have no room for both.
    fn lacks_room(
        &self,
        limit: Limit,
        place: &Place,
        group: &Path,
    ) -> Result<Option<String>, Error> {
        let root = self.workshop.root;
        let (limits, needs): (&[Limit], f64) = match limit {
            Limit::MemoryMax | Limit::MemoryHigh => {
                (&[Limit::MemoryMax, Limit::MemoryHigh], MEMORY)
            }
            Limit::PidsMax => (&[Limit::PidsMax], TASKS),
            _ => return Ok(None),
        };
        for of in limits {
            let room = room_beside(root, &place.mount, group, *of, place.is_v2)?;
            if let Some((above, room)) = room.filter(|(_, room)| *room < needs) {
                let above = above.strip_prefix(&place.mount).unwrap_or(&above).display();
                let [room, needs] = [room.max(0.0), needs].map(|amount| of.shown(amount));
                return Ok(Some(format!(
                    "/{above} above it has room for {room}, and a proof needs {needs}"
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

impl Claim {
    fn lost(limit: Limit, why: String) -> Self {
        let knob = limit.file(true).unwrap_or_default();
        Self { knob, group: PathBuf::new(), amount: 0.0, value: None, lost: Some(why) }
    }
}

/// How often the group itself met its limit.
fn met(root: &Root, group: &Path, limit: Limit, is_v2: bool) -> Option<String> {
    let (file, key, what) = match (limit, is_v2) {
        (Limit::MemoryMax, true) => {
            ("memory.events", "oom_kill", "processes killed for lack of memory")
        }
        (Limit::MemoryHigh, true) => ("memory.events", "high", "times slowed"),
        (Limit::PidsMax, _) => ("pids.events", "max", "forks refused"),
        (Limit::CpuMax, _) => ("cpu.stat", "nr_throttled", "periods throttled"),
        _ => return None,
    };
    let count = keyed(root, group, file, key)?;
    Some(format!("{count} {what}"))
}
