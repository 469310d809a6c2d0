//! Promises across trials and references, as template data.

use assay_verdict::{ComparisonJudgement, Judgement, ReferenceJudgement};
use serde::Serialize;

use crate::across::{self, Across, cell, interval};
use crate::error::Error;
use crate::figure::{self, Figure};
use crate::number;
use crate::wording;

/// One promise across trials.
#[derive(Serialize)]
pub(super) struct AcrossView {
    anchor: String,
    heading: String,
    text: String,
    verdict: &'static str,
    mark: &'static str,
    figure: Figure,
    judged: Vec<JudgedView>,
}

/// The judgement under one combination of the held factors.
#[derive(Serialize)]
struct JudgedView {
    held: String,
    verdict: &'static str,
    mark: &'static str,
    reason: String,
    needs: Option<String>,
    unit: &'static str,
    levels: Vec<LevelRow>,
    pairs: Vec<PairRow>,
}

#[derive(Serialize)]
struct LevelRow {
    name: String,
    value: String,
    interval: String,
    repeats: usize,
    not_available: Option<String>,
}

#[derive(Serialize)]
struct PairRow {
    name: String,
    ratio: String,
    interval: String,
    repeats: usize,
    verdict: &'static str,
    mark: &'static str,
}

/// A reference value.
#[derive(Serialize)]
pub(super) struct ReferenceView {
    what: String,
    under: String,
    theirs: String,
    ours: Vec<String>,
    measure: Option<String>,
    source: String,
}

/// The id of a promise's section.
pub(super) fn anchor(number: usize) -> String {
    format!("comparison-{number}")
}

/// All promises across trials.
pub(super) fn comparisons(judgement: &Judgement) -> Result<Vec<AcrossView>, Error> {
    let promises = across::promises(&judgement.comparisons);
    promises.iter().map(|promise| AcrossView::new(promise, &judgement.references)).collect()
}

/// All references.
pub(super) fn references(judgement: &Judgement) -> Vec<ReferenceView> {
    judgement.references.iter().map(ReferenceView::new).collect()
}

impl AcrossView {
    fn new(promise: &Across<'_>, references: &[ReferenceJudgement]) -> Result<Self, Error> {
        let first = &promise.judged[0];
        let worst = wording::worst(promise.judged.iter().map(|one| one.verdict));
        Ok(Self {
            anchor: anchor(promise.number),
            heading: across::heading(first),
            text: wording::unbroken(&across::sentence(first)),
            verdict: wording::verdict(worst),
            mark: wording::mark(worst),
            figure: figure::levels(promise, references)?,
            judged: promise.judged.iter().map(JudgedView::new).collect(),
        })
    }
}

impl JudgedView {
    fn new(one: &ComparisonJudgement) -> Self {
        let unit = across::unit(&one.measure, &one.levels);
        let levels = one.levels.iter().map(|level| LevelRow {
            name: wording::factors(&level.factors),
            value: cell(unit, level.value),
            interval: interval(level.low, level.high, " to ", |value| unit.number(value)),
            repeats: level.repeats,
            not_available: level.not_available.clone(),
        });
        let pairs = one.pairs.iter().map(|pair| PairRow {
            name: across::pair(pair),
            ratio: number::or_none(pair.ratio, number::three),
            interval: interval(pair.low, pair.high, " to ", number::three),
            repeats: pair.repeats,
            verdict: wording::verdict(pair.verdict),
            mark: wording::mark(pair.verdict),
        });
        Self {
            held: across::held(one),
            verdict: wording::verdict(one.verdict),
            mark: wording::mark(one.verdict),
            reason: wording::unbroken(&wording::sentence(&one.reason)),
            needs: across::needs(one),
            unit: unit.label,
            levels: levels.collect(),
            pairs: pairs.collect(),
        }
    }
}

impl ReferenceView {
    fn new(reference: &ReferenceJudgement) -> Self {
        Self {
            what: reference.what.clone(),
            under: across::under(reference),
            theirs: across::theirs(reference),
            ours: across::ours(reference),
            measure: reference.measure.clone(),
            source: reference.source.clone(),
        }
    }
}
