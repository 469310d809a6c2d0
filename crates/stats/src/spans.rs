//! Spans of time, which a mean over the window hides.

use serde::{Deserialize, Serialize};

use crate::grid::Grid;
use crate::start::Quantity;

/// One span of time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct WorstSpan {
    /// The repeat, from 1.
    pub repeat: usize,
    /// Where it starts, seconds after the common start.
    pub from_s: f64,
    /// Its length.
    pub seconds: f64,
    /// The share (or rate) in it.
    pub share: f64,
}

/// Default length of a span in seconds.
pub const USUAL_S: f64 = 1.0;

/// Tolerance of the length of spans: whole steps are within a third of any length of at least one
/// step.
const MOST_APART: f64 = 0.35;

/// The spans of one group in one repeat.
#[derive(Debug, Clone, PartialEq)]
pub struct Spans {
    /// Share (or rate) relative to the promise in each span, in order; `None` where the total is
    /// zero.
    pub times: Vec<Option<f64>>,
    /// Their length in seconds.
    pub length_s: f64,
}

impl Spans {
    /// Divides one repeat into spans of about this length, as whole steps of its grid.
    pub fn new(grid: &Grid, quantity: Quantity, expected: &[f64], span_s: f64) -> Vec<Self> {
        let steps = ((span_s / grid.step_s()).round() as usize).max(1);
        let length_s = steps as f64 * grid.step_s();
        let mut spans = vec![Self { times: Vec::new(), length_s }; grid.width];
        for from in (0..grid.steps.saturating_sub(steps - 1)).step_by(steps) {
            let (before, after) = (grid.row(from), grid.row(from + steps));
            let whole = match quantity {
                Quantity::Share => after.iter().sum::<f64>() - before.iter().sum::<f64>(),
                Quantity::Rate => length_s,
            };
            for (group, spans) in spans.iter_mut().enumerate() {
                let part = (after[group] - before[group]) / whole / expected[group];
                spans.times.push((whole > 0.0).then_some(part));
            }
        }
        spans
    }

    /// The part of the spans in which the promise held; `None` where no span is known.
    pub fn held(&self, error: impl Fn(f64) -> f64, within: f64) -> Option<f64> {
        let known = self.times.iter().flatten();
        let (held, of) = known.fold((0, 0), |(held, of), times| {
            (held + usize::from(error(*times) <= within), of + 1)
        });
        (of > 0).then(|| held as f64 / of as f64)
    }

    /// The span that is furthest off.
    pub fn worst(
        &self,
        repeat: usize,
        error: impl Fn(f64) -> f64,
        expected: f64,
    ) -> Option<WorstSpan> {
        let known = self.times.iter().enumerate().filter_map(|(at, one)| Some((at, (*one)?)));
        let (at, times) = known.max_by(|a, b| error(a.1).total_cmp(&error(b.1)))?;
        Some(WorstSpan {
            repeat,
            from_s: at as f64 * self.length_s,
            seconds: self.length_s,
            share: times * expected,
        })
    }
}

/// The length of the spans, of the repeat where it deviates most from the promised one.
pub fn length_s(spans: &[Vec<Spans>], promised_s: f64) -> Option<f64> {
    let apart = |length_s: &f64| (length_s / promised_s - 1.0).abs();
    let lengths = spans.iter().flatten().map(|one| one.length_s);
    lengths.max_by(|a, b| apart(a).total_cmp(&apart(b)))
}

/// Whether spans of this length are close enough to the promised one: longer ones hide what shorter
/// ones show.
pub fn fits(length_s: f64, promised_s: f64) -> bool {
    (length_s / promised_s - 1.0).abs() <= MOST_APART
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_steps_fit_any_span_of_at_least_one_step() {
        for tenths in 10..100 {
            let promised_s = f64::from(tenths) * 0.1;
            let grid = Grid { step_ns: 1_000_000_000, steps: 20, ..Grid::default() };
            let grid = Grid { width: 1, sums: (0..=20).map(f64::from).collect(), ..grid };
            let spans = [Spans::new(&grid, Quantity::Rate, &[1.0], promised_s)];
            let length_s = length_s(&spans, promised_s).unwrap();
            assert!(fits(length_s, promised_s), "{length_s} s for {promised_s} s");
        }
        assert!(!fits(0.95, 0.2) && fits(0.95, 1.0));
    }

    #[test]
    fn a_starved_and_compensated_group_fails_in_its_spans() {
        // Half a second of nothing, then twice its share.
        let mut sums = vec![0.0, 0.0];
        for step in 0..20_usize {
            let got = [0.0, 2.0, 1.0, 1.0][step / 5];
            sums.extend([sums[2 * step] + got, sums[2 * step + 1] + 2.0 - got]);
        }
        let grid = Grid { step_ns: 100_000_000, steps: 20, width: 2, sums, ..Grid::default() };
        let spans = Spans::new(&grid, Quantity::Share, &[0.5, 0.5], 0.5);
        assert_eq!(spans[0].times, [Some(0.0), Some(2.0), Some(1.0), Some(1.0)]);
        let error = |times: f64| (times - 1.0).abs();
        assert_eq!(spans[0].held(error, 0.1), Some(0.5));
        let worst = spans[0].worst(3, error, 0.5).unwrap();
        assert_eq!((worst.repeat, worst.seconds), (3, 0.5));
        let long = Spans::new(&grid, Quantity::Share, &[0.5, 0.5], 1.0);
        assert_eq!(long[0].times, [Some(1.0), Some(1.0)]);
    }
}
