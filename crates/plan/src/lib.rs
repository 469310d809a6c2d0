//! Study x host facts -> trials, each an ordered list of steps with their inverses.
//!
//! Pure: a plan can be made, printed and tested for any machine whose facts are known. What this
//! host cannot do is found here, before anything is touched.

mod candidates;
mod comparison;
mod disk;
mod footprint;
mod group;
mod interleave;
mod null_blk;
mod order;
mod place;
mod privileges;
mod program;
mod refusal;
mod setting;
mod shard;
mod step;
mod trial;
mod workload;

pub use candidates::{Scope, Setting, candidates};
pub use footprint::{Predictions, to_predict};
pub use interleave::{CHANGED, take_turns};
pub use null_blk::{NullBlkSpeed, null_blk_attributes, null_blk_speed};
pub use order::{Slot, order};
pub use place::PlacementPlan;
pub use program::{Wanted, programs};
pub use refusal::Refusal;
pub use setting::SettingPlan;
pub use shard::Shard;
pub use step::{Step, steps};
pub use trial::{
    AfterPlan, DiskPlan, GroupPlan, KnobPlan, Part, PlacePlan, Plan, ToolPlan, Trial, WorkloadPlan,
    plan, plan_with,
};
