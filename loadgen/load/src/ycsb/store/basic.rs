//! A store without storage (YCSB's `BasicDB` with `basicdb.verbose=false`): the cost of the client
//! itself, and its output without any store.

use std::sync::Arc;

use super::{NewValue, Session, Status, Store};
use crate::failure::Failure;

/// It has no state.
#[derive(Debug, Default)]
pub(in crate::ycsb) struct Basic;

impl Store for Basic {
    type Session<'s> = Self;

    fn session(&self) -> Self {
        Self
    }

    fn release(_: Arc<Self>) -> Result<(), Failure> {
        Ok(())
    }

    fn first_error(&self) -> Option<String> {
        None
    }
}

impl Session for Basic {
    fn read(&mut self, _: &[u8], keep: Option<&mut Vec<u8>>) -> Status {
        if let Some(record) = keep {
            record.clear();
        }
        Status::Ok
    }

    fn scan(&mut self, _: &[u8], _: u64) -> (Status, u64) {
        (Status::Ok, 0)
    }

    fn update(&mut self, _: &[u8], _: &[NewValue<'_>]) -> Status {
        Status::Ok
    }

    fn insert(&mut self, _: &[u8], _: &[u8]) -> Status {
        Status::Ok
    }
}
