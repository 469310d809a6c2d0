//! Who is charged, until when, and what the counters of it say.

use assay_kernel::Error;

use super::hog::{MIB, cache, current, mib, order};
use crate::fixture::Fixture;
use crate::outcome::Outcome;

pub(super) fn returns(ground: &mut Fixture) -> Result<Outcome, Error> {
    ground.make("a")?;
    let mut probe = ground.start("a", "memory")?;
    order(&mut probe, &format!("touch {}", 32 * MIB))?;
    let full = current(ground, "a")?;
    drop(probe);
    ground.wait_for(3.0, || Ok(current(ground, "a")? < 4 * MIB))?;
    Ok(judge_return(full, current(ground, "a")?))
}

/// A few pages of kernel memory may wait for a grace period.
fn judge_return(full: u64, empty: u64) -> Outcome {
    let seen = format!(
        "{:.1} MiB charged while a process has 32 MiB, {:.1} MiB after its end",
        mib(full),
        mib(empty)
    );
    Outcome::holds(full >= 32 * MIB && empty < 4 * MIB, seen)
}

pub(super) fn peak(ground: &mut Fixture) -> Result<Outcome, Error> {
    ground.make("a")?;
    let mut probe = ground.start("a", "memory")?;
    order(&mut probe, &format!("touch {}", 48 * MIB))?;
    probe.say("drop");
    probe.line()?;
    order(&mut probe, &format!("touch {}", 8 * MIB))?;
    let file = ground.by_version("memory.max_usage_in_bytes", "memory.peak");
    Ok(judge_peak(ground.number("a", file)?, current(ground, "a")?))
}

fn judge_peak(peak: u64, now: u64) -> Outcome {
    let seen = format!(
        "48 MiB given back, then 8 MiB taken: now {:.1} MiB, at most {:.1} MiB",
        mib(now),
        mib(peak)
    );
    Outcome::holds((48 * MIB..56 * MIB).contains(&peak) && now < 24 * MIB, seen)
}

/// A process goes to another group with all that it has.
pub(super) fn migration(ground: &mut Fixture) -> Result<Outcome, Error> {
    ground.make("a")?;
    ground.make("b")?;
    let mut probe = ground.start("a", "memory")?;
    order(&mut probe, &format!("touch {}", 32 * MIB))?;
    ground.write("b", "cgroup.procs", &probe.pid().to_string())?;
    let (left, taken) = (current(ground, "a")?, current(ground, "b")?);
    order(&mut probe, "again")?;
    order(&mut probe, &format!("touch {}", 16 * MIB))?;
    Ok(judge_migration(left, taken, current(ground, "a")?, current(ground, "b")?))
}

fn judge_migration(left: u64, taken: u64, old: u64, new: u64) -> Outcome {
    let seen = format!(
        "after the move of a process with 32 MiB: old group {:.1} MiB, new one {:.1} MiB; after it \
         wrote to them again and took 16 MiB more: {:.1} and {:.1} MiB",
        mib(left),
        mib(taken),
        mib(old),
        mib(new)
    );
    let stays = left >= 32 * MIB && old >= 32 * MIB;
    Outcome::holds(stays && taken < 4 * MIB && (16 * MIB..24 * MIB).contains(&new), seen)
}

/// Two groups read the same part of a disk, one after the other.
pub(super) fn first_reader(ground: &mut Fixture) -> Result<Outcome, Error> {
    const FILE: u64 = 24 * MIB;
    let disk = ground.blank_disk(FILE)?;
    let mut readers = Vec::new();
    for name in ["a", "b"] {
        ground.make(name)?;
        let mut probe = ground.start(name, "memory")?;
        order(&mut probe, &format!("read {FILE} {}", disk.node.display()))?;
        readers.push(probe);
    }
    Ok(judge_readers(FILE, cache(ground, "a")?, cache(ground, "b")?))
}

fn judge_readers(file: u64, first: u64, second: u64) -> Outcome {
    let seen = format!(
        "both read the same {:.0} MiB: page cache of the first group {:.1} MiB, of the second \
         {:.1} MiB",
        mib(file),
        mib(first),
        mib(second)
    );
    if first + second < file / 10 * 9 {
        return Outcome::void("the page cache went while it was looked at").with(seen);
    }
    Outcome::holds(second < file / 10, seen)
}

/// What memory.numa_stat says by node, against memory.stat.
pub(super) fn by_node(ground: &mut Fixture) -> Result<Outcome, Error> {
    ground.make("a")?;
    let mut probe = ground.start("a", "memory")?;
    order(&mut probe, &format!("touch {}", 32 * MIB))?;
    // Both are flushed at times, and not at the same time.
    let mut sums = (0, 0);
    ground.wait_for(3.0, || {
        let nodes = anonymous(&ground.read("a", "memory.numa_stat")?, ground.is_v2());
        let whole = ground.keyed("a", "memory.stat", ground.by_version("rss", "anon"))?;
        sums = (nodes, whole);
        Ok(nodes == whole)
    })?;
    drop(probe);
    Ok(judge_nodes(sums.0, sums.1))
}

/// Bytes of the line `anon` added up over nodes. On v1 it counts pages, `anon=8192 N0=8192`.
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
    let seen = format!(
        "anonymous memory by node, added up: {:.2} MiB; as a whole: {:.2} MiB",
        mib(nodes),
        mib(whole)
    );
    let off = nodes.abs_diff(whole) as f64 / whole.max(1) as f64;
    if nodes == whole && whole >= 32 * MIB {
        return Outcome::kept(seen);
    }
    if off > 0.1 || whole < 30 * MIB {
        return Outcome::broken("the sums differ").with(seen);
    }
    Outcome::undecided("the sums never were the same at the same time").with(seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Verdict;

    #[test]
    fn charges_that_stay_or_move_where_they_should_not_are_broken() {
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
    fn nodes_are_added_up_in_the_unit_of_the_version() {
        let v1 = "total=9000 N0=9000\nanon=8192 N0=8000 N1=192\nhierarchical_anon=1 N0=1\n";
        assert_eq!(anonymous(v1, false), 32 * MIB);
        let v2 = "anon N0=33554432 N1=4096\nfile N0=1\n";
        assert_eq!(anonymous(v2, true), 32 * MIB + 4096);
        assert_eq!(judge_nodes(33 * MIB, 33 * MIB).verdict, Verdict::Kept);
        assert_eq!(judge_nodes(16 * MIB, 33 * MIB).verdict, Verdict::Broken);
        assert_eq!(judge_nodes(32 * MIB, 33 * MIB).verdict, Verdict::Undecided);
    }
}
