//! Spans of time, one by one: what a mean over the window hides.

use crate::grid::Grid;
use crate::judgement::WorstSpan;
use crate::statistics::batches::Quantity;
use crate::statistics::proportion::Counted;

/// Seconds of a span where the study names none.
pub(crate) const USUAL_S: f64 = 1.0;

/// The spans of one group in one repeat.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Spans {
    /// Share (or rate) over what was promised in each, in order; `None` where nobody got anything.
    pub(crate) times: Vec<Option<f64>>,
    /// Their length in seconds.
    pub(crate) length_s: f64,
}

impl Spans {
    /// Cuts one repeat into spans of about this length, as whole steps of its grid.
    pub(crate) fn of(grid: &Grid, quantity: Quantity, expected: &[f64], span_s: f64) -> Vec<Self> {
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

    /// In how many of them the promise held.
    pub(crate) fn held(&self, error: impl Fn(f64) -> f64, within: f64) -> Counted {
        let known: Vec<f64> = self.times.iter().flatten().copied().collect();
        let held = known.iter().filter(|times| error(**times) <= within).count() as f64;
        let of = known.len() as f64;
        Counted { held, of, looks: of }
    }

    /// The one that is furthest off.
    pub(crate) fn worst(
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_that_is_starved_and_paid_back_fails_in_its_spans() {
        // Half a second of nothing, then twice its share.
        let mut sums = vec![0.0, 0.0];
        for step in 0..20_usize {
            let got = [0.0, 2.0, 1.0, 1.0][step / 5];
            sums.extend([sums[2 * step] + got, sums[2 * step + 1] + 2.0 - got]);
        }
        let grid = Grid { step_ns: 100_000_000, steps: 20, width: 2, sums, ..Grid::default() };
        let spans = Spans::of(&grid, Quantity::Share, &[0.5, 0.5], 0.5);
        assert_eq!(spans[0].times, [Some(0.0), Some(2.0), Some(1.0), Some(1.0)]);
        let error = |times: f64| (times - 1.0).abs();
        assert_eq!(spans[0].held(error, 0.1), Counted { held: 2.0, of: 4.0, looks: 4.0 });
        let worst = spans[0].worst(3, error, 0.5).unwrap();
        assert_eq!((worst.repeat, worst.seconds), (3, 0.5));
        let long = Spans::of(&grid, Quantity::Share, &[0.5, 0.5], 1.0);
        assert_eq!(long[0].times, [Some(1.0), Some(1.0)]);
    }
}
