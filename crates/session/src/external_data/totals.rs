//! Totals only: the share is known, the scatter only as far as the tool recorded the variation of
//! its rate.
//!
//! fio reports mean and standard deviation of its rate over readings of half a second, but not
//! their order. Two things are therefore unknown, and the worse case of both is assumed:
//!
//! - the autocorrelation of the rate: [`TOGETHER`] readings count as one observation;
//!
//! - the correlation between groups: the standard deviation of a share is at most `(1 - s) sd(ln x)
//! + sum s_j sd(ln x_j)` over the others, whatever their correlation (triangle inequality).
//!
//! A group that got nothing adds no scatter to the others. By chance it may have got a few of the
//! observations, as many as the rule of three leaves open, which the others would then lack.

use assay_judge::MeasuredShares;
use assay_stats::over_repeats::confidence_to_break;
use assay_stats::poisson::most_of_none;
use assay_stats::pooled::{Estimate, Range};
use assay_stats::student::t_quantile;

use super::numbers::{Amounts, ExternalData, Scatter};

/// Number of readings that count as one observation: 2.5 s for fio. Totals cannot show the noise of
/// a server with longer rounds.
const TOGETHER: f64 = 5.0;

/// With fewer observations the variation of a rate is unknown.
const OBSERVATIONS: f64 = 10.0;

/// What the intervals of totals assume.
pub(super) struct Note {
    pub(super) text: String,
    /// Whether the scatter is known.
    pub(super) is_known: bool,
}

/// A rate, and the standard deviation of the logarithm of its mean, where known.
struct Rate {
    value: f64,
    error: Option<f64>,
    observations: f64,
    seconds: f64,
}

/// Shares from totals. Rates are compared, not amounts: each group has its own duration.
pub(super) fn shares(outside: &ExternalData) -> Result<(MeasuredShares, Note), String> {
    let rates: Vec<Rate> =
        outside.groups.iter().map(|group| rate(&group.amounts)).collect::<Result<_, _>>()?;
    let all: f64 = rates.iter().map(|rate| rate.value).sum();
    if all <= 0.0 {
        return Err("all amounts are zero".to_owned());
    }
    // Of a group that got nothing tools may record no readings.
    let served = || rates.iter().filter(|rate| rate.value > 0.0);
    let least = served().map(|rate| rate.observations).fold(f64::INFINITY, f64::min);
    let is_known = served().all(|rate| rate.error.is_some()) && least >= OBSERVATIONS;
    let observations = if is_known { least } else { 0.0 };
    let of = |index| estimate(&rates, all, index, observations, outside.confidence);
    let shares = MeasuredShares::Totals {
        seen: (0..rates.len()).map(of).collect(),
        window_s: rates.iter().map(|rate| rate.seconds).fold(f64::INFINITY, f64::min),
        rates: rates.iter().map(|rate| rate.value).collect(),
    };
    Ok((shares, Note { text: assumption(is_known, least), is_known }))
}

fn assumption(known: bool, observations: f64) -> String {
    if !known && observations > 0.0 {
        format!(
            "the readings are worth {observations:.1} observations, and {OBSERVATIONS} are needed to \
             estimate the scatter of a share"
        )
    } else if known {
        "from totals and the spread of the tool's own readings, assuming that the rate is \
         uncorrelated over more than 2.5 s; logs over time (`--bw-log`, `--csv`) need no such assumption"
            .to_owned()
    } else {
        "totals alone do not show the scatter of a share; give logs over time (`--bw-log`, \
         `--csv`)"
            .to_owned()
    }
}

fn rate(amounts: &Amounts) -> Result<Rate, String> {
    match amounts {
        Amounts::Total { amount, seconds, scatter } if *seconds > 0.0 => Ok(Rate {
            value: amount / seconds,
            error: scatter.and_then(error),
            observations: scatter.map_or(0.0, |scatter| scatter.readings / TOGETHER),
            seconds: *seconds,
        }),
        Amounts::Total { .. } => Err("a group has a runtime of zero".to_owned()),
        Amounts::Series(_) => {
            Err("some groups have amounts over time and others only a total".to_owned())
        }
    }
}

/// The standard deviation of the logarithm of the mean.
fn error(scatter: Scatter) -> Option<f64> {
    let observations = scatter.readings / TOGETHER;
    (scatter.mean > 0.0 && observations > 1.0)
        .then(|| scatter.deviation / scatter.mean / observations.sqrt())
}

fn estimate(
    rates: &[Rate],
    all: f64,
    index: usize,
    observations: f64,
    confidence: f64,
) -> Estimate {
    let value = rates[index].value / all;
    if observations <= 1.0 {
        let (low, high) = (0.0, 1.0);
        return Estimate { value, low, high, broken: Range { low, high } };
    }
    // Zero where nothing was got.
    let part = |rate: &Rate| rate.value / all * rate.error.unwrap_or(0.0);
    let others: f64 = rates.iter().map(part).sum::<f64>() - part(&rates[index]);
    let error = (1.0 - value) * rates[index].error.unwrap_or(0.0) + others;
    let half = |sure: f64| match error > 0.0 {
        true => t_quantile(sure, observations - 1.0) * error,
        false => 0.0,
    };
    let starved = rates.iter().filter(|rate| rate.value <= 0.0).count() as f64;
    let range = |sure: f64| {
        let unseen = most_of_none(sure) / observations;
        let (low, high) = (value * (-half(sure)).exp(), value * half(sure).exp());
        match value > 0.0 {
            true => Range { low: low * (1.0 - starved * unseen).max(0.0), high },
            false => Range { low: 0.0, high: unseen.min(1.0) },
        }
    };
    // Bonferroni: the correlation between groups is unknown.
    let broken = range(confidence_to_break(confidence, rates.len()));
    let Range { low, high } = range(confidence);
    Estimate { value, low, high, broken }
}
