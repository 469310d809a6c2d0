//! Reports of synthetic runs, looked at from outside.

mod cases;
mod fixture;
#[cfg(test)]
mod page;
#[cfg(test)]
mod terminal;
#[cfg(test)]
mod tuning;
#[cfg(test)]
mod vendored;
