//! Parses a study file into a [`Study`]. All mistakes are reported in one pass, each with its
//! location in the file.
//!
//! This crate never looks at the host: `plan` decides whether this machine can run a study. It does
//! not open files either: the caller of [`parse`] passes the text and a function that loads the job
//! files it refers to.

mod bound;
mod check;
mod code;
mod combination;
mod disk_override;
mod footprint;
mod intervene;
mod job_file_study;
mod key;
mod level;
mod metric;
mod read;
mod reader;
mod render;
mod resolve_factors;
mod scalar;
mod schema;
mod section;
mod set_factor;
mod setting_lines;
mod shipped;
mod syntax;
mod template;
mod value;

pub mod plan;
pub mod workload;

pub use bound::parse_bound;
pub use combination::{combinations, parse_scalar};
pub use disk_override::{
    DiskOverride, disk_size, override_disk, override_scheduler, permit_erasing,
};
pub use footprint::footprint_part;
pub use intervene::Intervention;
pub use job_file_study::job_file_study;
pub use level::find_level;
pub use metric::fio_metrics;
pub use read::{MOST_BYTES, has_published, parse, parse_published};
pub use render::render;
pub use schema::schema;
pub use set_factor::{set_factor, set_factors};
pub use setting_lines::setting_lines;
pub use shipped::{Shipped, shipped, shipped_file};
pub use syntax::{
    After, Bindings, Bound, Design, Disk, DiskSize, DiskSource, DropCaches, Ends, Existing, Factor,
    Format, Group, HUGE_PAGE_MODES, HostSettings, LeftOut, NullBlk, Order, Pairs, Placement,
    Promise, Reference, Relation, Sampling, Scalar, Stop, Study, Tool, WarmUp, Workload,
};
pub use template::{FromScalar, Templated, factor_names, fill, substitute};
