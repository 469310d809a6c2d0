//! What groups that already run were told, against what they got while siblings contended: a pure function of looks at
//! counters, taken by `sample` and `session`.

mod answer;
mod disks;
mod document;
mod estimate;
mod levels;
mod limits;
mod look;
mod own_cpus;
mod page;
mod protections;
mod series;
mod timing;
mod usage;

pub mod watch;

#[cfg(test)]
mod tests;
#[cfg(test)]
use tests::made_up;

pub use answer::{Basis, Changes, LevelAnswer, Row, judge};
pub use disks::{DiskDivision, DiskLevels, DiskLook};
pub use document::{Contention, Switches};
pub use levels::{Levels, slots_above};
pub use limits::{Counts, LimitRow, LimitState, LimitWatch};
pub use look::{Cpu, FIRST_GROUP, Look};
pub use own_cpus::{Other, OwnCpus, own_cpus};
pub use page::sections;
pub use protections::{MemoryCounts, ProtectionRow, protection};
pub use timing::Timing;
pub use usage::{UsageCounts, UsageLevel, UsageRow, usage_levels};
