//! `window`: there is enough time common to all groups to say anything.

use super::{Evidence, Finding, Gate, Scope, of_each_repeat};
use crate::repeat::Repeat;

/// Less than this is not judged at all, seconds.
pub(crate) const LEAST_S: f64 = 2.0;

/// Longer silence of the sampler than this many steps of the grid is worth a word.
const LONG_GAP: f64 = 5.0;

/// Fails on a window of less than two seconds. Whether the window also holds enough independent
/// blocks depends on the measure and is judged with each promise. A number that a workload gives of
/// its own run needs no window at all.
pub(super) fn gate(evidence: &Evidence<'_>) -> Gate {
    let check = of_each_repeat("window", evidence, |repeat| find(evidence, repeat));
    Gate { check, scope: Scope::Sampled, proves: None }
}

fn find(evidence: &Evidence<'_>, repeat: &Repeat<'_>) -> Finding {
    let seconds = repeat.window_s();
    let mut text = format!(
        "{seconds:.1} s common to all groups after {:.1} s of warm-up (at least {LEAST_S:.0} s needed)",
        repeat.warm_up_s
    );
    if !repeat.settled {
        text.push_str("; no steady state was found, the second half is judged");
    }
    for (measure, _) in evidence.promises {
        if let Ok(grid) = repeat.grid(*measure)
            && grid.longest_gap_s > LONG_GAP * grid.step_s()
        {
            text = format!("{text}; the sampler was silent for up to {:.1} s", grid.longest_gap_s);
            break;
        }
    }
    Finding::new(seconds >= LEAST_S, text)
}
