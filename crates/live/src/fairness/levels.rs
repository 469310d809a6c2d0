//! The children of one parent, which compete for its CPUs.
//!
//! Cells are collected in two ways. *All CPUs*: groups that could have used every CPU on which the level had threads, all
//! the time; their weights promise a division of these CPUs. *Shared CPUs*: groups that could have used one CPU all the
//! time. There the kernel gives each group only the part of its weight that its load on this CPU is of its load, and divides
//! by these parts. The first is what an administrator was told, and needs a thread for every CPU; the second can be
//! asked of groups with few threads or with threads bound to CPUs.

use std::collections::HashMap;

use assay_audit::WeightSetting;
use assay_host::knob::WeightMode;

use crate::fairness::look::{FIRST_GROUP, Look, ROOT, Span};
use crate::fairness::series::{Claim, Series, add_cell};

/// A level with what was seen of it so far.
#[derive(Debug, Clone)]
pub(crate) struct Level {
    /// The parent.
    pub(crate) parent: String,
    /// Its children with a weight.
    pub(crate) members: Vec<Member>,
    /// Time in which at least two children wanted the same CPU all the time.
    pub(crate) contended_s: f64,
    /// In that time: what all children used, and what competes with them outside of them (threads of the parent itself, and
    /// at the top those of the kernel).
    pub(crate) children_ns: f64,
    /// See `children_ns`.
    pub(crate) others_ns: f64,
    /// The most CPUs of a cell.
    pub(crate) cpus: usize,
    others: Vec<usize>,
}

/// One of the children.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    /// Its weight, as its file says.
    pub(crate) setting: WeightSetting,
    /// Cells in which it could have used all CPUs of the level.
    pub(crate) all_cpus: Series,
    /// Cells in which it could have used a CPU.
    pub(crate) shared_cpus: Series,
    /// How long its threads ran.
    pub(crate) run_ns: f64,
    /// The same of those that no weight binds.
    pub(crate) real_time_ns: f64,
    /// Its weight as the kernel knows it, in the unit of `setting`; 0 if it was not seen to run.
    pub(crate) kernel_weight: f64,
    slot: usize,
}

/// All levels.
#[derive(Debug, Clone, Default)]
pub struct Levels {
    /// The levels.
    pub(crate) levels: Vec<Level>,
    /// By which law the kernel divides, where it is not `smp`.
    pub(crate) mode: Option<WeightMode>,
    /// The slot of the group above each slot of a group.
    above: Vec<usize>,
    spans: usize,
}

/// The kernel counts weights with ten more bits on 64-bit machines (`scale_load`, kernel/sched/sched.h).
const SCALE: f64 = 1024.0;

/// The group above.
pub(crate) fn parent(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some(("", _)) | None => "/",
        Some((above, _)) => above,
    }
}

/// Whether a path is that of a group or of one below.
pub(crate) fn is_within(path: &str, group: &str) -> bool {
    path.strip_prefix(group).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The slot of the group above each of these groups, whose slots begin with [`FIRST_GROUP`].
#[must_use]
pub fn slots_above(groups: &[String]) -> Vec<usize> {
    let slots: HashMap<&str, usize> =
        groups.iter().map(String::as_str).zip(FIRST_GROUP..).collect();
    groups.iter().map(|path| slots.get(parent(path)).copied().unwrap_or(ROOT)).collect()
}

impl Levels {
    /// The levels of these groups, whose slots begin with [`FIRST_GROUP`], parents before children.
    #[must_use]
    pub fn new(groups: &[String], settings: &[WeightSetting]) -> Self {
        let slots: HashMap<&str, usize> =
            groups.iter().map(String::as_str).zip(FIRST_GROUP..).collect();
        let slot_of = |path: &str| slots.get(path).copied().unwrap_or(ROOT);
        let above = slots_above(groups);
        let mut levels: Vec<Level> = Vec::new();
        let mut places = HashMap::new();
        for one in settings {
            let Some(slot) = slots.get(one.group.as_str()).copied() else { continue };
            let above = parent(&one.group);
            let place = *places.entry(above).or_insert_with(|| {
                levels.push(Level::new(above, slot_of(above)));
                levels.len() - 1
            });
            if let Some(level) = levels.get_mut(place) {
                level.members.push(Member::new(one.clone(), slot));
            }
        }
        levels.retain(|level| level.members.len() > 1);
        Self { levels, mode: None, above, spans: 0 }
    }

    /// The same on a kernel with this law.
    #[must_use]
    pub fn by(self, mode: WeightMode) -> Self {
        Self { mode: (mode != WeightMode::Smp).then_some(mode), ..self }
    }

    /// Adds the time between two looks.
    pub fn add(&mut self, before: &Look, after: &Look) {
        let span = Span { number: self.spans, before, after };
        self.spans += 1;
        let cpus: Vec<CpuSpan> =
            (0..after.cpus.len()).map(|cpu| CpuSpan::new(cpu, &span, &self.above)).collect();
        for level in &mut self.levels {
            level.add(&span, &cpus);
        }
    }
}

/// What each slot, with those below it, used of a CPU.
struct CpuSpan {
    cpu: usize,
    run: Vec<f64>,
    real_time: Vec<f64>,
}

impl CpuSpan {
    fn new(cpu: usize, span: &Span, above: &[usize]) -> Self {
        let slots = span.after.slots();
        let mut run: Vec<f64> = (0..slots).map(|slot| span.run_ns(cpu, slot) as f64).collect();
        let mut real_time: Vec<f64> =
            (0..slots).map(|slot| span.real_time_ns(cpu, slot) as f64).collect();
        // Children follow their parents, so that a group is complete before it is added to the one above.
        for (at, above) in above.iter().enumerate().rev() {
            let slot = at + FIRST_GROUP;
            if *above >= FIRST_GROUP && slot < slots && *above < slot {
                run[*above] += run[slot];
                real_time[*above] += real_time[slot];
            }
        }
        Self { cpu, run, real_time }
    }

    fn run_of(&self, slot: usize) -> f64 {
        self.run.get(slot).copied().unwrap_or(0.0)
    }
}

impl Level {
    fn new(parent: &str, slot: usize) -> Self {
        let others =
            if slot == ROOT { vec![ROOT, crate::fairness::look::KERNEL] } else { vec![slot] };
        Self {
            parent: parent.to_owned(),
            members: Vec::new(),
            contended_s: 0.0,
            children_ns: 0.0,
            others_ns: 0.0,
            cpus: 1,
            others,
        }
    }

    fn add(&mut self, span: &Span, cpus: &[CpuSpan]) {
        let mut any_run = 0.0;
        for member in &mut self.members {
            member.note(span, cpus);
            any_run += cpus.iter().map(|cpu| cpu.run_of(member.slot)).sum::<f64>();
        }
        if any_run <= 0.0 {
            return;
        }
        let seconds = span.seconds();
        let shared: Vec<Vec<Claim>> = cpus.iter().map(|cpu| self.claims(span, cpu)).collect();
        let cell = (span.number, seconds);
        if !add_cell(&mut self.members, |one| &mut one.shared_cpus, cell, &shared) {
            return;
        }
        self.contended_s += seconds;
        self.children_ns += any_run;
        let others = cpus.iter().flat_map(|cpu| self.others.iter().map(|slot| (cpu.cpu, *slot)));
        self.others_ns += others.map(|(cpu, slot)| span.run_ns(cpu, slot) as f64).sum::<f64>();
        self.add_all_cpus(span, cpus, cell);
    }

    /// Those that were there on a CPU all the time, with the parts of their weights on it.
    fn claims(&self, span: &Span, cpu: &CpuSpan) -> Vec<Claim> {
        let there = self.members.iter().enumerate();
        there
            .filter(|(_, one)| span.was_there(cpu.cpu, one.slot))
            .filter_map(|(member, one)| {
                let share = span.after.share(cpu.cpu, one.slot);
                let part = share.weight as f64 / (share.shares as f64).max(1.0);
                let weight = one.setting.weight * part;
                (weight > 0.0).then(|| Claim { member, got: cpu.run_of(one.slot), weight })
            })
            .collect()
    }

    /// Those that were there on all CPUs on which any child had a thread.
    fn add_all_cpus(&mut self, span: &Span, cpus: &[CpuSpan], cell: (usize, f64)) {
        let is_used = |cpu: &&CpuSpan| {
            let has_thread =
                |one: &Member| span.was_there(cpu.cpu, one.slot) || cpu.run_of(one.slot) > 0.0;
            self.members.iter().any(has_thread)
        };
        let used: Vec<&CpuSpan> = cpus.iter().filter(is_used).collect();
        let claims = self
            .members
            .iter()
            .enumerate()
            .filter(|(_, one)| used.iter().all(|cpu| span.was_there(cpu.cpu, one.slot)))
            .map(|(member, one)| Claim {
                member,
                got: used.iter().map(|cpu| cpu.run_of(one.slot)).sum(),
                weight: one.setting.weight,
            })
            .collect();
        if add_cell(&mut self.members, |one| &mut one.all_cpus, cell, &[claims]) {
            self.cpus = self.cpus.max(used.len());
        }
    }
}

impl Member {
    fn new(setting: WeightSetting, slot: usize) -> Self {
        Self {
            setting,
            all_cpus: Series::default(),
            shared_cpus: Series::default(),
            run_ns: 0.0,
            real_time_ns: 0.0,
            kernel_weight: 0.0,
            slot,
        }
    }

    fn note(&mut self, span: &Span, cpus: &[CpuSpan]) {
        for cpu in cpus {
            self.run_ns += cpu.run_of(self.slot);
            self.real_time_ns += cpu.real_time.get(self.slot).copied().unwrap_or(0.0);
            let shares = span.after.share(cpu.cpu, self.slot).shares;
            if shares > 0 {
                self.kernel_weight = shares as f64 / SCALE;
            }
            if span.may_have_been_there(cpu.cpu, self.slot) {
                self.all_cpus.bridge(span.number);
                self.shared_cpus.bridge(span.number);
            }
        }
    }
}
