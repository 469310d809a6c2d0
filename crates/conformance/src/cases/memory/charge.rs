//! Memory charges: which group, how long, and what its counters show.

use assay_kernel::poll_event::WakeFile;

use super::hog::{MIB, cache, current, execute, mib};
use crate::fixture::Fixture;
use crate::outcome::{Outcome, Stop};

pub(super) fn returns(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    fixture.make("a")?;
    let mut probe = fixture.start("a", "memory")?;
    execute(&mut probe, &format!("touch {}", 32 * MIB))?;
    let full = current(fixture, "a")?;
    drop(probe);
    fixture.wait_for(3.0, || Ok(current(fixture, "a")? < 4 * MIB))?;
    Ok(judge_return(full, current(fixture, "a")?))
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

pub(super) fn peak(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    fixture.make("a")?;
    let mut probe = fixture.start("a", "memory")?;
    execute(&mut probe, &format!("touch {}", 48 * MIB))?;
    probe.send("drop");
    probe.line()?;
    execute(&mut probe, &format!("touch {}", 8 * MIB))?;
    let file = fixture.by_version("memory.max_usage_in_bytes", "memory.peak");
    Ok(judge_peak(fixture.number("a", file)?, current(fixture, "a")?))
}

fn judge_peak(peak: u64, now: u64) -> Outcome {
    let evidence = format!(
        "48 MiB released, then 8 MiB allocated: now {:.1} MiB, peak {:.1} MiB",
        mib(now),
        mib(peak)
    );
    Outcome::holds((48 * MIB..56 * MIB).contains(&peak) && now < 24 * MIB, evidence)
}

/// The maximum since a reset, which only its own descriptor sees.
pub(super) fn peak_reset(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    fixture.make("a")?;
    let mut probe = fixture.start("a", "memory")?;
    execute(&mut probe, &format!("touch {}", 48 * MIB))?;
    probe.send("drop");
    probe.line()?;
    let path = fixture.directory("a").join("memory.peak");
    // Any text that is written resets it.
    let mut own = WakeFile::trigger(fixture.root(), &path, "reset")?;
    execute(&mut probe, &format!("touch {}", 8 * MIB))?;
    let since = own.read()?.trim().parse().unwrap_or(0);
    Ok(judge_reset(since, fixture.number("a", "memory.peak")?))
}

fn judge_reset(since: u64, ever: u64) -> Outcome {
    let evidence = format!(
        "48 MiB released, a reset, then 8 MiB allocated: {:.1} MiB by the descriptor of the reset, \
         {:.1} MiB by another",
        mib(since),
        mib(ever)
    );
    Outcome::holds((8 * MIB..24 * MIB).contains(&since) && ever >= 48 * MIB, evidence)
}

/// Moves a process with all its memory to another group.
pub(super) fn migration(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    fixture.make("a")?;
    fixture.make("b")?;
    let mut probe = fixture.start("a", "memory")?;
    execute(&mut probe, &format!("touch {}", 32 * MIB))?;
    fixture.write("b", "cgroup.procs", &probe.pid().to_string())?;
    let (old_after_move, new_after_move) = (current(fixture, "a")?, current(fixture, "b")?);
    execute(&mut probe, "again")?;
    execute(&mut probe, &format!("touch {}", 16 * MIB))?;
    Ok(judge_migration(
        old_after_move,
        new_after_move,
        current(fixture, "a")?,
        current(fixture, "b")?,
    ))
}

fn judge_migration(old_after_move: u64, new_after_move: u64, old: u64, new: u64) -> Outcome {
    let evidence = format!(
        "after the move of a process with 32 MiB: old group {:.1} MiB, new one {:.1} MiB; after it \
         wrote to them again and took 16 MiB more: {:.1} and {:.1} MiB",
        mib(old_after_move),
        mib(new_after_move),
        mib(old),
        mib(new)
    );
    let stays = old_after_move >= 32 * MIB && old >= 32 * MIB;
    Outcome::holds(
        stays && new_after_move < 4 * MIB && (16 * MIB..24 * MIB).contains(&new),
        evidence,
    )
}

/// Two groups read the same part of a disk, one after the other.
pub(super) fn first_reader(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    const FILE: u64 = 24 * MIB;
    let disk = fixture.blank_disk(FILE)?;
    let mut readers = Vec::new();
    for name in ["a", "b"] {
        fixture.make(name)?;
        let mut probe = fixture.start(name, "memory")?;
        execute(&mut probe, &format!("read {FILE} {}", disk.node.display()))?;
        readers.push(probe);
    }
    Ok(judge_readers(FILE, cache(fixture, "a")?, cache(fixture, "b")?))
}

fn judge_readers(file: u64, first: u64, second: u64) -> Outcome {
    let evidence = format!(
        "both read the same {:.0} MiB: page cache of the first group {:.1} MiB, of the second \
         {:.1} MiB",
        mib(file),
        mib(first),
        mib(second)
    );
    if first + second < file / 10 * 9 {
        return Outcome::void("the page cache was dropped while it was measured").with(evidence);
    }
    Outcome::holds(second < file / 10, evidence)
}

/// Compares memory.numa_stat with memory.stat.
pub(super) fn by_node(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    fixture.make("a")?;
    let mut probe = fixture.start("a", "memory")?;
    execute(&mut probe, &format!("touch {}", 32 * MIB))?;
    // Both are flushed periodically, but not at the same time.
    let mut sums = (0, 0);
    fixture.wait_for(3.0, || {
        let nodes = anonymous(&fixture.read("a", "memory.numa_stat")?, fixture.is_v2());
        let whole = fixture.keyed("a", "memory.stat", fixture.by_version("rss", "anon"))?;
        sums = (nodes, whole);
        Ok(nodes == whole)
    })?;
    drop(probe);
    Ok(judge_nodes(sums.0, sums.1))
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
    if nodes == whole && whole >= 32 * MIB {
        return Outcome::kept(evidence);
    }
    if off > 0.1 || whole < 30 * MIB {
        return Outcome::broken("the sums differ").with(evidence);
    }
    Outcome::undecided("the two sums never matched in one reading").with(evidence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Verdict;

    #[test]
    fn charges_that_stay_or_move_wrongly_are_broken() {
        assert_eq!(judge_return(33 * MIB, MIB).verdict, Verdict::Kept);
        assert_eq!(judge_return(33 * MIB, 33 * MIB).verdict, Verdict::Broken);
        assert_eq!(judge_peak(50 * MIB, 10 * MIB).verdict, Verdict::Kept);
        assert_eq!(judge_peak(10 * MIB, 10 * MIB).verdict, Verdict::Broken);
        let stays = judge_migration(33 * MIB, 0, 33 * MIB, 17 * MIB);
        assert_eq!(stays.verdict, Verdict::Kept, "{stays:?}");
        let moves = judge_migration(MIB, 33 * MIB, MIB, 49 * MIB);
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
}
