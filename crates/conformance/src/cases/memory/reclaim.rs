//! Reclaim on demand: memory.reclaim, and force_empty on v1.

use assay_kernel::Error;
use rustix::io::Errno;

use super::hog::{MIB, current, limited, mib, order};
use crate::errno_name::words;
use crate::fixture::Fixture;
use crate::outcome::Outcome;

/// Asks for all that the group has, and says what the kernel answered and what is left.
fn ask(ground: &Fixture, bytes: u64) -> Result<(Option<Errno>, u64), Error> {
    let (file, value) = ground.by_version(("memory.force_empty", 0), ("memory.reclaim", bytes));
    let answer = ground.refusal("a", file, &value.to_string());
    Ok((answer, current(ground, "a")?))
}

pub(super) fn takes_cache(ground: &mut Fixture) -> Result<Outcome, Error> {
    const FILE: u64 = 24 * MIB;
    let disk = ground.blank_disk(FILE)?;
    ground.make("a")?;
    let mut probe = ground.start("a", "memory")?;
    order(&mut probe, &format!("read {FILE} {}", disk.node.display()))?;
    let before = current(ground, "a")?;
    let (answer, after) = ask(ground, 16 * MIB)?;
    Ok(judge_cache(before, after, answer))
}

/// More or less than was asked for may go, "the kernel can over or under reclaim".
fn judge_cache(before: u64, after: u64, answer: Option<Errno>) -> Outcome {
    let seen = format!(
        "{:.1} MiB charged, most of it page cache; asked for 16 MiB or all: {}, {:.1} MiB left",
        mib(before),
        words(answer),
        mib(after)
    );
    if before < 20 * MIB {
        return Outcome::void("the page cache was gone before it was asked for").with(seen);
    }
    Outcome::holds(answer.is_none() && before - after.min(before) >= 12 * MIB, seen)
}

/// Memory of processes has nowhere to go without swap.
pub(super) fn leaves_memory(ground: &mut Fixture) -> Result<Outcome, Error> {
    limited(ground, "a", 64 * MIB)?;
    let mut probe = ground.start("a", "memory")?;
    order(&mut probe, &format!("touch {}", 24 * MIB))?;
    let before = current(ground, "a")?;
    let (answer, after) = ask(ground, 16 * MIB)?;
    let lives = probe.ended_within(ground.time(0.2)).is_none();
    Ok(judge_memory(ground.is_v2(), before, after, answer, lives))
}

/// memory.reclaim says EAGAIN when less was freed than asked for; force_empty has no such answer.
fn judge_memory(
    is_v2: bool,
    before: u64,
    after: u64,
    answer: Option<Errno>,
    lives: bool,
) -> Outcome {
    let seen = format!(
        "{:.1} MiB of a process without swap, asked for 16 MiB or all: {}, {:.1} MiB left, the \
         process {}",
        mib(before),
        words(answer),
        mib(after),
        if lives { "lives" } else { "died" }
    );
    let said = if is_v2 { answer == Some(Errno::AGAIN) } else { true };
    Outcome::holds(said && lives && after >= 24 * MIB, seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Verdict;

    #[test]
    fn a_kernel_that_says_yes_and_frees_nothing_is_broken() {
        assert_eq!(judge_cache(25 * MIB, 9 * MIB, None).verdict, Verdict::Kept);
        assert_eq!(judge_cache(25 * MIB, 25 * MIB, None).verdict, Verdict::Broken);
        assert_eq!(judge_cache(2 * MIB, MIB, None).verdict, Verdict::Void);
    }

    #[test]
    fn memory_that_goes_without_swap_is_broken() {
        let judge = |after, answer, lives| judge_memory(true, 25 * MIB, after, answer, lives);
        assert_eq!(judge(25 * MIB, Some(Errno::AGAIN), true).verdict, Verdict::Kept);
        assert_eq!(judge(25 * MIB, None, true).verdict, Verdict::Broken);
        assert_eq!(judge(MIB, Some(Errno::AGAIN), false).verdict, Verdict::Broken);
    }
}
