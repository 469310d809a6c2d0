//! Does the kernel do what its document says? One small real case for each behaviour of a
//! controller, judged by its effect and not by what a file reads.
//!
//! A [`Case`] is a promise of the kernel's documentation and a function that puts it to the test
//! in groups of its own; [`run`] runs cases, each in a fresh [`Fixture`], and [`Document`] is what
//! comes out. The small processes that cases put into their groups are this program's own, in
//! [`probe`].

mod case;
mod cases;
mod disk;
mod document;
mod errno_name;
mod fixture;
mod interval;
mod merge;
mod need;
mod outcome;
mod run;
mod running;
mod table;
mod watchdog;
mod windows;

pub mod probe;

pub use case::Case;
pub use cases::{all, select};
pub use document::{CaseRecord, Document, SCHEMA};
pub use errno_name::{errno_name, words};
pub use fixture::Fixture;
pub use merge::merge;
pub use need::Need;
pub use outcome::{Outcome, Verdict};
pub use run::{Finished, Request, run};
pub use table::{list, table};
