//! Diagnostics about anything that a user has written: code, severity, location, what was expected,
//! and what to write instead. Rendered as text for people and as JSON for editors.
//!
//! Nothing is printed here: rendering returns a `String`.

mod json;
mod location;
mod model;
mod text;

pub use json::{Diagnostics, Located, LocatedLabel, document};
pub use location::Position;
pub use model::{Diagnostic, Label, Severity};
pub use text::render;
