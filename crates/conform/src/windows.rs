//! Counters read over several short windows: until they decide, with confidence intervals of a mean over them, and the
//! verdicts that these support.

use std::fmt;

use assay_stats::student::t_quantile;
use assay_sys::kernel::{Error, clock};

use crate::outcome::{Outcome, Stop, Verdict};

/// Growth of counters in one window.
#[derive(Debug, Clone, PartialEq)]
pub struct Window {
    /// Duration in seconds, by the wall clock.
    pub seconds: f64,
    /// Growth of each counter.
    pub grew: Vec<f64>,
}

impl Window {
    /// From two readings of the same counters.
    #[must_use]
    pub fn between(seconds: f64, before: &[u64], after: &[u64]) -> Self {
        let grew = before.iter().zip(after).map(|(old, new)| new.saturating_sub(*old) as f64);
        Self { seconds, grew: grew.collect() }
    }

    /// Each counter's share of their sum; `None` if nothing grew.
    #[must_use]
    pub fn shares(&self) -> Option<Vec<f64>> {
        let sum: f64 = self.grew.iter().sum();
        (sum > 0.0).then(|| self.grew.iter().map(|grew| grew / sum).collect())
    }

    /// Total growth of nanosecond counters per second: 1.0 is one busy CPU.
    #[must_use]
    pub fn busy(&self) -> f64 {
        self.grew.iter().sum::<f64>() / 1e9 / self.seconds
    }
}

/// Reads counters at the edges of `count` consecutive windows, each of which lasts as long as `pause`.
///
/// # Errors
/// The first of either.
pub fn read_windows(
    count: usize,
    mut pause: impl FnMut() -> Result<(), Error>,
    mut counters: impl FnMut() -> Result<Vec<u64>, Error>,
) -> Result<Vec<Window>, Error> {
    let mut windows = Vec::with_capacity(count);
    let mut before = (clock::monotonic_ns(), counters()?);
    for _ in 0..count {
        pause()?;
        let after = (clock::monotonic_ns(), counters()?);
        let length = after.0.saturating_sub(before.0) as f64 / 1e9;
        windows.push(Window::between(length, &before.1, &after.1));
        before = after;
    }
    Ok(windows)
}

/// The first counter's share of all in each window in which any grew.
pub(crate) fn first_shares(windows: &[Window]) -> Vec<f64> {
    windows.iter().filter_map(|window| Some(window.shares()?[0])).collect()
}

/// Mean of [`Window::busy`].
pub(crate) fn mean_busy(windows: &[Window]) -> f64 {
    windows.iter().map(Window::busy).sum::<f64>() / windows.len().max(1) as f64
}

/// Eight windows of a second in which each group used this many CPUs, for the tests of cases.
#[cfg(test)]
pub(crate) fn of_cpus(used: &[f64]) -> Vec<Window> {
    let window = Window { seconds: 1.0, grew: used.iter().map(|cpus| cpus * 1e9).collect() };
    vec![window; 8]
}

/// Six windows of half a second in which each counter grew by this much, for the tests of cases.
#[cfg(test)]
pub(crate) fn of_counts(grew: &[f64]) -> Vec<Window> {
    vec![Window { seconds: 0.5, grew: grew.to_vec() }; 6]
}

/// A mean and its confidence interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// The mean.
    pub mean: f64,
    /// Upper end.
    pub high: f64,
}

/// Confidence level of the intervals. A table of a hundred cases should not contain one that is
/// broken by chance, so it is higher than the usual 95 %.
const CONFIDENCE: f64 = 0.99;

impl Interval {
    /// Student's t over windows assumed to be independent. Counter readings at window edges err in
    /// opposite directions in neighbouring windows, so the interval is conservative. Infinitely
    /// wide for fewer than two values.
    #[must_use]
    pub fn of_mean(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count.max(1.0);
        if values.len() < 2 {
            return Self { low: f64::NEG_INFINITY, mean, high: f64::INFINITY };
        }
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let half = t_quantile(CONFIDENCE, count - 1.0) * (variance / count).sqrt();
        Self { low: mean - half, mean, high: mean + half }
    }

    /// The same of a value of each window.
    #[must_use]
    pub(crate) fn of_windows(windows: &[Window], value: impl Fn(&Window) -> f64) -> Self {
        Self::of_mean(&windows.iter().map(value).collect::<Vec<f64>>())
    }

    /// Interval of the median, from windows in order: robust against a few disturbed windows. Cut
    /// off at each end is the largest number of windows that can lie on one side of the true median
    /// by chance (the sign test); fewer than eight windows have no such interval.
    #[must_use]
    pub(crate) fn of_median(values: &[f64]) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let middle = |index: usize| sorted.get(index).copied().unwrap_or(f64::NAN);
        let half = sorted.len() / 2;
        let mean = if sorted.len() % 2 == 1 {
            middle(half)
        } else {
            f64::midpoint(middle(half.saturating_sub(1)), middle(half))
        };
        match cut(sorted.len()) {
            None => Self { low: f64::NEG_INFINITY, mean, high: f64::INFINITY },
            Some(cut) => Self { low: middle(cut), mean, high: middle(sorted.len() - 1 - cut) },
        }
    }

    /// `Kept` if the whole interval is inside these bounds, `Broken` if all of it is outside, else
    /// `Undecided`.
    #[must_use]
    pub(crate) fn verdict_within(&self, least: f64, most: f64) -> Verdict {
        if self.low >= least && self.high <= most {
            Verdict::Kept
        } else if self.low > most || self.high < least {
            Verdict::Broken
        } else {
            Verdict::Undecided
        }
    }
}

/// For each weight the share that it deserves, and the observed share relative to that; and whether
/// all of them are 1 within `margin`. `shares` has one list per window.
pub(crate) fn against_weights(
    shares: &[Vec<f64>],
    weights: &[f64],
    margin: f64,
    estimate: fn(&[f64]) -> Interval,
) -> (Verdict, Vec<(f64, Interval)>) {
    let sum: f64 = weights.iter().sum();
    let ratio = |(index, weight): (usize, &f64)| {
        let expected = weight / sum;
        let parts: Vec<f64> = shares.iter().map(|window| window[index] / expected).collect();
        (expected, estimate(&parts))
    };
    let ratios: Vec<(f64, Interval)> = weights.iter().enumerate().map(ratio).collect();
    let verdicts: Vec<Verdict> =
        ratios.iter().map(|(_, ratio)| ratio.verdict_within(1.0 - margin, 1.0 + margin)).collect();
    let any = [Verdict::Broken, Verdict::Undecided].into_iter().find(|one| verdicts.contains(one));
    (any.unwrap_or(Verdict::Kept), ratios)
}

/// How many of `count` windows may be cut off at each end: the largest k for which the probability
/// that at most k of them lie below the median is at most half of the error probability.
fn cut(count: usize) -> Option<usize> {
    let mut chance = 0.5_f64.powi(i32::try_from(count).unwrap_or(i32::MAX));
    let (mut sum, mut largest) = (0.0, None);
    for k in 0..count {
        sum += chance;
        if sum > (1.0 - CONFIDENCE) / 2.0 {
            break;
        }
        largest = Some(k);
        chance *= (count - k) as f64 / (k + 1) as f64;
    }
    largest
}

impl fmt::Display for Interval {
    /// `0.27 [0.25, 0.29]`, with the requested number of digits (`{:.3}`), 2 by default.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = f.precision().unwrap_or(2);
        write!(f, "{:.digits$} [{:.digits$}, {:.digits$}]", self.mean, self.low, self.high)
    }
}

/// Most windows that are read of the longest length.
const MOST_WINDOWS: usize = 24;

/// Reads and judges windows of each of these lengths in seconds until a result is decided, and then more of
/// the last length; `read` reads several. Windows for which there is no time are not begun, but for the
/// first. A result that is broken must be so in new windows, too, for which there is time: who looks several times sees
/// noise beyond any margin sooner or later.
pub(crate) fn settle(
    lengths: &[f64],
    mut read: impl FnMut(f64) -> Result<Vec<Window>, Error>,
    has_time_for: impl Fn(f64) -> bool,
    judge: impl Fn(&[Window]) -> Outcome,
) -> Result<Outcome, Stop> {
    let mut outcome = Outcome::void("no window was read");
    let mut windows = Vec::new();
    let mut length = 0.0;
    for seconds in lengths {
        if !windows.is_empty() && !has_time_for(*seconds) {
            return Ok(outcome);
        }
        length = *seconds;
        windows = read(length)?;
        outcome = judge(&windows);
        if outcome.verdict != Verdict::Undecided {
            break;
        }
    }
    while outcome.verdict == Verdict::Undecided
        && windows.len() < MOST_WINDOWS
        && has_time_for(length)
    {
        windows.extend(read(length)?);
        outcome = judge(&windows);
    }
    if outcome.verdict != Verdict::Broken || !has_time_for(length) {
        return Ok(outcome);
    }
    Ok(seen_again(outcome, judge(&read(length)?)))
}

/// A broken result, and that of new windows.
fn seen_again(first: Outcome, second: Outcome) -> Outcome {
    let evidence = [first.evidence, second.evidence].concat();
    match second.verdict {
        Verdict::Broken => Outcome { evidence, ..second },
        other => {
            let why = format!(
                "{}, and not so in the windows after that, which say {other}",
                first.reason
            );
            Outcome { evidence, ..Outcome::undecided(why) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::windows::of_cpus;
    use std::cell::RefCell;

    #[test]
    fn shares_and_use_come_from_counter_growth() {
        let window = Window::between(0.5, &[100, 0], &[100_000_100, 300_000_000]);
        assert_eq!(window.shares().unwrap(), [0.25, 0.75]);
        assert!((window.busy() - 0.8).abs() < 1e-9);
        assert_eq!(Window::between(0.5, &[7], &[7]).shares(), None);
    }

    #[test]
    fn the_interval_is_student_s() {
        // t(0.995, 3) = 5.8409; the standard deviation of 1, 2, 3, 4 is 1.29099.
        let interval = Interval::of_mean(&[1.0, 2.0, 3.0, 4.0]);
        assert!((interval.mean - 2.5).abs() < 1e-12);
        assert!((interval.high - 2.5 - 5.8409 * 1.290_99 / 2.0).abs() < 1e-3, "{interval}");
    }

    #[test]
    fn the_interval_of_the_median_is_the_sign_test_s() {
        // Binomial(8, 1/2): P(0) = 0.0039; Binomial(24, 1/2): P(<=5) = 0.0033, P(<=6) = 0.0113.
        assert_eq!((cut(7), cut(8), cut(24)), (None, Some(0), Some(5)));
        let mut values = vec![1.0; 8];
        values[3] = 40.0;
        let eight = Interval::of_median(&values);
        assert_eq!((eight.low, eight.mean, eight.high), (1.0, 1.0, 40.0));
        let many = Interval::of_median(&values.repeat(3));
        assert_eq!((many.low, many.mean, many.high), (1.0, 1.0, 1.0));
        assert_eq!(Interval::of_median(&[1.0]).verdict_within(0.0, 2.0), Verdict::Undecided);
    }

    #[test]
    fn only_an_interval_entirely_outside_is_broken() {
        let interval = Interval { low: 0.9, mean: 1.0, high: 1.1 };
        assert_eq!(interval.verdict_within(0.8, 1.2), Verdict::Kept);
        assert_eq!(interval.verdict_within(1.2, 2.0), Verdict::Broken);
        assert_eq!(interval.verdict_within(1.0, 2.0), Verdict::Undecided);
        assert_eq!(Interval::of_mean(&[1.0]).verdict_within(0.0, 2.0), Verdict::Undecided);
    }

    /// The lengths that are read if this many groups of windows can be read in time, and these are decided.
    fn read(in_time: usize, decided: usize) -> (Vec<f64>, Verdict) {
        let lengths = RefCell::new(Vec::new());
        let read = |seconds| {
            lengths.borrow_mut().push(seconds);
            Ok(of_cpus(&[1.0]))
        };
        let has_time = |_| lengths.borrow().len() < in_time;
        let judge = |_: &[Window]| match lengths.borrow().len() >= decided {
            true => Outcome::kept("decided"),
            false => Outcome::undecided("not yet"),
        };
        let verdict = settle(&[0.25, 1.0], read, has_time, judge).unwrap().verdict;
        (lengths.into_inner(), verdict)
    }

    #[test]
    fn windows_are_read_until_they_decide() {
        assert_eq!(read(9, 1), (vec![0.25], Verdict::Kept));
        assert_eq!(read(9, 2), (vec![0.25, 1.0], Verdict::Kept));
        assert_eq!(read(9, 9), (vec![0.25, 1.0, 1.0, 1.0], Verdict::Undecided));
    }

    #[test]
    fn what_is_broken_must_be_so_in_new_windows() {
        let of = |verdicts: [Outcome; 2]| {
            let next = RefCell::new(verdicts.into_iter());
            let judge = |_: &[Window]| next.borrow_mut().next().unwrap();
            settle(&[0.25], |_| Ok(of_cpus(&[1.0])), |_| true, judge).unwrap()
        };
        let twice = of([Outcome::broken("off").with("a"), Outcome::broken("off").with("b")]);
        assert_eq!((twice.verdict, twice.evidence.len()), (Verdict::Broken, 2));
        let once = of([Outcome::broken("off").with("a"), Outcome::kept("b")]);
        assert_eq!(once.verdict, Verdict::Undecided);
        assert_eq!(once.reason, "off, and not so in the windows after that, which say kept");
        let in_time =
            settle(&[0.25], |_| Ok(of_cpus(&[1.0])), |_| false, |_| Outcome::broken("off"));
        assert_eq!(in_time.unwrap().verdict, Verdict::Broken);
    }

    #[test]
    fn windows_for_which_there_is_no_time_are_not_begun() {
        assert_eq!(read(0, 9), (vec![0.25], Verdict::Undecided));
        assert_eq!(read(2, 9), (vec![0.25, 1.0], Verdict::Undecided));
        assert_eq!(read(3, 3), (vec![0.25, 1.0, 1.0], Verdict::Kept));
    }
}
