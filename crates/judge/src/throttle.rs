//! How often a CPU quota bound during a repeat.

use std::fmt;

use assay_record::run_folder::sorted::Sorted;

use crate::repeat::Repeat;

/// Periods of a quota over the judged window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Throttled {
    /// Periods in which the group was runnable.
    pub(crate) periods: f64,
    /// Periods in which it ran out of quota.
    pub(crate) throttled: f64,
}

impl fmt::Display for Throttled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bound in {:.0} of {:.0} periods", self.throttled, self.periods)
    }
}

/// Counts of a group's quota; `None` for a group without a quota or counters.
pub(crate) fn counts(table: &Sorted<'_>, repeat: &Repeat<'_>, group: &str) -> Option<Throttled> {
    let grown = |column| Some(repeat.grown(table, group, &[column]).ok()?.0);
    Some(Throttled { periods: grown("periods")?, throttled: grown("throttled_periods")? })
}

/// Names of the groups around the run's own that have a quota.
pub(crate) fn above(repeat: &Repeat<'_>) -> Vec<String> {
    let table = repeat.tables.iter().find(|table| table.source == "throttle");
    let subjects = table.map_or(&[][..], |table| &table.subjects);
    subjects.iter().filter(|name| name.starts_with("above:")).cloned().collect()
}
