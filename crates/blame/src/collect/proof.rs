//! What holding a suspect back has shown, as a document and as text.

use std::fmt::Write;

use assay_host::facts::Available;
use assay_host::facts::owner::{Owner, shown};
use serde::{Deserialize, Serialize};

use super::effect::{Effect, Turn, attributed, effect, removable};
use super::experiment::Outcome;
use super::lever::GroupFile;
use crate::Verdict;

/// How exact the parts of an answer are checked to be, in points: its sum may be 1 % off. An interval of turns that are all
/// alike is narrower (0.03 points on a quiet host).
const EXACT: f64 = 1.0;

/// A wider interval says nothing about agreement, in points.
const WIDEST: f64 = 20.0;

/// Whether the effect is what attribution says that holding the culprit back takes away; `None` if the interval is too wide to tell.
fn agreement(removable: f64, effect: &Effect) -> Option<bool> {
    let is_near = (effect.low - EXACT..=effect.high + EXACT).contains(&removable);
    (!is_near || effect.high - effect.low <= WIDEST).then_some(is_near)
}

/// The result of `--prove`: how much of the waiting goes away, beside what attribution charged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Proof {
    /// The group's path, or `own_quota`.
    pub culprit: String,
    /// Whose group it is, if its path tells.
    pub owner: Option<Owner>,
    /// What was written in the turns in which it was held back.
    pub files: Vec<GroupFile>,
    /// The seed of their order.
    pub seed: u64,
    /// The turns, in their order.
    pub turns: Vec<Turn>,
    /// What attribution charged to the culprit while it ran, in percent of the waiting then.
    pub attributed_percent: Option<f64>,
    /// The part of the waiting that went away.
    pub effect: Available<Effect>,
    /// The part of the stalls for memory that went away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stalls: Option<Available<Effect>>,
    /// Whether what attribution charged, with its part of what interrupts and the hypervisor took while it ran, less what it
    /// still charged while the culprit was held back, is within the interval of the effect, or at most a point away from it;
    /// `None` if that cannot be told.
    pub agrees: Option<bool>,
    /// What limits the result.
    pub notes: Vec<String>,
}

impl Proof {
    pub(super) fn new(culprit: (String, Option<Owner>), seed: u64, outcome: Outcome) -> Self {
        let waiting = effect(&outcome.turns, Turn::rate);
        let is_stalled = outcome.turns.iter().any(|turn| turn.stalled_ns > Some(0));
        let stalls = is_stalled.then(|| effect(&outcome.turns, Turn::stalls));
        let attributed_percent = attributed(&outcome.turns);
        let is_void = outcome.answer.as_ref().is_none_or(|answer| answer.verdict == Verdict::Void);
        let agrees = (!is_void && outcome.incomplete == 0)
            .then(|| agreement(removable(&outcome.turns)?, waiting.value()?))
            .flatten();
        let mut notes = Vec::new();
        if outcome.turns.len() < outcome.planned {
            let (turns, planned) = (outcome.turns.len(), outcome.planned);
            notes.push(format!(
                "only {turns} of {planned} turns: what was watched ended before, or a signal came"
            ));
        }
        if outcome.incomplete > 0 {
            notes.push(format!("in {} turns it was not frozen to the end", outcome.incomplete));
        }
        if let Some(answer) = outcome.answer.filter(|answer| answer.verdict == Verdict::Void) {
            notes.push(format!("void: {}", answer.reason.unwrap_or_default()));
        }
        notes.extend(outcome.failure.map(|error| error.to_string()));
        Self {
            culprit: culprit.0,
            owner: culprit.1,
            files: outcome.lever.files,
            seed,
            turns: outcome.turns,
            attributed_percent,
            effect: waiting,
            stalls,
            agrees,
            notes,
        }
    }
}

/// The proof for a terminal.
#[must_use]
pub fn proof_text(proof: &Proof) -> String {
    let mut text = String::new();
    let _ = write_all(&mut text, proof);
    text
}

fn write_all(out: &mut String, proof: &Proof) -> std::fmt::Result {
    let held = proof.turns.iter().filter(|turn| turn.held).count();
    let culprit = shown(proof.owner.as_ref(), &proof.culprit);
    writeln!(
        out,
        "\nwithout {culprit} ({held} of {} turns, seed {})",
        proof.turns.len(),
        proof.seed
    )?;
    match &proof.effect {
        Available::Value(Effect { percent, low, high }) => writeln!(
            out,
            "  {percent:>6.1} %  of the waiting goes away (95 % interval {low:.1} % to {high:.1} %)"
        )?,
        Available::NotAvailable(why) => writeln!(out, "  not available: {why}")?,
    }
    if let Some(charged) = proof.attributed_percent {
        let agrees = match (proof.agrees, proof.effect.value()) {
            (Some(true), _) => ": within the interval, to a point",
            (Some(false), Some(effect)) if charged > effect.high => {
                ": not within the interval, something else takes its place"
            }
            (Some(false), _) => ": not within the interval, more goes away with it",
            (None, Some(effect)) if effect.high - effect.low > WIDEST => {
                ": the interval is too wide to compare"
            }
            (None, _) => "",
        };
        writeln!(out, "  {charged:>6.1} %  of it was charged to it while it ran{agrees}")?;
    }
    match &proof.stalls {
        Some(Available::Value(Effect { percent, low, high })) => writeln!(
            out,
            "  {percent:>6.1} %  of the stalls for memory go away (95 % interval {low:.1} % to {high:.1} %)"
        )?,
        Some(Available::NotAvailable(why)) => writeln!(out, "  stalls for memory: {why}")?,
        None => {}
    }
    proof.notes.iter().try_for_each(|note| writeln!(out, "  {note}"))
}
