//! Shares measured outside of a run: judged by the same window, grid, warm-up, intervals and sentences as
//! those of one repeat.

use crate::verdict::{Check, GroupJudgement, Observation, PromiseJudgement, TrialJudgement};
use assay_record::run_folder::PromiseRecord;
use assay_record::terms::Side;
use assay_stats::Grid;
use assay_stats::rule::{self, Starts};
use assay_stats::series::{Series, monotone};
use assay_stats::start::{Quantity, warm_up_s};

use crate::checks::window;
use crate::estimates::{Estimates, Observed, PromiseData, group};
use crate::expected::Expected;
use crate::found::Found;
use crate::promise::by_means;

/// What the groups got, in the order of the promise.
#[derive(Debug, Clone)]
pub enum MeasuredShares {
    /// At every moment that all groups have in common.
    OverTime(Grid),
    /// In all: the measure per second of each group, and the seconds that all of them have.
    Totals(Vec<f64>, f64),
}

impl MeasuredShares {
    /// Cumulative amounts of each group, by nanoseconds on a common clock. The error names what is
    /// missing.
    pub fn over_time(series: Vec<(String, Series)>) -> Result<Self, String> {
        let of = |(name, series): (String, Series)| match series.len() {
            0 | 1 => Err(format!("`{name}` has fewer than two readings")),
            _ => monotone(&name, series),
        };
        let all: Vec<Series> = series.into_iter().map(of).collect::<Result<_, _>>()?;
        let from_ns = all.iter().map(|series| series[0].0).max().unwrap_or(0);
        let to_ns = all.iter().map(|series| series[series.len() - 1].0).min().unwrap_or(0);
        let grid = Grid::of_series(&all, 1.0, from_ns, to_ns)
            .map_err(|_| "the groups have no time in common that holds two readings".to_owned())?;
        Ok(Self::OverTime(grid))
    }
}

/// Judges one window of the shares of these groups with their weights, or says why there are none; void where one
/// of these checks failed. What repeats would decide is not known of a window that has none. The promise has no causes.
#[must_use]
pub fn judge_shares(
    promise: &PromiseRecord,
    groups: &[(String, f64)],
    measured: Result<MeasuredShares, String>,
    mut checks: Vec<Check>,
) -> TrialJudgement {
    let found = expected(groups).and_then(|expected| match measured? {
        MeasuredShares::OverTime(whole) => over_time(promise, expected, &whole, &mut checks),
        MeasuredShares::Totals(rates, window_s) => {
            Ok((totals(promise, &expected, &rates, window_s)?, 0.0))
        }
    });
    let failed: Vec<String> = checks
        .iter()
        .filter(|check| !check.ok)
        .map(|check| format!("`{}`: {}", check.check, check.evidence))
        .collect();
    let failed = (!failed.is_empty()).then(|| failed.join("; "));
    let (judged, window_s, warm_up_s) = match &found {
        Err(why) => {
            let nothing = Found::nothing(promise, format!("there is no number to judge: {why}"));
            (nothing.conclude(None, None), 0.0, 0.0)
        }
        Ok((numbers, warm_up_s)) => {
            (by_means(promise, numbers).conclude(failed, None), numbers.window_s, *warm_up_s)
        }
    };
    TrialJudgement {
        verdict: judged.verdict,
        repeats: 1,
        // A window that has no repeats has no verdict.
        promises: vec![PromiseJudgement { needs_repeats: None, needs_s: None, ..judged }],
        validity: checks,
        window_s,
        warm_up_s,
        ..TrialJudgement::default()
    }
}

/// The share expected of each group.
fn expected(groups: &[(String, f64)]) -> Result<Vec<(String, Expected)>, String> {
    let unusable = groups.iter().find(|(_, weight)| weight.is_nan() || *weight <= 0.0);
    if let Some((name, weight)) = unusable {
        return Err(format!("the weight of `{name}` is {weight}"));
    }
    let all: f64 = groups.iter().map(|(_, weight)| weight).sum();
    let of = |(name, weight): &(String, f64)| {
        (name.clone(), Expected::plain(Some(*weight), weight / all))
    };
    Ok(groups.iter().map(of).collect())
}

/// Estimates over the common time, and what was cut of it; with the check of the window.
fn over_time(
    promise: &PromiseRecord,
    groups: Vec<(String, Expected)>,
    whole: &Grid,
    checks: &mut Vec<Check>,
) -> Result<(Estimates, f64), String> {
    let steps = (warm_up_s(whole.seconds()) / whole.step_s()).ceil() as usize;
    let judged = whole.cut(steps);
    let data = PromiseData {
        groups,
        quantity: Quantity::Share,
        // Shares of nothing do not exist.
        unit: 0.0,
        side: Side::Both,
        within: promise.within,
        part: 1.0,
        every: None,
        repeats: vec![Observed { number: 1, observed: whole, judged: &judged }],
    };
    let numbers = data
        .numbers(crate::promise::Judged { repeats: &[], outside: 0 })
        .map_err(|_| "all amounts are zero")?;
    let seconds = judged.seconds();
    let mut evidence = format!(
        "{seconds:.1} s common to all groups after warm-up (at least {:.0} s needed)",
        window::LEAST_S
    );
    let silent = window::silence(whole);
    if let Some(silent) = &silent {
        evidence = format!("{evidence}; the log of some group {silent}");
    }
    let ok = silent.is_none() && seconds >= window::LEAST_S;
    checks.push(Check { check: "window".to_owned(), ok, evidence });
    Ok((numbers, steps as f64 * whole.step_s()))
}

/// Rates are compared, not amounts: each group has its own duration.
fn totals(
    promise: &PromiseRecord,
    expected: &[(String, Expected)],
    rates: &[f64],
    window_s: f64,
) -> Result<Estimates, String> {
    let all: f64 = rates.iter().sum();
    if all <= 0.0 {
        return Err("all amounts are zero".to_owned());
    }
    let seen: Vec<f64> = rates.iter().map(|rate| rate / all).collect();
    let each = || expected.iter().zip(&seen);
    let error = |((_, one), seen): (&(String, Expected), &f64)| Side::Both.error(*seen, one.share);
    let worst = each().max_by(|a, b| error(*a).total_cmp(&error(*b)));
    let was = worst.map(|worst| {
        let (name, error) = (&worst.0.0, error(worst));
        let starts = Starts::count([error <= promise.within]);
        Observation::new(name, error, promise.within, window_s, starts)
    });
    let of_group = |(((name, expected), seen), rate): ((&(String, Expected), &f64), &f64)| {
        let seen = rule::mean(&[*seen], 1, 1.0);
        let (judged, deviation) = group(name, *expected, &seen, (Side::Both, promise.within));
        (GroupJudgement { rate: *rate, ..judged }, deviation)
    };
    let (groups, deviations) = each().zip(rates).map(of_group).unzip();
    let errors = Vec::new();
    Ok(Estimates { groups, deviations, errors, window_s, repeats: 1, was, spans: None })
}
