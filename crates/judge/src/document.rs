//! The document of a promise.

use assay_run_folder::{PromiseRecord, Reference};
use assay_stats::jain;
use assay_stats::over_repeats::MOST_REPEATS;
use assay_stats::rule::FEWEST;
use assay_verdict::{GroupJudgement, Interval, PromiseJudgement, Verdict};

use crate::decide;
use crate::estimates::Estimates;
use crate::statement::Statement;

/// The document of a promise, without its causes.
pub(crate) fn document(
    promise: &PromiseRecord,
    numbers: Option<&Estimates>,
    Statement { verdict, reason, is_open }: Statement,
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
        verdict,
        reason,
        worst_error: numbers.and_then(|numbers| decide::worst(&numbers.deviations)),
        errors: numbers.map(|numbers| numbers.errors.clone()).unwrap_or_default(),
        jain: numbers.filter(|_| kind.divides()).and_then(jain_index),
        total_rate: numbers.map(|numbers| numbers.rates.iter().sum()),
        needs_repeats: needs,
        needs_s: needs.zip(open).map(|(needs, numbers)| {
            needs as f64 * numbers.window_s / numbers.repeats.max(1) as f64
        }),
        was: numbers.and_then(|numbers| numbers.was.clone()),
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
    if numbers.repeats < FEWEST {
        return Some(FEWEST);
    }
    let needed = (decide::needs(&numbers.deviations, within)? * numbers.repeats as f64).ceil();
    (needed > numbers.repeats as f64 && needed <= MOST_REPEATS as f64).then_some(needed as usize)
}

fn groups(
    numbers: &Estimates,
    within: f64,
    (verdict, is_open): (Verdict, bool),
) -> Vec<GroupJudgement> {
    let own = |index: usize| {
        let in_spans = numbers.span_verdicts.get(index).copied();
        Verdict::worst([numbers.on_average(index, within)].into_iter().chain(in_spans))
    };
    let each = numbers.names.iter().zip(&numbers.expected).zip(&numbers.seen);
    each.zip(&numbers.rates)
        .enumerate()
        .map(|(index, (((name, expected), seen), rate))| GroupJudgement {
            name: name.clone(),
            knob: expected.knob,
            expected_share: expected.share,
            share_by_weight: expected.by_weight,
            share: seen.value,
            low: seen.low,
            high: seen.high,
            rate: *rate,
            verdict: match (verdict, own(index)) {
                (Verdict::Void, _) => Verdict::Void,
                // What keeps the promise from being kept keeps each group from it.
                (_, Verdict::Kept) if is_open => Verdict::Undecided,
                (_, own) => own,
            },
            was: numbers.facts.get(index).copied().map(Interval::exact),
            worst_span: numbers.worst_spans.get(index).copied().flatten(),
        })
        .collect()
}
