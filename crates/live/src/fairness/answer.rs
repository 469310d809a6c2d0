//! The answer about the levels: what was configured for each group and what it got while siblings contended.

use std::collections::BTreeMap;

use assay_audit::{Reading, WeightSetting};
use assay_host::facts::owner::Owner;
use assay_host::knob::WeightMode;
use assay_judge::verdict::Verdict;
use assay_stats::Interval;
use serde::Serialize;

use crate::fairness::estimate::{Estimate, cpu_turn_ns, is_enough};
use crate::fairness::levels::{Level, Levels, Member};
use crate::fairness::series::Series;

/// Which cells a row rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// The group could have used all CPUs on which its siblings had threads.
    AllCpus,
    /// It could have used a CPU, by the part of its weight that the kernel gives to it there.
    SharedCpus,
    /// It had requests to the disk all the time.
    Disk,
}

/// A group of a level.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The group.
    pub group: String,
    /// Whose it is, if its path tells.
    pub owner: Option<Owner>,
    /// The file with its weight.
    pub reading: Reading,
    /// The verdict.
    pub verdict: Verdict,
    /// What the verdict rests on.
    pub basis: Option<Basis>,
    /// Its promised part of what those that contended got, from 0 to 1.
    pub promised: Option<f64>,
    /// Its part, with its interval.
    pub got: Option<Interval>,
    /// How long it was compared.
    pub compared_s: f64,
    /// What it used in all: seconds of CPU, or bytes.
    pub used: f64,
    /// Why it is void, what is suspected, what else ran in it.
    pub notes: Vec<String>,
}

/// The children of one parent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LevelAnswer {
    /// The parent.
    pub parent: String,
    /// The worst verdict of its rows; void if nothing contended.
    pub verdict: Verdict,
    /// How long at least two of the children wanted the same CPU all the time.
    pub contended_s: f64,
    /// The part of the CPU time meanwhile that went to what competes with the children: threads of the parent itself; at the
    /// top those in no group and the kernel's.
    pub others: f64,
    /// The children that ran at all.
    pub rows: Vec<Row>,
}

/// The weight of a group at the start and at the end, as its file said, where these differ.
pub type Changes = BTreeMap<String, (String, String)>;

/// Judges the levels. Levels of which fewer than two children ran are left out.
#[must_use]
pub fn judge(levels: &Levels, changes: &Changes) -> Vec<LevelAnswer> {
    let running = |level: &&Level| level.members.iter().filter(|one| one.run_ns > 0.0).count() > 1;
    let shown: Vec<&Level> = levels.levels.iter().filter(running).collect();
    let members = shown.iter().flat_map(|level| &level.members);
    let series = members.flat_map(|one| [&one.all_cpus, &one.shared_cpus]);
    let compared = series.filter(|one| is_enough(one)).count();
    shown.into_iter().map(|level| answer(level, levels.mode, compared, changes)).collect()
}

fn answer(
    level: &Level,
    mode: Option<WeightMode>,
    compared: usize,
    changes: &Changes,
) -> LevelAnswer {
    let ran = level.members.iter().filter(|one| one.run_ns > 0.0);
    let rows = ran.map(|member| row(level, mode, member, compared)).collect();
    let members = level.members.iter().map(|one| one.setting.group.as_str());
    let all = level.children_ns + level.others_ns;
    let others = if all > 0.0 { level.others_ns / all } else { 0.0 };
    LevelAnswer::new(&level.parent, level.contended_s, others, rows).voided(members, changes)
}

impl LevelAnswer {
    pub(crate) fn new(parent: &str, contended_s: f64, others: f64, rows: Vec<Row>) -> Self {
        let judged = rows.iter().filter(|row| row.basis.is_some()).map(|row| row.verdict);
        let verdict = Verdict::worst(judged);
        Self { parent: parent.to_owned(), verdict, contended_s, others, rows }
    }

    /// What one of the weights promised is not known if it was another one for a part of the time.
    pub(crate) fn voided<'m>(
        mut self,
        mut members: impl Iterator<Item = &'m str>,
        changes: &Changes,
    ) -> Self {
        let changed = members.find_map(|group| Some((group, changes.get(group)?)));
        let Some((group, (from, to))) = changed else { return self };
        for row in self.rows.iter_mut().filter(|row| row.verdict != Verdict::Void) {
            row.verdict = Verdict::Void;
            row.notes =
                vec![format!("the weight of {group} changed meanwhile, from {from} to {to}")];
        }
        Self::new(&self.parent, self.contended_s, self.others, self.rows)
    }
}

impl Row {
    /// Of an estimate on a basis, how long the group was compared, and what it used in all.
    pub(crate) fn new(
        setting: &WeightSetting,
        verdict: Verdict,
        estimate: Option<(Basis, Estimate)>,
        (compared_s, used): (f64, f64),
        notes: Vec<String>,
    ) -> Self {
        Self {
            group: setting.group.clone(),
            owner: setting.owner.clone(),
            reading: setting.reading.clone(),
            verdict,
            basis: estimate.as_ref().map(|(basis, _)| *basis),
            promised: estimate.as_ref().map(|(_, one)| one.promised),
            got: estimate.as_ref().map(|(_, one)| one.got),
            compared_s,
            used,
            notes,
        }
    }
}

fn row(level: &Level, mode: Option<WeightMode>, member: &Member, compared: usize) -> Row {
    let (basis, series, estimate) = estimate(level, member, compared);
    let verdict = estimate.as_ref().map_or(Verdict::Void, Estimate::verdict);
    let notes = notes(level, mode, member, verdict, compared);
    let estimate = estimate.map(|one| (basis, one));
    Row::new(&member.setting, verdict, estimate, (series.seconds, member.run_ns * 1e-9), notes)
}

/// By the cells of all CPUs; by those of single CPUs where the former are too few or leave it undecided, as they do if threads
/// wander, since each time that one CPU is left ends a spell. Each CPU may be divided by the weights and all of them not: what
/// all of them say against a promise stands, whatever single ones say.
fn estimate<'m>(
    level: &Level,
    member: &'m Member,
    compared: usize,
) -> (Basis, &'m Series, Option<Estimate>) {
    let all = Estimate::new(&member.all_cpus, compared, cpu_turn_ns(level.cpus));
    let shared = Estimate::new(&member.shared_cpus, compared, cpu_turn_ns(1));
    let is_open = |one: &Estimate| one.verdict() == Verdict::Undecided;
    let is_for_shared = all.as_ref().is_none_or(|all| {
        is_open(all) && !all.contradicts() && shared.as_ref().is_some_and(|one| !is_open(one))
    });
    if is_for_shared {
        return (Basis::SharedCpus, &member.shared_cpus, shared);
    }
    (Basis::AllCpus, &member.all_cpus, all)
}

fn notes(
    level: &Level,
    mode: Option<WeightMode>,
    member: &Member,
    verdict: Verdict,
    compared: usize,
) -> Vec<String> {
    let mut notes = Vec::new();
    if verdict == Verdict::Void {
        notes.push(match level.contended_s {
            none if none <= 0.0 => "nothing contended".to_owned(),
            _ => format!(
                "it wanted more than it had, beside a sibling, for {:.1} s only",
                member.shared_cpus.seconds
            ),
        });
    }
    if let Some(kernel) = other_weight(member) {
        notes.push(format!(
            "the kernel divides by {kernel} for this group, not by what the file said"
        ));
    } else if verdict == Verdict::Broken && is_uneven(member, compared) {
        // Weights on a CPU are the kernel's own, which its mode has multiplied already.
        notes.push(match mode {
            None => "suspected: C-CPU-IMBALANCE: on each CPU the weights were obeyed, but threads stand unevenly on them"
                .to_owned(),
            Some(mode) => format!(
                "suspected: C-WEIGHT-MODE: the kernel counts each weight by runnable threads (`{mode}`), and divided each CPU so"
            ),
        });
    }
    if member.real_time_ns > 0.0 {
        let seconds = member.real_time_ns * 1e-9;
        notes.push(format!("real-time threads, which no weight binds, ran {seconds:.1} s besides"));
    }
    notes
}

/// The weight of a group as the kernel knows it, in the unit of its file, if that is another one. Both interfaces round.
fn other_weight(member: &Member) -> Option<String> {
    let Member { kernel_weight, setting, .. } = member;
    let is_other = *kernel_weight > 0.0
        && (kernel_weight - setting.weight).abs() > 0.01 * setting.weight + 5.2;
    let shown = match setting.reading.file.ends_with("cpu.shares") {
        true => *kernel_weight,
        false => kernel_weight * 100.0 / 1024.0,
    };
    is_other.then(|| format!("{shown:.0}"))
}

/// Whether a group whose part of all CPUs is wrong had its part of each CPU.
fn is_uneven(member: &Member, compared: usize) -> bool {
    is_enough(&member.all_cpus)
        && Estimate::new(&member.shared_cpus, compared, cpu_turn_ns(1))
            .is_some_and(|one| one.verdict() == Verdict::Kept)
}

#[cfg(test)]
mod tests;
