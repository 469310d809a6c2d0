//! What others read of runs: tidy tables for notebooks, lines for whoever watches, the formats of
//! other tools where their meaning fits, and the list of all runs.
//!
//! Nothing here is decided: every number stands in a run folder, and every verdict comes from
//! `judge`. Tables are written batch by batch, so that a thousand runs need no more memory than the
//! largest of their manifests.

mod cell;
mod columns;
mod csv;
mod error;
mod fio;
mod follow;
mod hyperfine;
mod index;
mod lines;
mod link;
mod metrics;
mod openmetrics;
mod parquet;
mod rows;
mod samples;
mod tables;

pub use columns::{Kind, Shape, ShapeColumn, TABLES, page};
pub use error::Error;
pub use fio::fio;
pub use follow::Follower;
pub use hyperfine::hyperfine;
pub use index::{belongs, update_index, update_index_in};
pub use openmetrics::{Live, openmetrics};
pub use tables::{Format, Outcome, export, json_lines};
