//! What each group's metric is expected to be, and how far off its promise.

use assay_run_folder::{PromiseRecord, Reference};
use assay_stats::over_repeats::{Spread, coarsest, confidence_to_break};
use assay_stats::pooled::{Estimate, Range};
use assay_stats::resolution::Resolution;
use assay_terms::Side;
use assay_verdict::Verdict;

use crate::decide::Deviation;
use crate::metric::{self, Values};

/// One group under the promise.
pub(super) struct GroupEstimate {
    pub(super) name: String,
    pub(super) expected: f64,
    pub(super) estimate: Estimate,
    pub(super) deviation: Deviation,
    pub(super) spread: Spread,
    /// Whether some of its numbers are zero, so that `spread` is that of the numbers and not of their
    /// logarithms.
    pub(super) has_zeros: bool,
    /// Errors by repeat.
    pub(super) errors: Vec<f64>,
}

impl GroupEstimate {
    /// The verdict on this group. What is zero now and then keeps no lower bound, however large its
    /// mean.
    pub(super) fn verdict(&self, promise: &PromiseRecord) -> Verdict {
        match self.deviation.verdict(promise.within) {
            Verdict::Kept if self.has_zeros && is_lower_bound(promise) => Verdict::Undecided,
            found => found,
        }
    }
}

fn is_lower_bound(promise: &PromiseRecord) -> bool {
    promise.is.kind().side() == Side::Below
}

/// The numbers of each group and their distance from the promise.
pub(super) fn seen(promise: &PromiseRecord, values: &Values) -> Result<Vec<GroupEstimate>, String> {
    let side = promise.is.kind().side();
    let bound = match promise.is.to() {
        Reference::Value(bound) => Some(bound),
        Reference::Nothing => None,
        Reference::Knob(_) => {
            return Err("no knob divides or bounds a workload metric".to_owned());
        }
    };
    if bound.is_some_and(|bound| !bound.is_finite() || bound <= 0.0) {
        return Err("a bound must be a positive number".to_owned());
    }
    if bound.is_none() && values.groups.len() < 2 {
        return Err(format!("`{}` alone is equal to itself", values.groups[0]));
    }
    let (expected, relative) = match bound {
        Some(bound) => (bound, None),
        None => {
            let (mean, logs) = relative(values);
            (mean, Some(logs))
        }
    };
    let sure = confidence_to_break(promise.confidence, values.groups.len());
    let resolution = metric::resolution(&promise.measure);
    let each = values.groups.iter().enumerate().filter_map(|(group, name)| {
        let numbers: Vec<f64> = values.rows.iter().map(|(_, row)| row[group]).collect();
        let has_zeros = numbers.iter().any(|number| *number <= 0.0);
        let (spread, estimate, numbers) = match has_zeros {
            true => {
                let spread = Spread::with_zeros(&numbers, resolution)?;
                let raised = raised(&numbers, resolution);
                (spread, with_zeros(&spread, raised, (promise.confidence, sure)), numbers)
            }
            false => {
                let measured: Vec<f64> = numbers.iter().map(|number| number.ln()).collect();
                let logs = relative.as_ref().map_or(&measured, |logs| &logs[group]);
                let spread = Spread::from_logs(logs)?.with_grain(coarsest(&measured, resolution));
                let (half, broken) = (spread.half(promise.confidence), spread.half(sure));
                let numbers = logs.iter().map(|log| log.exp()).collect();
                (spread, Estimate::of_log(spread.mean, half, broken), numbers)
            }
        };
        let deviation = Deviation::new(&estimate, expected, side);
        let errors = numbers.iter().map(|number| side.error(*number, expected)).collect();
        let name = name.clone();
        Some(GroupEstimate { name, expected, estimate, deviation, spread, has_zeros, errors })
    });
    Ok(each.collect())
}

/// The estimate of numbers of which some are zero: by Student's t on the numbers themselves, and on
/// the logarithms of the raised ones. A zero is less than what it was raised to, and is no evidence
/// for a larger number: what counts is the smaller one of both.
fn with_zeros(spread: &Spread, raised: Option<Spread>, (one, all): (f64, f64)) -> Estimate {
    let smaller = |confidence: f64| {
        let half = spread.half(confidence);
        let plain = (spread.mean, (spread.mean - half).max(0.0), spread.mean + half);
        let other = raised.map_or(plain, |raised| raised.interval(confidence));
        (plain.0.min(other.0), plain.1.min(other.1), plain.2.min(other.2))
    };
    let ((value, low, high), (_, surely_low, surely_high)) = (smaller(one), smaller(all));
    Estimate { value, low, high, broken: Range { low: surely_low, high: surely_high } }
}

/// Logarithms with each zero raised to the least number above zero, where the scatter of those is
/// known.
fn raised(numbers: &[f64], resolution: Resolution) -> Option<Spread> {
    let above: Vec<f64> = numbers.iter().filter(|one| **one > 0.0).map(|one| one.ln()).collect();
    Spread::of_numbers(&above, resolution).filter(Spread::is_known)?;
    let least = above.iter().copied().fold(f64::INFINITY, f64::min);
    let all: Vec<f64> = numbers.iter().map(|one| one.max(least.exp()).ln()).collect();
    Spread::of_numbers(&all, resolution)
}

/// The geometric mean over all groups and repeats, and each group's logarithms relative to the mean
/// of the repeat: changes from repeat to repeat that affect all groups cancel.
fn relative(values: &Values) -> (f64, Vec<Vec<f64>>) {
    let means: Vec<f64> = values.mean_logs().map(|(_, log)| log).collect();
    let overall = means.iter().sum::<f64>() / means.len().max(1) as f64;
    let of = |group: usize| {
        let rows = values.rows.iter().zip(&means);
        rows.map(|((_, row), mean)| row[group].ln() - mean + overall).collect()
    };
    (overall.exp(), (0..values.groups.len()).map(of).collect())
}
