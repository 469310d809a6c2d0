//! Tasks: one more is refused.

use assay_conform::Running;
use assay_sys::kernel::Error;
use rustix::io::Errno;

use super::Proof;
use crate::probe::beside::{Beside, COPY, TWIN};

/// A copy may have no more.
const MOST: f64 = 8.0;
/// A probe forks so many.
const FORKS: u32 = 12;

pub(super) fn max(beside: &Beside<'_>, amount: f64) -> Result<Proof, Error> {
    let limit = amount.min(MOST) as u32;
    let words = format!("fork count={FORKS}");
    let twin = forks(&mut beside.start(TWIN, &words)?)?;
    // The probe itself is one of them.
    beside.write(COPY, "pids.max", &limit.max(1).to_string())?;
    let copy = forks(&mut beside.start(COPY, &words)?)?;
    Ok(judge(limit.max(1), copy, twin))
}

/// The number of children, and the error of the next fork.
fn forks(probe: &mut Running) -> Result<(u32, Option<Errno>), Error> {
    probe.send("go");
    Ok((probe.value("forked ")?, probe.refusal()?))
}

fn judge(limit: u32, copy: (u32, Option<Errno>), twin: (u32, Option<Errno>)) -> Proof {
    if let (forked, Some(error)) = twin {
        return Proof::not_provable(format!(
            "the twin without a limit was refused ({error}) after {forked} forks, too"
        ));
    }
    let seen = format!("copy with {limit} tasks: {} forks", copy.0);
    let twin = format!("twin without a limit: {} forks", twin.0);
    match copy {
        (forked, Some(Errno::AGAIN)) if forked + 1 == limit => {
            Proof::enforced(format!("{seen}, the next one was refused")).with(twin)
        }
        (forked, None) => {
            Proof::not_enforced(format!("a copy with {limit} tasks forked {forked} times"))
                .with(twin)
        }
        (_, Some(error)) => {
            Proof::not_provable(format!("a fork failed for another reason: {error}"))
                .with(seen)
                .with(twin)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::Verdict;

    #[test]
    fn only_a_refusal_at_the_limit_shows_it() {
        let all = (12, None);
        assert_eq!(judge(8, (7, Some(Errno::AGAIN)), all).verdict, Verdict::Enforced);
        assert_eq!(judge(8, (12, None), all).verdict, Verdict::NotEnforced);
        assert_eq!(judge(8, (3, Some(Errno::AGAIN)), all).verdict, Verdict::NotProvable);
        assert_eq!(judge(8, (7, Some(Errno::NOMEM)), all).verdict, Verdict::NotProvable);
        assert_eq!(
            judge(8, (7, Some(Errno::AGAIN)), (9, Some(Errno::AGAIN))).verdict,
            Verdict::NotProvable
        );
    }
}
