//! Living groups and their host: the facts of the machine, what groups use, what they get of what they compete for,
//! and whether their limits act.

pub mod collect;
pub mod fairness;
pub mod groups;
pub mod host;
pub mod probe;
