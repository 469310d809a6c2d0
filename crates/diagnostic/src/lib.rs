//! One kind of diagnostic for everything a user has written: code, severity, place, what was
//! expected, what to write instead. Rendered as text for people and as JSON for editors.
//!
//! Nothing here prints by itself: rendering returns a `String`.

mod model;

pub use model::{Diagnostic, Label, Severity};
