//! Whether what some groups did not ask for is all there is to explain.
//!
//! Where the CPUs were saturated as well, either may have kept a group from asking. A CPU that is the
//! limit takes from every group, and divides what it leaves by threads and not by weight. Where the
//! other groups asked for all they could have, and divided by weight what was left to them, it took
//! nothing that the weights had given.

use super::Strength;
use super::fit::{Fit, first_come_first_served};
use crate::checks::demand::asks_for_little;
use crate::promise::{Numbers, Subject};

/// Groups that divide what is left, at least: a single one would get all of it whatever the reason.
const OTHERS: usize = 2;

/// Whether it explains sign and size of what every group got, and requests that are served as they
/// come, as under a saturated CPU, do not.
pub(super) fn explains(subject: &Subject<'_>, numbers: &Numbers) -> bool {
    let Some(little) = asking_little(subject, numbers) else { return false };
    let others = || (0..little.len()).filter(|group| !little[*group]);
    let left: f64 = others().map(|group| numbers.seen[group].value).sum();
    let promised: f64 = others().map(|group| numbers.expected[group].share).sum();
    let predicted: Vec<f64> = (0..little.len())
        .map(|group| match little[group] {
            true => numbers.seen[group].value,
            false => left * numbers.expected[group].share / promised,
        })
        .collect();
    let is_strong = |predicted: &[f64]| {
        Fit::of(numbers, predicted).and_then(Fit::strength) == Some(Strength::Strong)
    };
    is_strong(&predicted) && !is_strong(&first_come_first_served(subject, numbers))
}

/// Of each group whether it asked for little in every repeat; `None` where some group did in one
/// repeat and not in the next, or does not say, or where too few asked for all.
fn asking_little(subject: &Subject<'_>, numbers: &Numbers) -> Option<Vec<bool>> {
    let of_group = |name: &String| {
        let group = subject.trial.groups.iter().find(|group| group.name == *name)?;
        let mut each = subject.repeats.iter().map(|repeat| asks_for_little(group, repeat));
        let first = each.next()??;
        each.all(|other| other == Some(first)).then_some(first)
    };
    let little = numbers.names.iter().map(of_group).collect::<Option<Vec<bool>>>()?;
    let others = little.iter().filter(|little| !**little).count();
    (others >= OTHERS && others < little.len()).then_some(little)
}
