//! pids: how many tasks a group may have.

use assay_kernel::Error;
use rustix::io::Errno;

use crate::answer::words;
use crate::case::Case;
use crate::ground::Ground;
use crate::need::Need;
use crate::outcome::Outcome;

const DOCUMENT: &str = "Documentation/admin-guide/cgroup-v2.rst, PID Interface Files";

pub(super) const CASES: &[Case] = &[
    Case {
        controller: "pids",
        behaviour: "fork-above-the-limit-fails",
        promise: "A fork that would exceed pids.max fails with EAGAIN.",
        documented: DOCUMENT,
        needs: &[Need::Controller("pids")],
        run: fork_above_the_limit,
    },
    Case {
        controller: "pids",
        behaviour: "forks-far-below-the-limit-succeed",
        promise: "A limit far above what a group needs refuses nothing and counts nothing.",
        documented: DOCUMENT,
        needs: &[Need::Controller("pids")],
        run: forks_below_the_limit,
    },
];

/// What a probe of `fork` said: how many children it got, and the refusal.
fn forks(ground: &Ground, limit: &str, attempts: u32) -> Result<(u32, Option<Errno>), Error> {
    ground.make("a")?;
    ground.write("a", "pids.max", limit)?;
    let mut probe = ground.start("a", &format!("fork count={attempts}"))?;
    probe.say("go");
    let forked = probe.line()?.unwrap_or_default();
    let refused = probe.line()?.unwrap_or_default();
    let number = |text: &str, word: &str| text.strip_prefix(word)?.trim().parse::<i32>().ok();
    let forked = number(&forked, "forked").unwrap_or(0).unsigned_abs();
    Ok((forked, number(&refused, "refused").map(Errno::from_raw_os_error)))
}

fn fork_above_the_limit(ground: &mut Ground) -> Result<Outcome, Error> {
    let (forked, refused) = forks(ground, "4", 8)?;
    Ok(judge_refusal(4, forked, refused))
}

/// The probe itself is one of the tasks that the limit allows.
fn judge_refusal(limit: u32, forked: u32, refused: Option<Errno>) -> Outcome {
    let seen =
        format!("pids.max {limit}: {forked} children beside their parent, then {}", words(refused));
    Outcome::holds(forked + 1 == limit && refused == Some(Errno::AGAIN), seen)
}

fn forks_below_the_limit(ground: &mut Ground) -> Result<Outcome, Error> {
    let (forked, refused) = forks(ground, "1000", 8)?;
    let events = ground.keyed("a", "pids.events", "max")?;
    let seen = format!("pids.max 1000: {forked} of 8 children, refusals counted: {events}");
    Ok(Outcome::holds(forked == 8 && refused.is_none() && events == 0, seen))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Verdict;

    #[test]
    fn a_kernel_that_lets_one_more_through_or_answers_otherwise_is_broken() {
        assert_eq!(judge_refusal(4, 3, Some(Errno::AGAIN)).verdict, Verdict::Kept);
        assert_eq!(judge_refusal(4, 4, Some(Errno::AGAIN)).verdict, Verdict::Broken);
        assert_eq!(judge_refusal(4, 3, Some(Errno::NOMEM)).verdict, Verdict::Broken);
        assert_eq!(judge_refusal(4, 8, None).verdict, Verdict::Broken);
    }
}
