//! Living groups and their host: the facts of the machine, what groups use, and what they get of what they compete for.

pub mod collect;
pub mod fairness;
pub mod groups;
pub mod host;
