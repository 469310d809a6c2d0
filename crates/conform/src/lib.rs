//! Tests of documented kernel behaviour: one small real case for each behaviour of a controller,
//! judged by its effect and not by what a file reads.
//!
//! A [`Case`] is a promise of the kernel's documentation and a function that tests it in its own
//! groups; [`run`] runs cases, each in a fresh [`Fixture`], and returns a [`Document`]. The small
//! processes that cases put into their groups are part of this program, see [`probe`].

mod case;
mod cases;
mod document;
mod errno_name;
mod fixture;
mod ktap;
mod outcome;
pub mod passport;
pub mod request;
mod run;
mod running;
mod table;
mod windows;

pub mod probe;

pub use case::{Case, Need};
pub use cases::{all, select};
pub use document::{CaseRecord, Document, SCHEMA};
pub use errno_name::{errno_numbered, errno_of, errno_text};
pub use fixture::Fixture;
pub use ktap::ktap;
pub use outcome::{Outcome, Stop, Verdict};
pub use run::{Finished, Request, Watchdog, run};
pub use running::Running;
pub use table::{list, progress, table};
pub use windows::{Interval, Window, read_windows};
