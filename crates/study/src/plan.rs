//! Turns a study and host facts into a plan: trials, each an ordered list of steps with their
//! inverses.
//!
//! Pure: a plan can be made, printed and tested for any machine with known facts. What this host
//! cannot do is found here, before anything is changed.

mod candidates;
mod comparison;
mod disk;
mod existing;
mod footprint;
mod interleave;
mod members;
mod memory;
mod null_blk;
mod order;
mod placement;
mod plan_trials;
mod privileges;
mod program;
mod promise;
mod refusal;
mod room;
mod setting;
mod step;
mod trial;
mod workload;

pub use candidates::{Scope, Setting, candidates, check_keep};
pub use existing::{ExistingGroup, FoundKnob};
pub use footprint::{Footprint, Predictions, prediction_commands};
pub use interleave::{CHANGED, interleave};
pub use null_blk::{NullBlkSpeed, null_blk_attributes, null_blk_speed};
pub use order::{RepeatId, order};
pub use plan_trials::{plan, plan_with};
pub use program::{RequiredProgram, required_programs};
pub use refusal::Refusal;
pub use setting::SettingPlan;
pub use step::{PlannedChange, changes, script};
pub use trial::{
    AfterPlan, DiskPlan, GroupPlan, KnobPlan, Part, Plan, StoragePlan, ToolPlan, Trial,
    WorkloadPlan,
};
