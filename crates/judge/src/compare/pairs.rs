//! Numbers of two trials side by side.

use crate::trial_numbers::{RepeatLog, TrialNumber, of_trial};
use assay_record::terms::Direction;

use super::Side;
use super::direction::direction;

/// All quantities of a trial, in display order.
pub(super) fn numbers(side: &Side<'_>, trial: usize, selected: &[String]) -> Vec<TrialNumber> {
    let mut numbers = of_trial(side.manifest, side.samples, trial, selected);
    if !numbers.iter().any(|one| one.decides) {
        // Without a promise the total of all groups decides.
        let totals = numbers.iter_mut().filter(|one| one.group.is_none() && one.of == "rate");
        totals.for_each(|one| one.decides = direction(one) != Direction::Neither);
    }
    numbers
}

/// Pairs the quantities of both sides, deciding ones first. A quantity that only one side has gets
/// a reason on the other; one that neither has is left out unless it decides.
pub(super) fn pairs(a: Vec<TrialNumber>, b: Vec<TrialNumber>) -> Vec<(TrialNumber, TrialNumber)> {
    let same = |x: &TrialNumber, y: &TrialNumber| {
        (&x.measure, x.of, &x.group) == (&y.measure, y.of, &y.group)
    };
    let absent = |of: &TrialNumber| TrialNumber {
        found: Err("only the other run has it".to_owned()),
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
        if decides {
            count_zeros(a, b);
            count_zeros(b, a);
        }
    }
    paired.retain(|(a, b)| a.decides || a.found.is_ok() || b.found.is_ok());
    paired.sort_by_key(|(a, _)| !a.decides);
    paired
}

/// A deciding group that got nothing differs from one that was served; of others a page here and
/// there proves nothing, and no time at all is no measurement. Nothing is less than a unit: of this
/// side, or of the other where those are larger, since requests that were not made have no size. It
/// is never more than what the other side had.
fn count_zeros(one: &mut TrialNumber, other: &TrialNumber) {
    let Ok(served) = &other.found else { return };
    if one.of == "number" && direction(one) == Direction::Lower {
        return;
    }
    let Some(mut numbers) = one.with_zeros.take() else { return };
    let unit = |number: &RepeatLog| number.log + number.grain.exp_m1().ln();
    let largest = served.iter().map(unit).fold(f64::NEG_INFINITY, f64::max);
    let least = served.iter().map(|number| number.log).fold(f64::INFINITY, f64::min);
    for number in numbers.iter_mut().filter(|number| number.is_a_unit()) {
        number.log = number.log.max(largest).min(least);
    }
    one.found = Ok(numbers);
}

/// Whether a number is zero in every repeat of both sides, so that there is no ratio.
pub(super) fn are_zero(a: &TrialNumber, b: &TrialNumber) -> bool {
    let is_zero = |one: &TrialNumber| {
        let zeros = one.with_zeros.iter().flatten();
        one.found.is_err() && zeros.clone().count() > 0 && zeros.clone().all(RepeatLog::is_a_unit)
    };
    is_zero(a) && is_zero(b)
}
