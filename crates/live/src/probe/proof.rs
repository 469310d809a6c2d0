//! How each limit is tried: what the copy may do, what its twin does, and what that shows.

mod cpu;
mod cpuset;
mod devices;
mod huge_pages;
pub(crate) mod io;
pub(crate) mod io_weight;
mod memory;
mod pids;
mod quota_inside;
mod weight;

use std::path::Path;

use assay_sys::kernel::Error;

use crate::on_one_line;
use crate::probe::Verdict;
use crate::probe::beside::Beside;
use crate::probe::limit::Limit;

/// What a proof has shown.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Proof {
    pub(crate) verdict: Verdict,
    /// Why it is not enforced, or cannot be shown.
    pub(crate) reason: String,
    /// What the copy and the twin did.
    pub(crate) measured: Vec<String>,
}

impl Proof {
    pub(crate) fn enforced(measured: impl Into<String>) -> Self {
        Self { verdict: Verdict::Enforced, reason: String::new(), measured: vec![measured.into()] }
    }

    pub(crate) fn not_enforced(reason: impl Into<String>) -> Self {
        Self { verdict: Verdict::NotEnforced, reason: reason.into(), measured: Vec::new() }
    }

    pub(crate) fn not_provable(reason: impl Into<String>) -> Self {
        let reason = on_one_line(&reason.into());
        Self { verdict: Verdict::NotProvable, reason, measured: Vec::new() }
    }

    /// One proof of several: the worst verdict, and what all have seen.
    pub(crate) fn worst(proofs: Vec<Self>) -> Self {
        let measured = proofs.iter().flat_map(|one| one.measured.clone()).collect();
        let rank = |one: &Self| match one.verdict {
            Verdict::Enforced => 0,
            Verdict::NotProvable => 1,
            Verdict::NotEnforced => 2,
        };
        let worst = proofs.into_iter().max_by_key(rank);
        Self { measured, ..worst.unwrap_or_else(|| Self::not_provable("nothing was tried")) }
    }

    /// One proof of several tries. Those that show nothing do not count beside others; if others disagree, nothing is shown.
    pub(crate) fn agreed(proofs: Vec<Self>) -> Self {
        let tries = proofs.len();
        let count = |verdict| proofs.iter().filter(|one| one.verdict == verdict).count();
        let (yes, no) = (count(Verdict::Enforced), count(Verdict::NotEnforced));
        let verdict = match (yes, no) {
            (1.., 0) => Verdict::Enforced,
            (0, 1..) => Verdict::NotEnforced,
            _ => Verdict::NotProvable,
        };
        let last = proofs.into_iter().rfind(|one| yes > 0 && no > 0 || one.verdict == verdict);
        let last = last.unwrap_or_else(|| Self::not_provable("it was not tried"));
        let tried = format!("{tries} tries: {yes} enforced, {no} not enforced");
        match (yes, no) {
            (1.., 1..) => {
                Self { verdict, reason: "the tries disagree".to_owned(), ..last }.with(tried)
            }
            _ if tries > 1 => last.with(tried),
            _ => last,
        }
    }

    /// Adds what was seen.
    pub(crate) fn with(mut self, line: impl Into<String>) -> Self {
        self.measured.push(on_one_line(&line.into()));
        self
    }
}

/// Tries a limit of `amount`, whose file in `group` it is; a weight of I/O on what it divides.
pub(crate) fn prove(
    limit: Limit,
    beside: &Beside<'_>,
    group: &Path,
    amount: f64,
    divided: Option<&io_weight::Divided>,
) -> Result<Proof, Error> {
    match limit {
        Limit::MemoryMax => memory::max(beside, amount),
        Limit::MemoryHigh => memory::high(beside, amount),
        Limit::SwapMax => memory::swap(beside, amount),
        Limit::HugePages => huge_pages::max(beside, amount),
        Limit::PidsMax => pids::max(beside, amount),
        Limit::CpuMax if beside.is_inside() => quota_inside::prove(beside, group, amount),
        Limit::CpuMax => cpu::max(beside, amount),
        Limit::CpuWeight => cpu::weight(beside, group),
        Limit::CpusetCpus => cpuset::cpus(beside, group),
        Limit::IoMax | Limit::WriteMax => io::max(beside, group, limit),
        Limit::IoWeight => io_weight::prove(beside, divided),
        Limit::Devices => devices::rules(beside, group),
    }
}

/// Whether a probe in the group itself may show more than a copy. It would have to take all memory or tasks that are left to the group
/// before it met those limits.
pub(crate) const fn is_tried_inside(limit: Limit) -> bool {
    matches!(limit, Limit::CpuMax | Limit::CpusetCpus | Limit::Devices)
}

/// Memory that a proof may need beside the group, with a margin for what the group asks for meanwhile.
pub(crate) const MEMORY: f64 = (56 << 20) as f64;
/// The same of tasks.
pub(crate) const TASKS: f64 = 40.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tries_that_disagree_show_nothing_and_those_that_show_nothing_do_not_count() {
        let yes = || Proof::enforced("held");
        let no = || Proof::not_enforced("free");
        let open = || Proof::not_provable("busy");
        let of = |proofs: Vec<Proof>| Proof::agreed(proofs).verdict;
        assert_eq!(of(vec![yes(), open(), yes()]), Verdict::Enforced);
        assert_eq!(of(vec![open(), no()]), Verdict::NotEnforced);
        assert_eq!(of(vec![yes(), no(), yes()]), Verdict::NotProvable);
        assert_eq!(of(vec![open(), open()]), Verdict::NotProvable);
        assert_eq!(of(Vec::new()), Verdict::NotProvable);
        assert_eq!(Proof::agreed(vec![yes()]), yes());
    }
}
