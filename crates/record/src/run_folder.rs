//! The run folder: study, host, configuration and results of a run, in a format that survives a crash and
//! that later versions can judge again. This module stores and loads; it never interprets.
//!
//! ```text
//! runs/<time>-<study>/
//!   manifest.json     study text, host facts, versions, seed, knobs as requested and as read back
//!   events.jsonl      timeline, one JSON object per line, flushed at every event
//!   samples/*.csv     while running; *.parquet when done
//!   evidence/*.json   where each group waited, of repeats that recorded it
//!   logs/             unmodified output of every workload
//!   verdict.json      the verdict (schema 1)
//!   report.html
//! ```

mod budget;
mod csv;
mod error;
mod event;
mod evidence;
mod folder;
mod footer;
mod guard;
mod guest;
mod json;
pub mod knob_value;
mod limit;
mod manifest;
mod pages;
mod parquet;
mod parquet_file;
#[cfg(test)]
mod parquet_of_tests;
mod parquet_writer;
mod repeat;
mod repeat_id;
mod run;
mod runs_dir;
mod schema;
pub mod sorted;
mod stream;
mod table;
mod tail;

pub use budget::Budget;
pub use error::{Error, with_remedy};
pub use event::{Event, EventLog, parse_events, read_events};
pub use evidence::parse_evidence;
pub use folder::RunFolder;
pub use guard::is_guarded;
pub use guest::Guest;
pub use json::{check_json_output, parse_json};
pub use parquet::to_parquet;
pub use parquet_writer::{Cell, Kind, ParquetWriter};
pub use repeat_id::RepeatId;
pub use run::{Run, SampleFile, read_tables, sample_files, unlisted_samples};
pub use runs_dir::{RunSummary, runs, summaries};
pub use schema::parse as parse_manifest;
pub use stream::SampleStream;

pub use manifest::{
    AcrossRecord, Change, ComparisonRecord, DiskRecord, EveryRecord, GroupRecord, IoClass,
    KnobRecord, Levels, Manifest, PairsRecord, PromiseRecord, Recording, Reference,
    ReferenceRecord, RelationRecord, SCHEMA, StopRecord, StudyChoiceRecord, TrialRecord,
    WarmUpRecord, WorkloadRecord,
};
pub use repeat::{
    CounterSpan, Curve, Drift, Dropped, EvidenceRecord, FULL_DISK, Fault, Latency, LimitReading,
    Mark, NodeCounts, OverridesRecord, Phase, PlacementReading, PlacementRecord, QueueReading,
    Reading, RepeatRecord, SamplerCost, SettingReading, SettingRecord, SourceCost, ThreadReading,
    TimedReading, WatchCost, WorkloadResult,
};
pub use table::{Column, RowSums, Rows, Table};
pub use tail::Tail;
