//! One promise in one trial.

mod data;
mod unbound;
mod verdict;

use assay_run_folder::{PromiseRecord, RelationRecord};
use assay_terms::Measure;
use assay_verdict::PromiseJudgement;

use crate::document::document;
use crate::estimates::Estimates;
use crate::metric::Metric;
use crate::statement::Statement;
use crate::subject::Subject;
use crate::{causes, metric_promise, placement, progress, reason};
use data::promise_data;
use verdict::decide;

pub(crate) use data::unit;
pub(crate) use verdict::of_numbers;

/// Judges one promise. Available numbers are reported under a void verdict, too.
pub(crate) fn judge_promise(subject: &Subject<'_>, promise: &PromiseRecord) -> PromiseJudgement {
    if promise.is == RelationRecord::Placed {
        let empty = document(promise, None, Statement::void(String::new()));
        return placement::judge(subject, promise, empty);
    }
    if matches!(promise.is, RelationRecord::Within(_)) {
        let empty = document(promise, None, Statement::void(String::new()));
        return progress::judge(subject, promise, empty);
    }
    let Some(measure) = Measure::parse(&promise.measure) else {
        if let Some(metric) = Metric::parse(&promise.measure) {
            return metric_promise::judge(subject, promise, metric);
        }
        let why = format!("no sample source provides the measure `{}`", promise.measure);
        return document(promise, None, Statement::void(why));
    };
    let failed = subject.failed(|scope| scope.concerns(measure, &promise.is));
    let numbers = numbers(subject, promise, measure);
    let statement = match &numbers {
        _ if !failed.is_empty() => Statement::void(reason::failed_checks(&failed)),
        Err(why) => Statement::void(format!("there is no number to judge: {why}")),
        Ok(numbers) => decide(subject, promise, measure, numbers),
    };
    let verdict = statement.verdict;
    let mut judged = document(promise, numbers.as_ref().ok(), statement);
    let found = causes::find(subject, promise, measure, numbers.as_ref().ok(), verdict);
    (judged.causes, judged.proofs) = (found.causes, found.proofs);
    judged
}

/// Preliminary result of a promise for an interim look, regardless of the checks. Void where there
/// is no number yet, with the reason.
pub(crate) fn preliminary(subject: &Subject<'_>, promise: &PromiseRecord) -> PromiseJudgement {
    let Some(measure) = Measure::parse(&promise.measure) else {
        return document(promise, None, Statement::void("available after the repeat".to_owned()));
    };
    match numbers(subject, promise, measure) {
        Err(why) => document(promise, None, Statement::void(why)),
        Ok(numbers) => {
            let statement = decide(subject, promise, measure, &numbers);
            document(promise, Some(&numbers), statement)
        }
    }
}

fn numbers(
    subject: &Subject<'_>,
    promise: &PromiseRecord,
    measure: Measure,
) -> Result<Estimates, String> {
    promise_data(subject, promise, measure, subject.repeats)?.numbers()
}
