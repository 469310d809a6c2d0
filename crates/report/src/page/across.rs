//! Promises across trials, and references.

use std::collections::BTreeSet;

use assay_judge::verdict::{
    ComparisonJudgement, Judgement, PairJudgement, ReferenceJudgement, Verdict,
};
use assay_record::run_folder::Manifest;
use assay_sys::escape::page::{Part, Parts, Rows, Section};

use crate::across::{self, Across};
use crate::{figure, number, wording};

/// A section for each promise across trials.
pub(super) fn sections(judgement: &Judgement, run: &Manifest) -> Vec<Section> {
    let promises = across::promises(&judgement.comparisons).into_iter();
    promises.map(|promise| section(&promise, &judgement.references, run)).collect()
}

fn section(promise: &Across<'_>, references: &[ReferenceJudgement], run: &Manifest) -> Section {
    let first = &promise.judged[0];
    let worst = Verdict::worst(promise.judged.iter().map(|one| one.verdict));
    Section::new(across::anchor(promise.number), across::heading(first), |page| {
        page.styled("says", across::sentence(first));
        page.figures(vec![figure::levels(promise, references)]);
        promise.judged.iter().for_each(|one| judged(one, run, page));
    })
    .tagged(wording::tag(worst))
}

/// The judgement under one combination of the held factors.
fn judged(one: &ComparisonJudgement, run: &Manifest, page: &mut Parts) {
    let tag = wording::tag(one.verdict);
    let inside = Parts::of(|page| {
        let held = across::held(one);
        if !held.is_empty() {
            page.tagged("says", format!("held: {held}"), Some(tag.clone()));
        }
        page.styled("reason", wording::sentence(&one.reason));
    });
    page.0.push(Part::Box(tag.tone, inside));
    let unit = across::unit(&one.measure, &one.levels);
    page.table(
        Rows::new(&one.levels)
            .left("level", 0, |level| wording::factors(&level.factors))
            .right(("mean", unit.label), 0, |level| {
                number::or_none(level.value, |value| unit.number(value))
            })
            .right("interval", 2, |level| {
                across::interval(level.low, level.high, |value| unit.number(value))
            })
            .right("repeats", 1, |level| level.repeats.to_string())
            .missing(|level| level.not_available.clone()),
    );
    if !one.pairs.is_empty() {
        page.table(
            Rows::new(&one.pairs)
                .left("pair", 0, |pair: &PairJudgement| {
                    format!("{} / {}", across::level(&pair.of), across::level(&pair.to))
                })
                .right("ratio", 0, |pair| number::or_none(pair.ratio, number::three))
                .right("interval", 1, |pair| across::interval(pair.low, pair.high, number::three))
                .right("repeats", 2, |pair| pair.repeats.to_string())
                .left("verdict", 0, |pair| wording::tag(pair.verdict)),
        );
    }
    if let Some(needs) = wording::needs_repeats(one.needs_repeats, run) {
        page.styled("needs", needs);
    }
}

/// The published numbers with ours beside them, by their sources; none without references.
pub(super) fn references(references: &[ReferenceJudgement]) -> Option<Section> {
    let of_all = Section::new("references", "Published numbers and this run's", |page| {
        page.styled(
            "reading",
            "Of another machine, another kernel and another time, shown for comparison and never judged.",
        );
        let mut reasons = BTreeSet::new();
        for of_source in references.chunk_by(|a, b| a.source == b.source) {
            page.styled("says", wording::sentence(&of_source[0].source));
            page.list(of_source.iter().map(|reference| {
                let under = match across::under(reference) {
                    under if under.is_empty() => under,
                    under => format!(" ({under})"),
                };
                format!(
                    "{}{under}: {} {}; this run: {}",
                    reference.what,
                    number::four(reference.value),
                    reference.unit,
                    across::ours(reference, &mut reasons)
                )
            }));
        }
    });
    (!references.is_empty()).then_some(of_all)
}
