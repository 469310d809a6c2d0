//! Reading windows until they decide.

use assay_kernel::Error;

use crate::outcome::{Outcome, Stop, Verdict};
use crate::windows::Window;

/// Most windows that are read of the longest length.
const MOST_WINDOWS: usize = 24;

/// Reads and judges windows of each of these lengths in seconds until a result is decided, and then more of
/// the last length; `read` reads several. Windows for which there is no time are not begun, but for the
/// first.
pub(crate) fn settle(
    lengths: &[f64],
    mut read: impl FnMut(f64) -> Result<Vec<Window>, Error>,
    has_time_for: impl Fn(f64) -> bool,
    judge: impl Fn(&[Window]) -> Outcome,
) -> Result<Outcome, Stop> {
    let mut outcome = Outcome::void("no window was read");
    let mut windows = Vec::new();
    for seconds in lengths {
        if !windows.is_empty() && !has_time_for(*seconds) {
            return Ok(outcome);
        }
        windows = read(*seconds)?;
        outcome = judge(&windows);
        if outcome.verdict != Verdict::Undecided {
            return Ok(outcome);
        }
    }
    let last = lengths.last().copied().unwrap_or_default();
    while outcome.verdict == Verdict::Undecided
        && windows.len() < MOST_WINDOWS
        && has_time_for(last)
    {
        windows.extend(read(last)?);
        outcome = judge(&windows);
    }
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::windows::of_cpus;

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
    fn windows_for_which_there_is_no_time_are_not_begun() {
        assert_eq!(read(0, 9), (vec![0.25], Verdict::Undecided));
        assert_eq!(read(2, 9), (vec![0.25, 1.0], Verdict::Undecided));
        assert_eq!(read(3, 3), (vec![0.25, 1.0, 1.0], Verdict::Kept));
    }
}
