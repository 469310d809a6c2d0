//! Living groups and their host: the facts of the machine, what groups use, what they get of what they compete for,
//! and whether their limits act.

pub mod collect;
pub mod fairness;
pub mod groups;
pub mod host;
pub mod probe;

/// An error has its hint on a line of its own.
fn on_one_line(why: &str) -> String {
    why.replace("\n  hint: ", "; ")
}
