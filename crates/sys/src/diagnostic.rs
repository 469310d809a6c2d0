//! Diagnostics about anything that a user has written: code, severity, location, what was expected,
//! and what to write instead.

mod json;
mod location;
mod model;

pub use json::{Diagnostics, Located, LocatedLabel, document};
pub use location::{Position, clamp};
pub use model::{Diagnostic, Label, Severity};
