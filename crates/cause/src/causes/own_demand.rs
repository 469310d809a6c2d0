//! Whether the low demand of some groups is all there is to explain.
//!
//! If the CPUs were saturated as well, either may have limited the demand. Saturated CPUs take from
//! every group, and divide the rest by threads and not by weight. If the other groups kept up their
//! demand and divided the rest by weight, CPUs had no effect.

use assay_judge::checks::demand::has_low_demand;
use assay_judge::estimates::Estimates;
use assay_judge::laws::first_come_first_served;
use assay_judge::subject::Subject;
use assay_judge::verdict::Strength;

use super::fit::Fit;

/// Minimum number of groups that divide the rest: a single one would get all of it for any reason.
const OTHERS: usize = 2;

/// Whether low demand explains sign and size of every group's share, and first come, first served,
/// as under saturated CPUs, does not.
pub(super) fn explains(subject: &Subject<'_>, numbers: &Estimates) -> bool {
    let Some(low) = low_demand(subject, numbers) else { return false };
    let others = || (0..low.len()).filter(|group| !low[*group]);
    let left: f64 = others().map(|group| numbers.groups[group].share).sum();
    let promised: f64 = others().map(|group| numbers.groups[group].expected_share).sum();
    let predicted: Vec<f64> = (0..low.len())
        .map(|group| match low[group] {
            true => numbers.groups[group].share,
            false => left * numbers.groups[group].expected_share / promised,
        })
        .collect();
    let names: Vec<String> = numbers.names().cloned().collect();
    let is_strong = |predicted: &[f64]| {
        Fit::new(numbers, predicted).and_then(Fit::strength) == Some(Strength::Strong)
    };
    is_strong(&predicted) && !is_strong(&first_come_first_served(subject.trial, &names))
}

/// For each group whether its demand was low in every repeat; `None` where this differs between
/// repeats or is unknown, or where too few groups kept up their demand.
fn low_demand(subject: &Subject<'_>, numbers: &Estimates) -> Option<Vec<bool>> {
    let of_group = |name: &String| {
        let group = subject.trial.groups.iter().find(|group| group.name == *name)?;
        let mut each = subject.repeats.iter().map(|repeat| has_low_demand(group, repeat));
        let first = each.next()??;
        each.all(|other| other == Some(first)).then_some(first)
    };
    let low = numbers.names().map(of_group).collect::<Option<Vec<bool>>>()?;
    let others = low.iter().filter(|low| !**low).count();
    (others >= OTHERS && others < low.len()).then_some(low)
}
