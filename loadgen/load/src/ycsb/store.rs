//! The interface of a store. A binding implements a store; each thread has its own session.

mod basic;

use std::sync::Arc;

pub(super) use basic::Basic;

use super::hash::java_string;
use crate::failure::Failure;

/// The status of an operation, with the names that YCSB prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    Ok,
    Error,
    NotFound,
    UnexpectedState,
}

impl Status {
    pub(super) const ALL: [Self; 4] =
        [Self::Ok, Self::Error, Self::NotFound, Self::UnexpectedState];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Ok => "OK",
            Self::Error => "ERROR",
            Self::NotFound => "NOT_FOUND",
            Self::UnexpectedState => "UNEXPECTED_STATE",
        }
    }

    /// The Java hash code of YCSB's `Status` object, which orders the counts in the output. It is
    /// computed from the name and a description.
    pub(super) fn java_code(self) -> i32 {
        let description = match self {
            Self::Ok => "The operation completed successfully.",
            Self::Error => "The operation failed.",
            Self::NotFound => "The requested record was not found.",
            Self::UnexpectedState => {
                "The operation reported success, but the result was not as expected."
            }
        };
        31i32
            .wrapping_add(java_string(description))
            .wrapping_mul(31)
            .wrapping_add(java_string(self.name()))
    }
}

/// New values of fields: name and value.
pub(super) type NewValue<'v> = (&'v [u8], &'v [u8]);

/// An open store.
pub(super) trait Store: Send + Sync + Sized {
    /// The session of a thread.
    type Session<'s>: Session
    where
        Self: 's;

    /// A session for one thread.
    fn session(&self) -> Self::Session<'_>;

    /// Releases one reference. The last one closes the store, which may take time.
    fn release(store: Arc<Self>) -> Result<(), Failure>;

    /// The text of the store's first error.
    fn first_error(&self) -> Option<String>;
}

/// The operations of one thread. Errors are statuses; the store keeps their text.
pub(super) trait Session {
    /// Reads and parses a record. `keep` receives a copy of its bytes.
    fn read(&mut self, key: &[u8], keep: Option<&mut Vec<u8>>) -> Status;

    /// Reads and parses up to `count` records from `key` on; returns their number.
    fn scan(&mut self, key: &[u8], count: u64) -> (Status, u64);

    /// Replaces fields of an existing record.
    fn update(&mut self, key: &[u8], values: &[NewValue<'_>]) -> Status;

    /// Writes a complete record.
    fn insert(&mut self, key: &[u8], record: &[u8]) -> Status;
}
