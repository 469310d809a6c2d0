//! Study file -> [`Study`], all mistakes in one pass, each with its place in the file.
//!
//! This room never looks at the host: whether this machine can run a study is for `plan` to say.
//! Nor does it open a file: whoever calls [`parse`] brings the text, and a way to load the job
//! files that it refers to.

mod bound;
mod check;
mod code;
mod combination;
mod disk_override;
mod footprint;
mod intervene;
mod key;
mod level;
mod metric;
mod parse;
mod read;
mod reader;
mod resolve_factors;
mod rewrite;
mod schema;
mod section;
mod shipped;
mod syntax;
mod template;
mod value;

pub use bound::rate;
pub use combination::{combinations, parse_scalar, set_factor, set_factors};
pub use disk_override::{DiskChoice, choose_disk, choose_scheduler, disk_size};
pub use footprint::footprint_part;
pub use intervene::Intervention;
pub use level::level_of;
pub use metric::fio_metrics;
pub use parse::parse;
pub use rewrite::{lines as setting_lines, rewrite};
pub use schema::schema;
pub use shipped::{Shipped, shipped, shipped_file};
pub use syntax::{
    After, Bindings, Bound, Design, Disk, DiskSource, DropCaches, Ends, Factor, Format, Group,
    HUGE_PAGE_MODES, HostSettings, LeftOut, NullBlk, Order, Pairs, Place, Promise, Reference,
    Relation, Sampling, Scalar, Stop, Study, Tool, WarmUp, Workload,
};
pub use template::{FromScalar, Templated, factor_names, fill, substitute};
