//! The document of a promise.

use assay_run_folder::{PromiseRecord, Reference};
use assay_stats::jain;
use assay_stats::over_repeats::MOST_REPEATS;
use assay_stats::proportion::FEWEST;
use assay_verdict::{GroupJudgement, Interval, PromiseJudgement, Verdict};

use crate::decide;
use crate::estimates::Estimates;
use crate::statement::Statement;

/// The document of a promise, without its causes.
pub(crate) fn document(
    promise: &PromiseRecord,
    numbers: Option<&Estimates>,
    Statement { verdict, will_be, reason, is_open }: Statement,
) -> PromiseJudgement {
    let open = numbers.filter(|_| verdict == Verdict::Undecided);
    let needs = open.and_then(|numbers| needed_repeats(numbers, promise.within));
    let kind = promise.is.kind();
    PromiseJudgement {
        measure: promise.measure.clone(),
        is: kind.name().to_owned(),
        to: match promise.is.to() {
            Reference::Nothing => None,
            Reference::Knob(knob) => Some(knob.to_owned()),
            Reference::Value(bound) => Some(bound.to_string()),
        },
        within: promise.within,
        confidence: promise.confidence,
        verdict,
        reason,
        worst_error: numbers.and_then(|numbers| worst_error(numbers, verdict)),
        errors: numbers.map(|numbers| numbers.errors.clone()).unwrap_or_default(),
        jain: numbers.filter(|_| kind.divides()).and_then(jain_index),
        total_rate: numbers.map(|numbers| numbers.rates.iter().sum()),
        needs_repeats: needs,
        needs_s: needs.zip(open).map(|(needs, numbers)| {
            needs as f64 * numbers.window_s / numbers.repeats.max(1) as f64
        }),
        was: numbers.and_then(|numbers| numbers.was.clone()),
        will_be,
        spans: numbers.and_then(|numbers| numbers.spans.clone()),
        groups: numbers
            .map(|numbers| groups(numbers, promise.within, (verdict, is_open)))
            .unwrap_or_default(),
        causes: Vec::new(),
        proofs: Vec::new(),
    }
}

fn jain_index(numbers: &Estimates) -> Option<f64> {
    let shares: Vec<f64> = numbers.seen.iter().map(|seen| seen.value).collect();
    let expected: Vec<f64> = numbers.expected.iter().map(|expected| expected.share).collect();
    jain::weighted(&shares, &expected)
}

/// The repeats that would probably decide.
fn needed_repeats(numbers: &Estimates, within: f64) -> Option<usize> {
    let found = Verdict::worst(numbers.deviations.iter().map(|one| one.verdict(within)));
    if numbers.repeats > 1 && found != Verdict::Undecided {
        return (numbers.spans.is_some() && numbers.repeats < FEWEST).then_some(FEWEST);
    }
    let needed = (decide::needs(&numbers.deviations, within)? * numbers.repeats as f64).ceil();
    (needed <= MOST_REPEATS as f64).then(|| (needed as usize).max(FEWEST))
}

fn worst_error(numbers: &Estimates, verdict: Verdict) -> Option<Interval> {
    let worst = decide::worst(&numbers.deviations)?;
    match numbers.is_unbounded(verdict) {
        true => Some(Interval { low: 0.0, high: f64::INFINITY, ..worst }),
        false => Some(worst),
    }
}

fn groups(
    numbers: &Estimates,
    within: f64,
    (verdict, is_open): (Verdict, bool),
) -> Vec<GroupJudgement> {
    let unbounded = numbers.is_unbounded(verdict);
    let own = |index: usize| {
        let in_spans = numbers.span_verdicts.get(index).copied().flatten();
        Verdict::worst([numbers.deviations[index].verdict(within)].into_iter().chain(in_spans))
    };
    let was_broken = |index: usize| numbers.fact_verdicts.get(index) == Some(&Verdict::Broken);
    let each = numbers.names.iter().zip(&numbers.expected).zip(&numbers.seen);
    each.zip(&numbers.rates)
        .enumerate()
        .map(|(index, (((name, expected), seen), rate))| GroupJudgement {
            name: name.clone(),
            knob: expected.knob,
            expected_share: expected.share,
            share_by_weight: expected.by_weight,
            share: seen.value,
            low: if unbounded { 0.0 } else { seen.low },
            high: if unbounded { f64::INFINITY } else { seen.high },
            rate: *rate,
            verdict: match verdict {
                Verdict::Void => Verdict::Void,
                // With one repeat no group's verdict extends to other runs; it is broken only where
                // its window was outside as a fact.
                _ if numbers.repeats < 2
                    && (verdict != Verdict::Broken
                        || !numbers.is_broken_in_fact(index, within)) =>
                {
                    Verdict::Undecided
                }
                _ => match own(index) {
                    // What keeps the promise from being kept, of this group or of all.
                    Verdict::Kept if is_open || was_broken(index) => Verdict::Undecided,
                    own => own,
                },
            },
            was: numbers.facts.get(index).copied(),
            worst_span: numbers.worst_spans.get(index).copied().flatten(),
        })
        .collect()
}
