//! Operations and the threads that execute them.

mod aio;
mod counters;
mod data;
mod entries;
mod events;
pub(super) mod kind;
mod limits;
mod run;
mod signals;
mod slots;
mod worker;

pub(super) use counters::Total;
pub(super) use run::Run;
pub(super) use slots::SLOTS;

#[cfg(test)]
mod tests;
