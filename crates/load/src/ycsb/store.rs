//! What a store is to the workload. A binding is a store; each thread has a session of its own.

mod basic;

use std::sync::Arc;

pub(super) use basic::Basic;

use super::hash::java_string;
use crate::failure::Failure;

/// How an operation ended, by the names that YCSB prints.
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
    /// made of the name and of a description.
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

/// A store that is open.
pub(super) trait Store: Send + Sync + Sized {
    /// What a thread holds of it.
    type Session<'s>: Session
    where
        Self: 's;

    /// A session for one thread.
    fn session(&self) -> Self::Session<'_>;

    /// Gives one reference back. The last one closes the store, which may take time.
    fn release(store: Arc<Self>) -> Result<(), Failure>;

    /// The first error that an operation met, as the store has worded it.
    fn trouble(&self) -> Option<String>;
}

/// The operations of one thread. Errors are statuses; their text is kept by the store.
pub(super) trait Session {
    /// Reads a record and takes it apart. `keep` gets a copy of its bytes where it is given.
    fn read(&mut self, key: &[u8], keep: Option<&mut Vec<u8>>) -> Status;

    /// Reads up to `count` records from `key` on and takes each apart; returns how many there
    /// were.
    fn scan(&mut self, key: &[u8], count: u64) -> (Status, u64);

    /// Replaces fields of a record that must be there.
    fn update(&mut self, key: &[u8], values: &[NewValue<'_>]) -> Status;

    /// Writes a whole record.
    fn insert(&mut self, key: &[u8], record: &[u8]) -> Status;
}
