//! The run folder: what was asked, what was seen, in a form that is readable after a crash and
//! that a later version can judge again. This room stores and loads; it never interprets.
//!
//! ```text
//! runs/<time>-<study>/
//!   manifest.json     study text, host facts, versions, seed, knobs asked and read back
//!   events.jsonl      what happened when, one JSON object a line, flushed as it happens
//!   samples/*.arrows  while running; *.parquet when done
//!   logs/             every workload's own output, untouched
//!   verdict.json      the judgement (schema 1)
//!   report.html
//! ```

mod arrow;
mod budget;
mod comparison;
mod curve;
mod error;
mod event;
mod folder;
mod footer;
mod guard;
mod guest;
mod ipc;
mod limit;
mod manifest;
mod merge_samples;
mod overrides;
mod parquet;
mod placement;
mod recover;
mod repeat_id;
mod rows;
mod run;
mod runs_dir;
mod schema;
mod setting;
mod stream;
mod summary;
mod table;
mod tail;

pub use budget::Budget;
pub use comparison::{AcrossRecord, ComparisonRecord, Levels, PairsRecord, ReferenceRecord};
pub use curve::{Curve, Mark};
pub use error::Error;
pub use event::{Event, EventLog, parse_events, read_events};
pub use folder::RunFolder;
pub use guard::is_guarded;
pub use guest::Guest;
pub use merge_samples::{Merged, merge_samples};
pub use overrides::{LimitReading, OverridesRecord, ThreadReading};
pub use placement::{Counted, NodeCounts, PlacementReading, PlacementRecord};
pub use repeat_id::RepeatId;
pub use rows::RowBuffer;
pub use run::{Run, unnamed_samples};
pub use runs_dir::{RunsDir, runs, summaries};
pub use schema::{SCHEMA, parse as parse_manifest};
pub use setting::{Dropped, SettingReading, SettingRecord};
pub use stream::{SampleStream, read_growing, read_tables, to_parquet};
pub use summary::{RunSummary, Stamp, State, stamp, summarize};

pub use manifest::{
    Change, DiskRecord, Drift, EveryRecord, Fault, GroupRecord, IoClass, KnobRecord, Latency,
    LooksRecord, Manifest, Phase, PromiseRecord, QueueReading, Reading, Recording, RelationRecord,
    RepeatRecord, SamplerCost, Seen, SourceCost, StopRecord, TrialRecord, WarmUpRecord, WatchCost,
    WorkloadRecord, WorkloadResult,
};
pub use table::{Column, Table};
pub use tail::{SampleFile, Tail, sample_files};
