//! One kind of diagnostic for everything a user has written: code, severity, place, what was
//! expected, what to write instead. Rendered as text for people and as JSON for editors.
//!
//! Nothing here prints by itself: rendering returns a `String`.

mod json;
mod model;
mod place;
mod suggest;
mod text;

pub use json::to_json;
pub use model::{Diagnostic, Label, Severity};
pub use suggest::closest;
pub use text::render;
