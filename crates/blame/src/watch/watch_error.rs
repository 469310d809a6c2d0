//! Why nothing can be watched.

use std::fmt;

/// Why nothing can be watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchError {
    /// What was named cannot be watched: there is no such group or process.
    Target(String),
    /// This host or a policy of its kernel does not allow it.
    Host(String),
}

impl fmt::Display for WatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Target(reason) | Self::Host(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for WatchError {}
