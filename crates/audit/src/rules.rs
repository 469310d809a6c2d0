//! The rules, one family a file.

mod accounting;
mod bounds;
mod cpuset;
mod io_files;
mod io_paths;
mod io_weights;
mod kernel_state;
mod kubelet;
mod limits;
mod protection;
mod reclaim;
mod state;
mod swap;
mod threads;
mod translated;
mod units;
mod weights;

use crate::rule::Rule;

/// Every rule, in the order of its family.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    let families: [&[Rule]; 17] = [
        io_weights::RULES,
        io_files::RULES,
        io_paths::RULES,
        protection::RULES,
        reclaim::RULES,
        limits::RULES,
        swap::RULES,
        cpuset::RULES,
        weights::RULES,
        threads::RULES,
        accounting::RULES,
        bounds::RULES,
        kernel_state::RULES,
        state::RULES,
        translated::RULES,
        units::RULES,
        kubelet::RULES,
    ];
    families.into_iter().flatten()
}

/// The rule of a code, in any case.
#[must_use]
pub fn find(code: &str) -> Option<&'static Rule> {
    all().find(|rule| rule.code.eq_ignore_ascii_case(code))
}

pub use io_files::PRIORITY;
pub(crate) use limits::cpus;
pub(crate) use protection::amount;
pub use threads::CPU_TIME;
