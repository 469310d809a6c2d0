//! memory.max, or limit_in_bytes on v1: what is above it is reclaimed, and where nothing can be,
//! somebody is killed.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use assay_kernel::Error;
use rustix::process::Signal;

use super::hog::{MIB, cache, current, limited, mib, oom_kills, order, refusals};
use crate::fixture::Fixture;
use crate::outcome::Outcome;

/// What became of a process that wanted memory.
#[derive(Debug, Clone, Copy)]
struct Hog {
    limit: u64,
    wanted: u64,
    /// How much it got, when it lived to say so.
    got: Option<u64>,
    /// The signal that ended it.
    signal: Option<i32>,
    kills: u64,
    refusals: u64,
}

fn hog(ground: &Fixture, limit: u64, wanted: u64) -> Result<Hog, Error> {
    limited(ground, "a", limit)?;
    let mut probe = ground.start("a", "memory")?;
    let got = order(&mut probe, &format!("touch {wanted}"))?.map(|done| done.bytes);
    let ended = if got.is_none() { probe.ended_within(ground.time(5.0)) } else { None };
    let signal = ended.as_ref().and_then(ExitStatus::signal);
    let (kills, refusals) = (oom_kills(ground, "a")?, refusals(ground, "a")?);
    Ok(Hog { limit, wanted, got, signal, kills, refusals })
}

impl Hog {
    fn seen(&self) -> String {
        let end = match (self.got, self.signal) {
            (Some(got), _) => format!("it got {:.0} MiB and lives", mib(got)),
            (None, Some(9)) => "it was killed by SIGKILL".to_owned(),
            (None, Some(other)) => format!("signal {other} ended it"),
            (None, None) => "it ended without a signal".to_owned(),
        };
        format!(
            "limit {:.0} MiB, a process that wants {:.0} MiB: {end}; oom_kill {}, at the limit {} \
             times",
            mib(self.limit),
            mib(self.wanted),
            self.kills,
            self.refusals
        )
    }
}

pub(super) fn kills(ground: &mut Fixture) -> Result<Outcome, Error> {
    Ok(judge_kill(&hog(ground, 32 * MIB, 96 * MIB)?))
}

fn judge_kill(hog: &Hog) -> Outcome {
    let killed = hog.signal == Some(Signal::KILL.as_raw());
    let counted = hog.kills == 1 && hog.refusals > 0;
    let outcome = match (hog.got, killed, counted) {
        (Some(_), ..) => Outcome::broken("it got more memory than the limit"),
        (None, false, _) => Outcome::void("it ended by something else"),
        (None, true, false) => Outcome::broken("the kill was not counted once"),
        (None, true, true) => return Outcome::kept(hog.seen()),
    };
    outcome.with(hog.seen())
}

pub(super) fn spares(ground: &mut Fixture) -> Result<Outcome, Error> {
    Ok(judge_spared(&hog(ground, 96 * MIB, 32 * MIB)?))
}

fn judge_spared(hog: &Hog) -> Outcome {
    let spared = hog.got == Some(hog.wanted) && hog.kills == 0 && hog.refusals == 0;
    Outcome::holds(spared, hog.seen())
}

/// The limit of memory and swap together, which v1 asks before that of memory alone.
pub(super) fn together(ground: &mut Fixture) -> Result<Outcome, Error> {
    ground.make("a")?;
    for file in ["memory.limit_in_bytes", "memory.memsw.limit_in_bytes"] {
        ground.write("a", file, &(32 * MIB).to_string())?;
    }
    let mut probe = ground.start("a", "memory")?;
    let killed = order(&mut probe, &format!("touch {}", 96 * MIB))?.is_none();
    let counted = ground.number("a", "memory.memsw.failcnt")?;
    Ok(judge_together(killed, oom_kills(ground, "a")?, counted))
}

fn judge_together(killed: bool, kills: u64, counted: u64) -> Outcome {
    let seen = format!(
        "32 MiB of memory and swap together, a process that wants 96 MiB {}; oom_kill {kills}, \
         memory.memsw.failcnt {counted}",
        if killed { "was killed" } else { "lives" }
    );
    let outcome = if !killed || kills != 1 {
        Outcome::broken("the limit does not hold")
    } else if counted == 0 {
        // `track_failcnt` of mm/page_counter.c, which mem_cgroup_css_alloc() sets for the counter of
        // memory and not for that of memory and swap.
        Outcome::broken(
            "the limit was met and memory.memsw.failcnt does not count it: since Linux 6.14 the \
             kernel counts refusals of memory.limit_in_bytes alone",
        )
    } else {
        return Outcome::kept(seen);
    };
    outcome.with(seen)
}

/// What became of the page cache of a group that read a file.
#[derive(Debug, Clone, Copy)]
struct Reader {
    limit: Option<u64>,
    file: u64,
    read: Option<u64>,
    charged: u64,
    cached: u64,
    kills: u64,
    refusals: u64,
}

fn reader(ground: &mut Fixture, limit: Option<u64>) -> Result<Reader, Error> {
    const FILE: u64 = 48 * MIB;
    let disk = ground.blank_disk(FILE)?;
    limited(ground, "a", limit.unwrap_or(1 << 40))?;
    let mut probe = ground.start("a", "memory")?;
    let read = order(&mut probe, &format!("read {FILE} {}", disk.node.display()))?;
    Ok(Reader {
        limit,
        file: FILE,
        read: read.map(|done| done.bytes),
        charged: current(ground, "a")?,
        cached: cache(ground, "a")?,
        kills: oom_kills(ground, "a")?,
        refusals: refusals(ground, "a")?,
    })
}

impl Reader {
    fn seen(&self) -> String {
        format!(
            "{:.0} MiB of a disk read, limit {}: charged {:.0} MiB, {:.0} of it page cache; at the \
             limit {} times, oom_kill {}",
            mib(self.read.unwrap_or(0)),
            self.limit.map_or_else(|| "none".to_owned(), |limit| format!("{:.0} MiB", mib(limit))),
            mib(self.charged),
            mib(self.cached),
            self.refusals,
            self.kills
        )
    }
}

pub(super) fn reclaims_cache(ground: &mut Fixture) -> Result<Outcome, Error> {
    Ok(judge_cache(&reader(ground, Some(24 * MIB))?))
}

fn judge_cache(reader: &Reader) -> Outcome {
    let limit = reader.limit.unwrap_or(u64::MAX);
    if reader.kills > 0 || reader.read != Some(reader.file) {
        return Outcome::broken("the reader did not survive its own page cache")
            .with(reader.seen());
    }
    Outcome::holds(reader.charged <= limit && reader.refusals > 0, reader.seen())
}

pub(super) fn keeps_cache(ground: &mut Fixture) -> Result<Outcome, Error> {
    Ok(judge_kept_cache(&reader(ground, None)?))
}

/// A host that is short of memory may take page cache from anybody, so a loss is no proof.
fn judge_kept_cache(reader: &Reader) -> Outcome {
    if reader.cached >= reader.file / 10 * 9 && reader.refusals == 0 {
        return Outcome::kept(reader.seen());
    }
    Outcome::undecided("page cache went although no limit asked for it").with(reader.seen())
}

/// A limit of the group above binds what the groups inside have together.
pub(super) fn binds_children(ground: &mut Fixture) -> Result<Outcome, Error> {
    ground.make_parent("outer")?;
    super::hog::limit(ground, "outer", 48 * MIB)?;
    let mut probes = Vec::new();
    let mut got = Vec::new();
    for name in ["outer/a", "outer/b"] {
        ground.make(name)?;
        let mut probe = ground.start(name, "memory")?;
        got.push(order(&mut probe, &format!("touch {}", 32 * MIB))?.map(|done| done.bytes));
        probes.push(probe);
    }
    let alive = probes
        .iter_mut()
        .map(|probe| probe.ended_within(ground.time(0.3)).is_none())
        .filter(|alive| *alive)
        .count();
    Ok(judge_children(alive, oom_kills(ground, "outer/a")? + oom_kills(ground, "outer/b")?))
}

fn judge_children(alive: usize, kills: u64) -> Outcome {
    let seen = format!(
        "48 MiB for the group above, two groups inside that want 32 MiB each: {alive} of 2 \
         processes live, oom_kill {kills}"
    );
    // The second may be killed too before the first has given its memory back.
    Outcome::holds(alive < 2 && alive as u64 + kills == 2, seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Verdict;

    fn hog() -> Hog {
        let (limit, wanted) = (32 * MIB, 96 * MIB);
        Hog { limit, wanted, got: None, signal: Some(9), kills: 1, refusals: 7 }
    }

    #[test]
    fn a_kernel_that_gives_more_or_does_not_count_is_broken() {
        assert_eq!(judge_kill(&hog()).verdict, Verdict::Kept);
        let generous = Hog { got: Some(96 * MIB), signal: None, kills: 0, ..hog() };
        assert_eq!(judge_kill(&generous).verdict, Verdict::Broken);
        assert_eq!(judge_kill(&Hog { kills: 0, ..hog() }).verdict, Verdict::Broken);
        assert_eq!(judge_kill(&Hog { signal: Some(11), ..hog() }).verdict, Verdict::Void);
    }

    #[test]
    fn a_kernel_that_kills_below_the_limit_is_broken() {
        assert_eq!(judge_spared(&hog()).verdict, Verdict::Broken);
        let spared = Hog { got: Some(96 * MIB), signal: None, kills: 0, refusals: 0, ..hog() };
        assert_eq!(judge_spared(&spared).verdict, Verdict::Kept);
    }

    #[test]
    fn a_reader_above_its_limit_or_killed_is_broken() {
        let reader = Reader {
            limit: Some(24 * MIB),
            file: 48 * MIB,
            read: Some(48 * MIB),
            charged: 24 * MIB,
            cached: 22 * MIB,
            kills: 0,
            refusals: 90,
        };
        assert_eq!(judge_cache(&reader).verdict, Verdict::Kept);
        let above = Reader { charged: 40 * MIB, ..reader };
        assert_eq!(judge_cache(&above).verdict, Verdict::Broken);
        let killed = Reader { read: None, kills: 1, ..reader };
        assert_eq!(judge_cache(&killed).verdict, Verdict::Broken);
        assert_eq!(judge_kept_cache(&reader).verdict, Verdict::Undecided);
        let whole = Reader { limit: None, cached: 48 * MIB, refusals: 0, ..reader };
        assert_eq!(judge_kept_cache(&whole).verdict, Verdict::Kept);
    }

    #[test]
    fn a_limit_of_both_that_does_not_hold_or_count_is_broken() {
        assert_eq!(judge_together(true, 1, 12).verdict, Verdict::Kept);
        assert_eq!(judge_together(true, 1, 0).verdict, Verdict::Broken);
        assert_eq!(judge_together(false, 0, 0).verdict, Verdict::Broken);
    }

    #[test]
    fn two_survivors_mean_that_the_group_above_does_not_bind() {
        assert_eq!(judge_children(1, 1).verdict, Verdict::Kept);
        assert_eq!(judge_children(2, 0).verdict, Verdict::Broken);
        assert_eq!(judge_children(1, 0).verdict, Verdict::Broken);
    }
}
