//! Reports of synthetic runs, looked at from outside.

mod cases;
mod fixture;
mod page;
mod terminal;
mod vendored;
