//! Huge pages: a process that touches one more ends in SIGBUS.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::time::Duration;

use assay_sys::kernel::{Error, Root};
use rustix::process::Signal;

use super::Proof;
use crate::probe::beside::{Beside, COPY, TWIN};

const PAGE: u64 = 2 << 20;
const POOL: &str = "/sys/kernel/mm/hugepages/hugepages-2048kB";
/// A copy has no more pages, and a probe touches one more.
const MOST: u64 = 1;

pub(super) fn max(beside: &Beside<'_>, amount: f64) -> Result<Proof, Error> {
    let limit = (amount as u64 / PAGE).min(MOST);
    let free = free(beside.root)?;
    if free <= limit {
        let remedy = "more with `sysctl vm.nr_hugepages`";
        return Ok(Proof::not_provable(format!(
            "{free} huge pages are free, and a proof needs {}: {remedy}",
            limit + 1
        )));
    }
    let twin = touch(beside, TWIN, limit + 1)?;
    let file = if beside.is_v2() { "hugetlb.2MB.max" } else { "hugetlb.2MB.limit_in_bytes" };
    beside.write(COPY, file, &(limit * PAGE).to_string())?;
    let copy = touch(beside, COPY, limit + 1)?;
    let met = match beside.is_v2() {
        true => beside.keyed(COPY, "hugetlb.2MB.events", "max"),
        false => beside.read(COPY, "hugetlb.2MB.failcnt")?.parse().unwrap_or(0),
    };
    Ok(judge(limit, copy, twin, met))
}

/// Pages that nobody has or has reserved.
fn free(root: &Root) -> Result<u64, Error> {
    let number = |file: &str| -> Result<u64, Error> {
        Ok(root.read_trimmed(Path::new(POOL).join(file))?.parse().unwrap_or(0))
    };
    Ok(number("free_hugepages")?.saturating_sub(number("resv_hugepages")?))
}

/// How many of so many pages a probe touched, and whether SIGBUS ended it.
fn touch(beside: &Beside<'_>, group: usize, pages: u64) -> Result<(u64, bool), Error> {
    let mut probe = beside.start(group, &format!("huge page={PAGE}"))?;
    probe.ask(&format!("promise {pages}"))?;
    probe.send("touch");
    let mut touched = 0;
    while let Some(line) = probe.line()? {
        if line == "touched" {
            return Ok((touched, false));
        }
        touched += 1;
    }
    let ended = probe.ended_within(Duration::from_secs(1));
    Ok((touched, ended.and_then(|ended| ended.signal()) == Some(Signal::BUS.as_raw())))
}

fn judge(limit: u64, copy: (u64, bool), twin: (u64, bool), met: u64) -> Proof {
    let all = limit + 1;
    if twin != (all, false) {
        return Proof::not_provable(format!("the twin without a limit had {} of {all}", twin.0));
    }
    let twin = format!("twin without a limit: {all} huge pages");
    match copy {
        (touched, false) if touched == all => {
            Proof::not_enforced(format!("a copy with {limit} huge pages had {all}")).with(twin)
        }
        // Another process may take the last free page, which ends in SIGBUS, too; the group counts its own refusals.
        (touched, true) if touched == limit && met > 0 => {
            Proof::enforced(format!("copy with {limit} huge pages: SIGBUS at one more")).with(twin)
        }
        _ => Proof::not_provable("the copy ended for another reason than its limit").with(twin),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::Verdict;

    #[test]
    fn only_a_counted_sigbus_at_the_limit_shows_it() {
        let judge = |copy, twin, met| judge(1, copy, twin, met).verdict;
        assert_eq!(judge((1, true), (2, false), 1), Verdict::Enforced);
        assert_eq!(judge((2, false), (2, false), 0), Verdict::NotEnforced);
        assert_eq!(judge((1, true), (2, false), 0), Verdict::NotProvable, "the pool ran out");
        assert_eq!(judge((0, true), (2, false), 1), Verdict::NotProvable);
        assert_eq!(judge((1, true), (1, true), 1), Verdict::NotProvable);
    }
}
