//! The run folder: study, host, configuration and results of a run, in a format that survives a crash and
//! that later versions can judge again. This crate stores and loads; it never interprets.
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
mod comparison;
mod csv;
mod curve;
mod drift;
mod error;
mod event;
mod evidence;
mod folder;
mod footer;
mod guard;
mod guest;
mod json;
mod limit;
mod manifest;
mod overrides;
mod pages;
mod parquet;
mod parquet_file;
#[cfg(test)]
mod parquet_of_tests;
mod parquet_writer;
mod placement;
mod promise;
mod repeat;
mod repeat_id;
mod run;
mod runs_dir;
mod schema;
mod setting;
mod stop;
mod stream;
mod study_choice;
mod summary;
mod table;
mod tail;

pub use budget::Budget;
pub use comparison::{AcrossRecord, ComparisonRecord, Levels, PairsRecord, ReferenceRecord};
pub use curve::{Curve, Mark};
pub use drift::{Drift, TimedReading};
pub use error::Error;
pub use event::{Event, EventLog, parse_events, read_events};
pub use evidence::parse_evidence;
pub use folder::RunFolder;
pub use guard::is_guarded;
pub use guest::Guest;
pub use json::{check_json_output, parse_json};
pub use overrides::{LimitReading, OverridesRecord, ThreadReading};
pub use parquet::to_parquet;
pub use parquet_writer::{Cell, Kind, ParquetWriter};
pub use placement::{CounterSpan, NodeCounts, PlacementReading, PlacementRecord};
pub use repeat_id::RepeatId;
pub use run::{Run, SampleFile, read_growing, read_tables, sample_files, unlisted_samples};
pub use runs_dir::{RunsDir, runs, summaries};
pub use schema::{SCHEMA, parse as parse_manifest};
pub use setting::{Dropped, SettingReading, SettingRecord};
pub use stop::StopRecord;
pub use stream::SampleStream;
pub use study_choice::StudyChoiceRecord;
pub use summary::{RunSummary, Stamp, State, stamp, summarize, summarize_dir};

pub use manifest::{
    Change, DiskRecord, GroupRecord, IoClass, KnobRecord, Manifest, Recording, TrialRecord,
    WarmUpRecord, WorkloadRecord,
};
pub use promise::{EveryRecord, PromiseRecord, Reference, RelationRecord};
pub use repeat::{
    EvidenceRecord, Fault, Latency, Phase, QueueReading, Reading, RepeatRecord, SamplerCost,
    SourceCost, WatchCost, WorkloadResult,
};
pub use table::{Column, RowSums, Rows, Table};
pub use tail::Tail;
