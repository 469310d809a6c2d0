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

mod manifest;
mod table;

pub use manifest::{
    Change, DiskRecord, Fault, GroupRecord, IoClass, KnobRecord, Latency, Manifest, PromiseRecord,
    QueueReading, Reading, RelationRecord, RepeatRecord, SamplerCost, TrialRecord, WarmUpRecord,
    WorkloadRecord, WorkloadResult,
};
pub use table::{Column, Table};
