//! One study on several hosts: their judgements as one, with what differs between the hosts.

mod document;
mod merge;
mod spread;
mod traits;

pub use document::{
    Differs, FleetComparison, FleetGroup, FleetHost, FleetJudgement, FleetPromise, FleetTrial,
    HostDifference, HostState, HostVerdict, PromiseOnHost, conclude,
};
pub use merge::FleetMerge;
pub use spread::{Extreme, Spread};
pub use traits::{differences, traits};
