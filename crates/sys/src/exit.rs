//! How a command ends: its exit code, and the one error that says why it could not do its work.

mod code;
mod error;
mod findings;

pub use code::Code;
pub use error::Error;
pub use findings::Findings;
