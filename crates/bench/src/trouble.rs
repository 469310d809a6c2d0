//! Why a figure could not be measured.

use std::fmt;

/// What kept the bench from measuring.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The user asked to stop.
    Interrupted(&'static str),
    /// Anything else, as a sentence with what to do about it.
    Failed(String),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interrupted(signal) => write!(f, "interrupted by {signal}"),
            Self::Failed(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Trouble {}

impl Trouble {
    /// A failure described by an error of another room.
    pub(crate) fn of(error: &dyn fmt::Display) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<assay_kernel::Error> for Trouble {
    fn from(error: assay_kernel::Error) -> Self {
        Self::of(&error)
    }
}

impl From<assay_record::Error> for Trouble {
    fn from(error: assay_record::Error) -> Self {
        Self::of(&error)
    }
}
