//! The program as a library: running, judging, explaining, tuning and comparing studies.
//!
//! Each function combines the crates below it and returns a value; nothing is printed. Messages and
//! progress go to an [`Observer`], the host is reached through a [`Context`], and a failure is an
//! [`Error`] with the exit code that the command line gives it.

mod audit;
mod before_run;
mod blame;
mod compare;
mod conform;
mod context;
mod error_record;
mod experiment;
mod explain;
mod exporting;
mod external_data;
mod finish_run;
mod fleet;
mod groups;
mod guest_disk;
mod host;
mod iocost;
mod judged_command;
mod lab;
mod lab_kernels;
mod limited_command;
mod live_export;
mod load;
mod look_taker;
mod observer;
mod overrides;
mod pace;
mod passport;
mod plan_document;
mod plan_text;
mod prepare;
mod progress;
mod recording;
mod restore;
mod run;
mod run_words;
mod several_runs;
mod tune;

#[cfg(test)]
mod replay_tests;
#[cfg(test)]
mod statements_tests;
#[cfg(test)]
mod transcript;

pub use audit::{
    WatchOptions, WatchSummary, WatchedChange, Writer, audit_code, read_manifest, read_snapshot,
    take_snapshot, watch_audit, watch_settings, write_snapshot, write_textfile,
};
pub use before_run::Needs;
pub use blame::{
    BlameTarget, BlamedCommand, CommandOptions, Effect, GroupFile, HoldBy, Proof, ProveOptions,
    Proven, Turn, blame, blame_command, blame_with_disks, proof_text, prove,
};
pub use compare::{
    Interleaved, Sides, compare, compare_interleaved, compare_levels_of, compare_with_baseline,
    newest_run,
};
pub use conform::{conform_code, prepare_conform, read_conform};
pub use context::{Context, HostRunner, Runner};
pub use error_record::ErrorRecord;
pub use explain::{ExplainOptions, Explained, cause_names, codes, explain, explain_code, is_code};
pub use exporting::{
    ExportFormat, export_tables, export_text, follow_lines, follow_metrics, write_error,
};
pub use external_data::{
    Amounts, ExternalData, ExternalFacts, ExternalFiles, ExternalGroup, Numbers, Quantity,
    judge_external, read_external,
};
pub use finish_run::{REPORT, judge_run, open_run, update_index};
pub use fleet::{FleetOptions, OpenFleet, collect_fleet, fleet_code, submit_fleet};
pub use groups::{
    GroupOrder, GroupWithRates, Groups, check_groups, groups_document, groups_text, top_groups,
};
pub use host::{KnownFact, check_knob_table, host_text, knob_check_text, known_facts};
pub use iocost::{IoCostMeasured, IoCostOptions, measure_iocost};
pub use judged_command::{JudgedOutcome, run_judged, validity_text};
pub use lab::{LabStudy, guest_task, prepare_lab_study, run_lab_study, this_program_in_guest};
pub use lab_kernels::{CachedKernel, KernelName, Kernels, kernels_document, kernels_text};
pub use limited_command::{LimitedCommand, run_limited};
pub use live_export::LiveExport;
pub use load::{Loaded, load, load_regular, reload};
pub use look_taker::SharedLook;
pub use observer::{CurrentSetting, Observer, RunView};
pub use overrides::StudyChoice;
pub use pace::Pace;
pub use passport::{MadePassport, PassportKernelName, PassportOptions, Say, make_passport};
pub use plan_document::{PlanDocument, PlannedKnob, PlannedTrial, plan_document};
pub use plan_text::plan_text;
pub use prepare::{Destination, RunOptions, facts_for, plan_for, prepare, refuse_without_room};
pub use progress::{LiveScreen, RunProgress, SearchProgress};
pub use recording::{Recorded, RecordingOptions, has_promises, record, write_recording};
pub use restore::restore;
pub use run::{Ended, conclude, execute};
pub use several_runs::{earlier_runs, judge_runs};
pub use tune::{TuneOptions, Tuned, tune};
