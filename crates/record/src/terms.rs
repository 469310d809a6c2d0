//! The terms that several crates must agree on, one table each.
//!
//! `study` checks names with them, `judge` finds the counters, `report` finds the units. A pure crate.

mod measure;
mod placement_measure;
mod relation;

pub use measure::{Direction, Measure, MeasureInfo, Resource, Scale};
pub use placement_measure::PlacementMeasure;
pub use relation::{RefersTo, RelationInfo, RelationKind, Side};

/// The measure of the relation `within`: the longest time for which a group wanted to run and got no CPU
/// time. No other relation applies to it.
pub const PROGRESS: &str = "progress";

/// The names of all measures that the sampler records, in the order of the documentation.
pub const MEASURE_NAMES: [&str; Measure::ALL.len() + PlacementMeasure::ALL.len() + 1] = {
    let mut names = [PROGRESS; Measure::ALL.len() + PlacementMeasure::ALL.len() + 1];
    let mut index = 0;
    while index < names.len() - 1 {
        names[index] = match index < Measure::ALL.len() {
            true => Measure::ALL[index].name(),
            false => PlacementMeasure::ALL[index - Measure::ALL.len()].name(),
        };
        index += 1;
    }
    names
};
