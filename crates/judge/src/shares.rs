//! Shares measured outside of a run: judged by the same window, grid, warm-up, intervals and sentences as
//! those of one repeat.

use assay_run_folder::{PromiseRecord, RelationRecord};
use assay_stats::Grid;
use assay_stats::rule::{self, Starts};
use assay_stats::series::{Series, monotone};
use assay_stats::start::{Quantity, warm_up_s};
use assay_terms::Side;
use assay_verdict::{Check, GroupJudgement, Observation, PromiseJudgement};

use crate::checks::window;
use crate::estimates::{Estimates, Observed, PromiseData, group};
use crate::expected::Expected;
use crate::found::Found;
use crate::promise::by_means;

/// What each group was promised.
#[derive(Debug, Clone, PartialEq)]
pub struct SharePromise {
    /// `io.bytes`, `io.ios`, or another name.
    pub measure: String,
    /// The groups with their weights.
    pub groups: Vec<(String, f64)>,
    /// The margin, a fraction of the expected share.
    pub within: f64,
}

/// What the groups got, in the order of the promise.
#[derive(Debug, Clone)]
pub enum MeasuredShares {
    /// At every moment that all groups have in common.
    OverTime(Grid),
    /// In all.
    Totals {
        /// Shares.
        shares: Vec<f64>,
        /// The measure per second.
        rates: Vec<f64>,
        /// Duration in seconds.
        window_s: f64,
    },
}

/// The judgement.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedShares {
    /// Without causes.
    pub promise: PromiseJudgement,
    /// The checks, with that of the window.
    pub checks: Vec<Check>,
    /// Judged seconds.
    pub window_s: f64,
    /// Seconds that were cut as warm-up.
    pub warm_up_s: f64,
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

/// Judges one window of shares, or says why there are none; void where one of these checks failed. What
/// repeats would decide is not known of a window that has none.
#[must_use]
pub fn judge_shares(
    shares: &SharePromise,
    measured: Result<MeasuredShares, String>,
    mut checks: Vec<Check>,
) -> JudgedShares {
    let found = expected(shares).and_then(|expected| match measured? {
        MeasuredShares::OverTime(whole) => over_time(shares, expected, &whole, &mut checks),
        MeasuredShares::Totals { shares: seen, rates, window_s } => {
            Ok((totals(shares, &expected, &seen, &rates, window_s), 0.0))
        }
    });
    let promise = PromiseRecord {
        measure: shares.measure.clone(),
        is: RelationRecord::Proportional("weight".to_owned()),
        within: shares.within,
        every: None,
    };
    let failed: Vec<String> = checks
        .iter()
        .filter(|check| !check.ok)
        .map(|check| format!("`{}`: {}", check.check, check.evidence))
        .collect();
    let numbers = found.as_ref().ok().map(|(numbers, _)| numbers);
    let mut judged = match &found {
        Err(why) => Found::nothing(&promise, format!("there is no number to judge: {why}"))
            .conclude(None, None),
        Ok((numbers, _)) => {
            let failed = (!failed.is_empty()).then(|| failed.join("; "));
            by_means(&promise, numbers).conclude(failed, None)
        }
    };
    // A window that has no repeats has no verdict.
    (judged.needs_repeats, judged.needs_s) = (None, None);
    JudgedShares {
        promise: judged,
        checks,
        window_s: numbers.map_or(0.0, |numbers| numbers.window_s),
        warm_up_s: found.as_ref().map_or(0.0, |(_, warm_up_s)| *warm_up_s),
    }
}

/// The share expected of each group.
fn expected(shares: &SharePromise) -> Result<Vec<(String, Expected)>, String> {
    let unusable = shares.groups.iter().find(|(_, weight)| weight.is_nan() || *weight <= 0.0);
    if let Some((name, weight)) = unusable {
        return Err(format!("the weight of `{name}` is {weight}"));
    }
    let all: f64 = shares.groups.iter().map(|(_, weight)| weight).sum();
    let of = |(name, weight): &(String, f64)| {
        (name.clone(), Expected::plain(Some(*weight), weight / all))
    };
    Ok(shares.groups.iter().map(of).collect())
}

/// Estimates over the common time, and what was cut of it; with the check of the window.
fn over_time(
    shares: &SharePromise,
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
        within: shares.within,
        part: 1.0,
        every: None,
        repeats: vec![Observed { number: 1, observed: whole, judged: &judged }],
    };
    let numbers = data.numbers().map_err(|_| "all amounts are zero")?;
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

fn totals(
    shares: &SharePromise,
    expected: &[(String, Expected)],
    seen: &[f64],
    rates: &[f64],
    window_s: f64,
) -> Estimates {
    let each = || expected.iter().zip(seen);
    let error = |((_, one), seen): (&(String, Expected), &f64)| Side::Both.error(*seen, one.share);
    let worst = each().max_by(|a, b| error(*a).total_cmp(&error(*b)));
    let was = worst.map(|worst| {
        let (name, error) = (&worst.0.0, error(worst));
        let starts = Starts::count([error <= shares.within]);
        Observation::new(name, error, shares.within, window_s, starts)
    });
    let of_group = |(((name, expected), seen), rate): ((&(String, Expected), &f64), &f64)| {
        let seen = rule::mean(&[*seen], 1, 1.0);
        let (judged, deviation) = group(name, *expected, &seen, (Side::Both, shares.within));
        (GroupJudgement { rate: *rate, ..judged }, deviation)
    };
    let (groups, deviations) = each().zip(rates).map(of_group).unzip();
    Estimates { groups, deviations, errors: Vec::new(), window_s, repeats: 1, was, spans: None }
}
