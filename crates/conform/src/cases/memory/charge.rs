//! Memory charges: which group, how long, what its counters show, how they are reclaimed on demand, and who is told.

use std::time::Duration;

use assay_sys::kernel::cgroup1_eventfd::MemoryEvent;
use assay_sys::kernel::poll_event::WakeFile;

use super::*;

const RECLAIM: Need = Need::FileBy("memory.force_empty", "memory.reclaim");
const PEAK: Need = Need::FileBy("memory.max_usage_in_bytes", "memory.peak");

pub(crate) const CASES: &[Case] = &[
    MEMORY.needing(&[Need::Controller("memory"), RECLAIM, Need::Loop]).case(
        "reclaim-takes-page-cache",
        "memory.reclaim, or force_empty on v1, takes page cache from a group.",
        |fixture| {
            const FILE: u64 = 24 * MIB;
            let disk = fixture.blank_disk(FILE)?;
            let mut probe = fixture.start_in("a", "memory")?;
            execute(&mut probe, &format!("read {FILE} {}", disk.node.display()))?;
            let before = current(fixture, "a")?;
            let (answer, after) = reclaim(fixture, 16 * MIB)?;
            Ok(judge_cache(before, after, answer))
        },
    ),
    MEMORY.needing(&[Need::Controller("memory"), RECLAIM]).case(
        "reclaim-leaves-memory-without-swap",
        "Reclaim on demand cannot take the memory of processes without swap; v2 reports the \
         failure.",
        |fixture| {
            limited(fixture, "a", 64 * MIB)?;
            let mut probe = hold(fixture, "a", 24 * MIB)?;
            let before = current(fixture, "a")?;
            let (answer, after) = reclaim(fixture, 16 * MIB)?;
            let lives = probe.ended_within(fixture.time(0.2)).is_none();
            Ok(judge_memory(fixture.is_v2(), [before, after], answer, lives))
        },
    ),
    MEMORY.case("charges-return", "Memory is uncharged when its process ends.", |fixture| {
        fixture.make("a")?;
        let probe = hold(fixture, "a", 32 * MIB)?;
        let full = current(fixture, "a")?;
        drop(probe);
        fixture.wait_for(3.0, || Ok(current(fixture, "a")? < 4 * MIB))?;
        Ok(judge_return(full, current(fixture, "a")?))
    }),
    MEMORY.needing(&[Need::Controller("memory"), PEAK]).case(
        "peak-holds-the-maximum",
        "memory.peak (max_usage_in_bytes on v1) keeps the highest charge.",
        |fixture| {
            fixture.make("a")?;
            let mut probe = hold(fixture, "a", 48 * MIB)?;
            probe.ask("drop")?;
            touch(&mut probe, 8 * MIB)?;
            let file = fixture.by_version("memory.max_usage_in_bytes", "memory.peak");
            Ok(judge_peak(fixture.number("a", file)?, current(fixture, "a")?))
        },
    ),
    // Before Linux 6.12 the file was read-only.
    MEMORY.needing(&[Need::OnV2("memory"), Need::Kernel(6, 12), Need::File("memory.peak")]).case(
        "a-reset-of-peak-is-its-descriptors-own",
        "A write to memory.peak resets it to the current charge for the same file descriptor, and \
         for no other.",
        |fixture| {
            fixture.make("a")?;
            let mut probe = hold(fixture, "a", 48 * MIB)?;
            probe.ask("drop")?;
            let path = fixture.directory("a").join("memory.peak");
            // Any text that is written resets it.
            let mut own = WakeFile::trigger(fixture.root, &path, "reset")?;
            touch(&mut probe, 8 * MIB)?;
            let since = own.read()?.trim().parse().unwrap_or(0);
            Ok(judge_reset(since, fixture.number("a", "memory.peak")?))
        },
    ),
    MEMORY.case(
        "charges-stay-when-a-process-moves",
        "Memory stays charged to the group in which it was first used.",
        |fixture| {
            fixture.make_each(&["a", "b"])?;
            let both = || Ok::<_, Error>([current(fixture, "a")?, current(fixture, "b")?]);
            let mut probe = hold(fixture, "a", 32 * MIB)?;
            fixture.move_to("b", &probe)?;
            let after_move = both()?;
            execute(&mut probe, "again")?;
            touch(&mut probe, 16 * MIB)?;
            Ok(judge_migration(after_move, both()?))
        },
    ),
    CACHE.case(
        "the-first-reader-is-charged",
        "Page cache is charged to the group that read it first.",
        |fixture| {
            // Two groups read the same part of a disk, one after the other.
            const FILE: u64 = 24 * MIB;
            let disk = fixture.blank_disk(FILE)?;
            let mut readers = Vec::new();
            for name in ["a", "b"] {
                let mut probe = fixture.start_in(name, "memory")?;
                execute(&mut probe, &format!("read {FILE} {}", disk.node.display()))?;
                readers.push(probe);
            }
            Ok(judge_readers(FILE, cache(fixture, "a")?, cache(fixture, "b")?))
        },
    ),
    MEMORY.needing(&[Need::Controller("memory"), Need::File("memory.numa_stat")]).case(
        "numa-stat-adds-up",
        "Anonymous memory by node adds up to the group's total.",
        |fixture| {
            fixture.make("a")?;
            let _probe = hold(fixture, "a", 32 * MIB)?;
            // Both are flushed periodically, but not at the same time.
            let mut sums = (0, 0);
            fixture.wait_for(3.0, || {
                let nodes = anonymous(&fixture.read("a", "memory.numa_stat")?, fixture.is_v2());
                let whole = fixture.keyed("a", "memory.stat", fixture.by_version("rss", "anon"))?;
                sums = (nodes, whole);
                Ok(nodes == whole)
            })?;
            Ok(judge_nodes(sums.0, sums.1))
        },
    ),
    V2.case("events-wake-a-poller", "A change of memory.events wakes its pollers.", |fixture| {
        limited(fixture, "a", 32 * MIB)?;
        let path = fixture.directory("a").join("memory.events");
        let mut events = WakeFile::open(fixture.root, &path)?;
        // Changes before the first read are not notified.
        events.read()?;
        let what = "memory.events, limit reached";
        let woken = woken(fixture, what, 64 * MIB, |limit| events.wait(limit))?;
        Ok(woken.void_if(refusals(fixture, "a")? == 0, "the limit was never reached"))
    }),
    V1.case(
        "a-threshold-wakes-an-eventfd",
        "Usage that crosses a threshold wakes the eventfd registered for it.",
        |fixture| {
            fixture.make("a")?;
            let (group, threshold) = (fixture.directory("a"), (24 * MIB).to_string());
            let file = "memory.usage_in_bytes";
            let event = MemoryEvent::register(fixture.root, &group, file, &threshold)?;
            let what = "a threshold of 24 MiB, 8 and then 40 MiB used";
            Ok(woken(fixture, what, 32 * MIB, |limit| event.wait(limit))?)
        },
    ),
    V1.case(
        "oom-wakes-an-eventfd",
        "Being out of memory wakes the eventfd registered for it.",
        |fixture| {
            limited(fixture, "a", 32 * MIB)?;
            let group = fixture.directory("a");
            let event = MemoryEvent::register(fixture.root, &group, "memory.oom_control", "")?;
            let what = "memory.oom_control, out of memory";
            Ok(woken(fixture, what, 64 * MIB, |limit| event.wait(limit))?)
        },
    ),
];

/// Requests reclaim of all memory; returns the kernel's answer and the remaining charge.
fn reclaim(fixture: &Fixture, bytes: u64) -> Result<(Option<Errno>, u64), Error> {
    let (file, value) = fixture.by_version(("memory.force_empty", 0), ("memory.reclaim", bytes));
    let answer = fixture.refusal("a", file, &value.to_string());
    Ok((answer, current(fixture, "a")?))
}

/// The amount may differ from the request: "the kernel can over or under reclaim".
fn judge_cache(before: u64, after: u64, answer: Option<Errno>) -> Outcome {
    let evidence = format!(
        "{:.1} MiB charged, most of it page cache; requested 16 MiB or all: {}, {:.1} MiB left",
        mib(before),
        errno_text(answer),
        mib(after)
    );
    Outcome::holds(answer.is_none() && before.saturating_sub(after) >= 12 * MIB, evidence)
        .void_if(before < 20 * MIB, "the page cache was dropped before the request")
}

/// memory.reclaim fails with EAGAIN if less was freed than requested; force_empty has no such error.
fn judge_memory(
    is_v2: bool,
    [before, after]: [u64; 2],
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
    let reported = !is_v2 || answer == Some(Errno::AGAIN);
    Outcome::holds(reported && lives && after >= 24 * MIB, evidence)
}

/// A few pages of kernel memory may wait for a grace period.
fn judge_return(full: u64, empty: u64) -> Outcome {
    let evidence = format!(
        "{:.1} MiB charged while a process holds 32 MiB, {:.1} MiB after its end",
        mib(full),
        mib(empty)
    );
    Outcome::holds(full >= 32 * MIB && empty < 4 * MIB, evidence)
}

fn judge_peak(peak: u64, now: u64) -> Outcome {
    let (now_mib, peak_mib) = (mib(now), mib(peak));
    let evidence = format!(
        "48 MiB released, then 8 MiB allocated: now {now_mib:.1} MiB, peak {peak_mib:.1} MiB"
    );
    Outcome::holds((48 * MIB..56 * MIB).contains(&peak) && now < 24 * MIB, evidence)
}

/// The maximum since a reset, which only its own descriptor sees.
fn judge_reset(since: u64, ever: u64) -> Outcome {
    let evidence = format!(
        "48 MiB released, a reset, then 8 MiB allocated: {:.1} MiB by the descriptor of the reset, \
         {:.1} MiB by another",
        mib(since),
        mib(ever)
    );
    Outcome::holds((8 * MIB..24 * MIB).contains(&since) && ever >= 48 * MIB, evidence)
}

/// Charges of the old and of the new group, after the move and at the end.
fn judge_migration(after_move: [u64; 2], at_end: [u64; 2]) -> Outcome {
    let ([old, new], [old_at_end, new_at_end]) = (after_move.map(mib), at_end.map(mib));
    let evidence = format!(
        "after the move of a process with 32 MiB: old group {old:.1} MiB, new one {new:.1} MiB; after it \
         wrote to them again and took 16 MiB more: {old_at_end:.1} and {new_at_end:.1} MiB"
    );
    let stays = old >= 32.0 && old_at_end >= 32.0;
    Outcome::holds(stays && new < 4.0 && (16.0..24.0).contains(&new_at_end), evidence)
}

fn judge_readers(file: u64, first: u64, second: u64) -> Outcome {
    let evidence = format!(
        "both read the same {:.0} MiB: page cache of the first group {:.1} MiB, of the second \
         {:.1} MiB",
        mib(file),
        mib(first),
        mib(second)
    );
    let is_dropped = first + second < file / 10 * 9;
    Outcome::holds(second < file / 10, evidence)
        .void_if(is_dropped, "the page cache was dropped while it was measured")
}

/// Sum of the line `anon` over nodes, in bytes. On v1 it counts pages, `anon=8192 N0=8192`.
fn anonymous(text: &str, is_v2: bool) -> u64 {
    let page = if is_v2 { 1 } else { 4096 };
    let line = text.lines().find(|line| line.starts_with(if is_v2 { "anon " } else { "anon=" }));
    let nodes = line.unwrap_or_default().split_whitespace().filter_map(|word| {
        let (node, amount) = word.strip_prefix('N')?.split_once('=')?;
        node.parse::<u16>().ok()?;
        amount.parse::<u64>().ok()
    });
    nodes.sum::<u64>() * page
}

fn judge_nodes(nodes: u64, whole: u64) -> Outcome {
    let evidence = format!(
        "anonymous memory by node, sum {:.2} MiB; total: {:.2} MiB",
        mib(nodes),
        mib(whole)
    );
    let off = nodes.abs_diff(whole) as f64 / whole.max(1) as f64;
    let verdict = if nodes == whole && whole >= 32 * MIB {
        Verdict::Kept
    } else if off > 0.1 || whole < 30 * MIB {
        Verdict::Broken
    } else {
        Verdict::Undecided
    };
    let undecided = "the two sums never matched in one reading";
    Outcome::decided(verdict, evidence, "the sums differ", undecided)
}

/// Takes 8 MiB, which must not wake the waiter, and then as much as must.
fn woken(
    fixture: &Fixture,
    what: &str,
    then: u64,
    mut wait: impl FnMut(Duration) -> Result<bool, Error>,
) -> Result<Outcome, Error> {
    let mut probe = hold(fixture, "a", 8 * MIB)?;
    let early = wait(fixture.time(0.2))?;
    touch(&mut probe, then)?;
    Ok(judge_woken(what, early, wait(fixture.time(2.0))?))
}

fn judge_woken(what: &str, early: bool, at_event: bool) -> Outcome {
    let [before, at] = [early, at_event].map(|woke| if woke { "woke" } else { "slept" });
    let evidence = format!("{what}: the waiter {before} before it happened and {at} when it did");
    Outcome::holds(!early && at_event, evidence)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn success_without_freeing_is_broken() {
        assert_eq!(judge_cache(25 * MIB, 9 * MIB, None).verdict, Verdict::Kept);
        assert_eq!(judge_cache(25 * MIB, 25 * MIB, None).verdict, Verdict::Broken);
        assert_eq!(judge_cache(2 * MIB, MIB, None).verdict, Verdict::Void);
    }

    #[test]
    fn reclaiming_process_memory_without_swap_is_broken() {
        let judge = |after, answer, lives| judge_memory(true, [25 * MIB, after], answer, lives);
        assert_eq!(judge(25 * MIB, Some(Errno::AGAIN), true).verdict, Verdict::Kept);
        assert_eq!(judge(25 * MIB, None, true).verdict, Verdict::Broken);
        assert_eq!(judge(MIB, Some(Errno::AGAIN), false).verdict, Verdict::Broken);
    }

    #[test]
    fn charges_that_stay_or_move_wrongly_are_broken() {
        assert_eq!(judge_return(33 * MIB, MIB).verdict, Verdict::Kept);
        assert_eq!(judge_return(33 * MIB, 33 * MIB).verdict, Verdict::Broken);
        assert_eq!(judge_peak(50 * MIB, 10 * MIB).verdict, Verdict::Kept);
        assert_eq!(judge_peak(10 * MIB, 10 * MIB).verdict, Verdict::Broken);
        let stays = judge_migration([33 * MIB, 0], [33 * MIB, 17 * MIB]);
        assert_eq!(stays.verdict, Verdict::Kept, "{stays:?}");
        let moves = judge_migration([MIB, 33 * MIB], [MIB, 49 * MIB]);
        assert_eq!(moves.verdict, Verdict::Broken);
        assert_eq!(judge_readers(24 * MIB, 24 * MIB, 0).verdict, Verdict::Kept);
        assert_eq!(judge_readers(24 * MIB, 12 * MIB, 12 * MIB).verdict, Verdict::Broken);
        assert_eq!(judge_readers(24 * MIB, 2 * MIB, 0).verdict, Verdict::Void);
    }

    #[test]
    fn nodes_are_summed_in_the_unit_of_the_version() {
        let v1 = "total=9000 N0=9000\nanon=8192 N0=8000 N1=192\nhierarchical_anon=1 N0=1\n";
        assert_eq!(anonymous(v1, false), 32 * MIB);
        let v2 = "anon N0=33554432 N1=4096\nfile N0=1\n";
        assert_eq!(anonymous(v2, true), 32 * MIB + 4096);
        assert_eq!(judge_nodes(33 * MIB, 33 * MIB).verdict, Verdict::Kept);
        assert_eq!(judge_nodes(16 * MIB, 33 * MIB).verdict, Verdict::Broken);
        assert_eq!(judge_nodes(32 * MIB, 33 * MIB).verdict, Verdict::Undecided);
    }

    #[test]
    fn a_reset_that_others_see_or_that_does_nothing_is_broken() {
        assert_eq!(judge_reset(10 * MIB, 50 * MIB).verdict, Verdict::Kept);
        assert_eq!(judge_reset(50 * MIB, 50 * MIB).verdict, Verdict::Broken);
        assert_eq!(judge_reset(10 * MIB, 10 * MIB).verdict, Verdict::Broken);
    }

    #[test]
    fn a_missed_or_an_early_wake_is_broken() {
        let judge = |early, at_event| judge_woken("it", early, at_event).verdict;
        assert_eq!(judge(false, true), Verdict::Kept);
        assert_eq!(judge(false, false), Verdict::Broken);
        assert_eq!(judge(true, true), Verdict::Broken);
    }
}
