//! The limit on processes and threads.

use assay_host::facts::Available;

use super::{LimitHit, figure};
use crate::exec::amount::count;
use crate::exec::usage::ResourceUsage;

/// The limit is hit when a fork or clone was refused.
pub(super) fn max(used: &ResourceUsage) -> LimitHit {
    match &used.forks_refused {
        Available::Value(refused) => {
            let peak = figure(&used.processes_peak, |peak| {
                let sampled = if peak.sampled { " (sampled)" } else { "" };
                format!("at most {} at once{sampled}", peak.value)
            });
            let forks = count(*refused, "fork", "forks");
            LimitHit::bound_if(*refused > 0, format!("{forks} refused, {peak}"))
        }
        Available::NotAvailable(why) => LimitHit::missing(why),
    }
}
