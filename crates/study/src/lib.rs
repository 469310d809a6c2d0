//! Study file -> [`Study`], all mistakes in one pass, each with its place in the file.
//!
//! This room never looks at the host: whether this machine can run a study is for `plan` to say.

mod model;
mod template;

pub use model::{
    Bindings, Design, Disk, DiskSource, Factor, Format, Group, Order, Promise, Relation, Scalar,
    Study, WarmUp, Workload,
};
pub use template::{FromScalar, Templated, factor_names, substitute};
