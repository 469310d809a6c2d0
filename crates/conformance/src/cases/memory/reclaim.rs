//! Reclaim on demand: memory.reclaim, or force_empty on v1.

use assay_kernel::Error;
use rustix::io::Errno;

use super::hog::{MIB, current, execute, limited, mib};
use crate::errno_name::errno_text;
use crate::fixture::Fixture;
use crate::outcome::{Outcome, Stop};

/// Requests reclaim of all memory; returns the kernel's answer and the remaining charge.
fn reclaim(fixture: &Fixture, bytes: u64) -> Result<(Option<Errno>, u64), Error> {
    let (file, value) = fixture.by_version(("memory.force_empty", 0), ("memory.reclaim", bytes));
    let answer = fixture.refusal("a", file, &value.to_string());
    Ok((answer, current(fixture, "a")?))
}

pub(super) fn takes_cache(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    const FILE: u64 = 24 * MIB;
    let disk = fixture.blank_disk(FILE)?;
    fixture.make("a")?;
    let mut probe = fixture.start("a", "memory")?;
    execute(&mut probe, &format!("read {FILE} {}", disk.node.display()))?;
    let before = current(fixture, "a")?;
    let (answer, after) = reclaim(fixture, 16 * MIB)?;
    Ok(judge_cache(before, after, answer))
}

/// The amount may differ from the request: "the kernel can over or under reclaim".
fn judge_cache(before: u64, after: u64, answer: Option<Errno>) -> Outcome {
    let evidence = format!(
        "{:.1} MiB charged, most of it page cache; requested 16 MiB or all: {}, {:.1} MiB left",
        mib(before),
        errno_text(answer),
        mib(after)
    );
    if before < 20 * MIB {
        return Outcome::void("the page cache was dropped before the request").with(evidence);
    }
    Outcome::holds(answer.is_none() && before - after.min(before) >= 12 * MIB, evidence)
}

/// Without swap, the memory of processes cannot be reclaimed.
pub(super) fn leaves_memory(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    limited(fixture, "a", 64 * MIB)?;
    let mut probe = fixture.start("a", "memory")?;
    execute(&mut probe, &format!("touch {}", 24 * MIB))?;
    let before = current(fixture, "a")?;
    let (answer, after) = reclaim(fixture, 16 * MIB)?;
    let lives = probe.ended_within(fixture.time(0.2)).is_none();
    Ok(judge_memory(fixture.is_v2(), before, after, answer, lives))
}

/// memory.reclaim fails with EAGAIN if less was freed than requested; force_empty has no such
/// error.
fn judge_memory(
    is_v2: bool,
    before: u64,
    after: u64,
    answer: Option<Errno>,
    lives: bool,
) -> Outcome {
    let evidence = format!(
        "{:.1} MiB of a process without swap, requested 16 MiB or all: {}, {:.1} MiB left, the \
         process {}",
        mib(before),
        errno_text(answer),
        mib(after),
        if lives { "survived" } else { "died" }
    );
    let reported = if is_v2 { answer == Some(Errno::AGAIN) } else { true };
    Outcome::holds(reported && lives && after >= 24 * MIB, evidence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Verdict;

    #[test]
    fn success_without_freeing_is_broken() {
        assert_eq!(judge_cache(25 * MIB, 9 * MIB, None).verdict, Verdict::Kept);
        assert_eq!(judge_cache(25 * MIB, 25 * MIB, None).verdict, Verdict::Broken);
        assert_eq!(judge_cache(2 * MIB, MIB, None).verdict, Verdict::Void);
    }

    #[test]
    fn reclaiming_process_memory_without_swap_is_broken() {
        let judge = |after, answer, lives| judge_memory(true, 25 * MIB, after, answer, lives);
        assert_eq!(judge(25 * MIB, Some(Errno::AGAIN), true).verdict, Verdict::Kept);
        assert_eq!(judge(25 * MIB, None, true).verdict, Verdict::Broken);
        assert_eq!(judge(MIB, Some(Errno::AGAIN), false).verdict, Verdict::Broken);
    }
}
