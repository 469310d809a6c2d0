//! Export formats for runs: tidy tables for notebooks, and the formats of other tools (JUnit,
//! OpenMetrics) where their meaning fits.
//!
//! Exports compute no verdicts: every number comes from a run folder, and every verdict from
//! `judge`. Tables are written batch by batch, so exporting a thousand runs needs no more memory
//! than the largest of their manifests.

mod cell;
mod columns;
mod csv;
mod error;
mod families;
mod junit;
mod openmetrics;
mod parquet;
mod rows;
mod samples;
mod source;
mod tables;

pub use columns::{Shape, ShapeColumn, TABLES, page};
pub use error::{cannot_write, write_error};
pub use families::Families;
pub use junit::junit;
pub use openmetrics::openmetrics;
pub use source::RunSource;
pub use tables::{Format, Judge, Outcome, export};
