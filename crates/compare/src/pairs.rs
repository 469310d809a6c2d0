//! Numbers of two trials side by side.

use assay_judge::trial_numbers::{TrialNumber, of_trial};

use super::Side;
use super::direction::{Direction, direction};

/// Everything of a trial, in the order in which it is to be shown.
pub(super) fn numbers(side: &Side<'_>, trial: usize, asked: &[String]) -> Vec<TrialNumber> {
    let mut numbers = of_trial(side.manifest, side.samples, trial, asked);
    if !numbers.iter().any(|one| one.decides) {
        // Nothing is promised of a number: then what all groups got together decides.
        let totals = numbers.iter_mut().filter(|one| one.group.is_none() && one.of == "rate");
        totals.for_each(|one| one.decides = direction(one) != Direction::Neither);
    }
    numbers
}

/// What both sides have, side by side, what decides first. What only one side knows stands beside
/// a reason; what neither has is left out unless it decides.
pub(super) fn pairs(a: Vec<TrialNumber>, b: Vec<TrialNumber>) -> Vec<(TrialNumber, TrialNumber)> {
    let same = |x: &TrialNumber, y: &TrialNumber| {
        (&x.measure, x.of, &x.group) == (&y.measure, y.of, &y.group)
    };
    let absent = |of: &TrialNumber| TrialNumber {
        found: Err("the other run alone has it".to_owned()),
        ..of.clone()
    };
    let mut b = b;
    let mut paired: Vec<(TrialNumber, TrialNumber)> = Vec::new();
    for one in a {
        let other = match b.iter().position(|other| same(&one, other)) {
            Some(place) => b.remove(place),
            None => absent(&one),
        };
        paired.push((one, other));
    }
    paired.extend(b.into_iter().map(|other| (absent(&other), other)));
    for (a, b) in &mut paired {
        let decides = a.decides || b.decides;
        (a.decides, b.decides) = (decides, decides);
    }
    paired.retain(|(a, b)| a.decides || a.found.is_ok() || b.found.is_ok());
    paired.sort_by_key(|(a, _)| !a.decides);
    paired
}
