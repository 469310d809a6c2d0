//! Reading windows until they decide.

use assay_kernel::Error;

use crate::outcome::{Outcome, Stop, Verdict};
use crate::windows::Window;

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
