//! What was counted of one placement, repeat by repeat.

use assay_record::run_folder::{NodeCounts, PlacementReading, PlacementRecord};
use assay_record::terms::PlacementMeasure;

use super::pages;
use crate::repeat::Repeat;
use crate::subject::Subject;

/// What was counted in one repeat.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Counted {
    /// What was in place.
    pub(crate) held: f64,
    /// All.
    pub(crate) of: f64,
    /// The smallest part that this repeat can distinguish.
    pub(crate) grain: f64,
}

impl Counted {
    /// The part that was in place.
    pub(crate) fn part(&self) -> f64 {
        self.held / self.of
    }
}

/// The reading of a workload in one repeat, and the host's counters.
pub(crate) type Reading<'r> = (&'r PlacementReading, Option<&'r NodeCounts>);

/// The readings of one workload, and what they count, in each repeat; or what is missing.
pub(crate) fn counted<'r>(
    subject: &Subject<'_>,
    (what, asked): (PlacementMeasure, &PlacementRecord),
    repeats: &[Repeat<'r>],
) -> Result<(Vec<Reading<'r>>, Vec<Counted>), String> {
    possible(subject, what, asked)?;
    let (mut readings, mut counts) = (Vec::new(), Vec::new());
    for repeat in repeats {
        let record = repeat.record;
        let reading = record.placements.iter().find(|one| one.workload == asked.workload);
        let reading = reading.ok_or_else(|| {
            format!("`{}` was not recorded in repeat {}", asked.workload, repeat.number)
        })?;
        let nodes = record.nodes.as_ref();
        let counted = match what {
            PlacementMeasure::Threads => threads(reading, repeat),
            PlacementMeasure::Pages | PlacementMeasure::FilePages => {
                pages::in_place(what, asked, reading, nodes).map(|(held, grain)| Counted {
                    held,
                    of: 1.0,
                    grain,
                })
            }
        };
        let why = |why| format!("`{}`: {why} in repeat {}", asked.workload, repeat.number);
        counts.push(counted.map_err(why)?);
        readings.push((reading, nodes));
    }
    Ok((readings, counts))
}

/// A placement that allows the whole machine proves nothing.
fn possible(
    subject: &Subject<'_>,
    what: PlacementMeasure,
    asked: &PlacementRecord,
) -> Result<(), String> {
    let name = &asked.workload;
    match (what, &asked.cpus) {
        (PlacementMeasure::Threads, None) => {
            Err(format!("the placement of `{name}` names no CPUs"))
        }
        (PlacementMeasure::Threads, Some(cpus)) if subject.host.cpus.allowed.is_subset(cpus) => {
            Err(format!(
                "`{name}` may run on all CPUs of the host: its threads cannot be elsewhere"
            ))
        }
        (PlacementMeasure::Pages | PlacementMeasure::FilePages, _)
            if subject.host.memory_nodes.len() < 2 =>
        {
            Err("the host has one node with memory: pages cannot be elsewhere".to_owned())
        }
        _ => Ok(()),
    }
}

/// Durations below a second cannot be told from chance. A repeat without a recorded thread may be the one in which
/// all were elsewhere.
fn threads(reading: &PlacementReading, repeat: &Repeat<'_>) -> Result<Counted, String> {
    if reading.samples == 0 {
        return Err("none of its threads was recorded".to_owned());
    }
    Ok(Counted {
        held: reading.on_cpus as f64,
        of: reading.samples as f64,
        grain: 1.0 / repeat.window_s().max(1.0),
    })
}
