//! memory.max (limit_in_bytes on v1): memory above it is reclaimed, or else a process is killed; and memory.high, above
//! which a group is slowed down without killing.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use rustix::process::Signal;

use super::*;

pub(crate) const CASES: &[Case] = &[
    MEMORY.case(
        "max-kills-and-counts",
        "A process that exceeds memory.max is killed, and the kill is counted.",
        |fixture| Ok(judge_kill(&hog(fixture, 32 * MIB, 96 * MIB)?)),
    ),
    MEMORY.case(
        "below-max-nobody-is-killed",
        "A process below memory.max is neither killed nor slowed down.",
        |fixture| Ok(judge_spared(&hog(fixture, 96 * MIB, 32 * MIB)?)),
    ),
    CACHE.case(
        "page-cache-above-max-is-reclaimed",
        "Page cache above memory.max is reclaimed, and its reader survives.",
        |fixture| Ok(judge_cache(&reader(fixture, Some(24 * MIB))?)),
    ),
    CACHE.case(
        "page-cache-without-a-limit-stays",
        "Without a limit the page cache of a file that was read stays.",
        |fixture| Ok(judge_kept_cache(&reader(fixture, None)?)),
    ),
    MEMORY.case(
        "max-binds-the-groups-inside",
        "memory.max of a group limits the total of its child groups.",
        |fixture| {
            make_whole(fixture, "outer")?;
            limit(fixture, "outer", 48 * MIB)?;
            let (mut probes, mut kills) = (Vec::new(), 0);
            for name in ["outer/a", "outer/b"] {
                fixture.make(name)?;
                probes.push(hold(fixture, name, 32 * MIB)?);
            }
            probes.retain_mut(|probe| probe.ended_within(fixture.time(0.3)).is_none());
            for name in ["outer/a", "outer/b"] {
                kills += oom_kills(fixture, name)?;
            }
            Ok(judge_children(probes.len(), kills))
        },
    ),
    V1.needing(&[Need::OnV1("memory"), Need::File("memory.memsw.failcnt")]).case(
        "memsw-limit-holds-and-counts",
        "A process above the combined limit of memory and swap is killed, and failcnt counts it.",
        |fixture| {
            // v1 checks it before that of memory alone.
            fixture.make("a")?;
            for file in ["memory.limit_in_bytes", "memory.memsw.limit_in_bytes"] {
                fixture.write("a", file, &(32 * MIB).to_string())?;
            }
            let mut probe = fixture.start("a", "memory")?;
            let killed = touch(&mut probe, 96 * MIB)?.is_none();
            let counted = fixture.number("a", "memory.memsw.failcnt")?;
            Ok(judge_together(killed, oom_kills(fixture, "a")?, counted))
        },
    ),
    V2.case(
        "high-throttles-and-never-kills",
        "A group above memory.high is slowed down, and none of its processes is killed.",
        |fixture| {
            let free = throttled(fixture, "free", None)?;
            Ok(judge_throttled(&free, &throttled(fixture, "held", Some(24 * MIB))?))
        },
    ),
    V2.case(
        "below-high-nothing-is-throttled",
        "A group below memory.high is not slowed down.",
        |fixture| Ok(judge_alone(&throttled(fixture, "a", Some(1 << 30))?)),
    ),
];

/// Result of a process that allocates memory.
#[derive(Debug, Clone, Copy)]
struct Hog {
    limit: u64,
    requested: u64,
    /// How much it got, if it survived.
    got: Option<u64>,
    /// The signal that ended it.
    signal: Option<i32>,
    kills: u64,
    refusals: u64,
}

fn hog(fixture: &Fixture, limit: u64, requested: u64) -> Result<Hog, Error> {
    limited(fixture, "a", limit)?;
    let mut probe = fixture.start("a", "memory")?;
    let got = touch(&mut probe, requested)?.map(|progress| progress.bytes);
    let ended = if got.is_none() { probe.ended_within(fixture.time(5.0)) } else { None };
    let signal = ended.as_ref().and_then(ExitStatus::signal);
    let (kills, refusals) = (oom_kills(fixture, "a")?, refusals(fixture, "a")?);
    Ok(Hog { limit, requested, got, signal, kills, refusals })
}

impl Hog {
    fn evidence(&self) -> String {
        let end = match (self.got, self.signal) {
            (Some(got), _) => format!("it got {:.0} MiB and survived", mib(got)),
            (None, Some(9)) => "it was killed by SIGKILL".to_owned(),
            (None, Some(other)) => format!("it was ended by signal {other}"),
            (None, None) => "it ended without a signal".to_owned(),
        };
        format!(
            "limit {:.0} MiB, a process that wants {:.0} MiB: {end}; oom_kill {}, at the limit {} \
             times",
            mib(self.limit),
            mib(self.requested),
            self.kills,
            self.refusals
        )
    }
}

fn judge_kill(hog: &Hog) -> Outcome {
    let killed = hog.signal == Some(Signal::KILL.as_raw());
    let counted = hog.kills == 1 && hog.refusals > 0;
    let outcome = match (hog.got, killed, counted) {
        (Some(_), ..) => Outcome::broken("it got more memory than the limit"),
        (None, false, _) => Outcome::void("it ended for another reason"),
        (None, true, false) => Outcome::broken("the kill was not counted exactly once"),
        (None, true, true) => return Outcome::kept(hog.evidence()),
    };
    outcome.with(hog.evidence())
}

fn judge_spared(hog: &Hog) -> Outcome {
    let spared = hog.got == Some(hog.requested) && hog.kills == 0 && hog.refusals == 0;
    Outcome::holds(spared, hog.evidence())
}

/// The page cache of a group that read a file.
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

fn reader(fixture: &mut Fixture, limit: Option<u64>) -> Result<Reader, Error> {
    const FILE: u64 = 48 * MIB;
    let disk = fixture.blank_disk(FILE)?;
    limited(fixture, "a", limit.unwrap_or(1 << 40))?;
    let mut probe = fixture.start("a", "memory")?;
    let read = execute(&mut probe, &format!("read {FILE} {}", disk.node.display()))?;
    Ok(Reader {
        limit,
        file: FILE,
        read: read.map(|progress| progress.bytes),
        charged: current(fixture, "a")?,
        cached: cache(fixture, "a")?,
        kills: oom_kills(fixture, "a")?,
        refusals: refusals(fixture, "a")?,
    })
}

impl Reader {
    fn evidence(&self) -> String {
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

fn judge_cache(reader: &Reader) -> Outcome {
    let limit = reader.limit.unwrap_or(u64::MAX);
    if reader.kills > 0 || reader.read != Some(reader.file) {
        return Outcome::broken("the reader did not survive its own page cache")
            .with(reader.evidence());
    }
    Outcome::holds(reader.charged <= limit && reader.refusals > 0, reader.evidence())
}

/// A host short of memory may reclaim page cache from any group, so a loss is no proof.
fn judge_kept_cache(reader: &Reader) -> Outcome {
    let stays = reader.cached >= reader.file / 10 * 9 && reader.refusals == 0;
    let verdict = if stays { Verdict::Kept } else { Verdict::Undecided };
    Outcome::decided(verdict, reader.evidence(), "", "page cache was dropped without a limit")
}

fn judge_children(alive: usize, kills: u64) -> Outcome {
    let evidence = format!(
        "48 MiB for the group above, two groups inside that want 32 MiB each: {alive} of 2 \
         processes live, oom_kill {kills}"
    );
    // The second may be killed too, before the memory of the first is released.
    Outcome::holds(alive < 2 && alive as u64 + kills == 2, evidence)
}

fn judge_together(killed: bool, kills: u64, counted: u64) -> Outcome {
    let evidence = format!(
        "32 MiB of memory and swap together, a process that wants 96 MiB {}; oom_kill {kills}, \
         memory.memsw.failcnt {counted}",
        if killed { "was killed" } else { "survived" }
    );
    let broken = if !killed || kills != 1 {
        "the limit does not hold"
    } else if counted == 0 {
        // `track_failcnt` of mm/page_counter.c, which mem_cgroup_css_alloc() sets for the counter of
        // memory and not for that of memory and swap (docs/findings/memsw-failcnt).
        "the limit was met and memory.memsw.failcnt does not count it: since Linux 6.15 the kernel counts \
         refusals of memory.limit_in_bytes alone"
    } else {
        return Outcome::kept(evidence);
    };
    Outcome::broken(broken).with(evidence)
}

/// What a hog wants beside memory.high, and its time limit in seconds where it is throttled.
const REQUESTED: u64 = 96 * MIB;
const SECONDS: u64 = 3;

/// Result of a hog below or above memory.high.
#[derive(Debug, Clone, Copy)]
struct Throttled {
    high: Option<u64>,
    /// `None` if it was killed.
    got: Option<Progress>,
    /// memory.events, `high`.
    events: u64,
    kills: u64,
}

fn throttled(fixture: &Fixture, group: &str, high: Option<u64>) -> Result<Throttled, Error> {
    fixture.make(group)?;
    // With swap space, reclaim would succeed and nothing would be slowed down.
    if fixture.has(group, "memory.swap.max") {
        fixture.write(group, "memory.swap.max", "0")?;
    }
    if let Some(high) = high {
        fixture.write(group, "memory.high", &high.to_string())?;
    }
    let mut probe = fixture.start(group, "memory")?;
    let got = execute(&mut probe, &format!("touch {REQUESTED} {SECONDS}"))?;
    let events = fixture.keyed(group, "memory.events", "high")?;
    Ok(Throttled { high, got, events, kills: oom_kills(fixture, group)? })
}

impl Throttled {
    fn evidence(&self) -> String {
        let high = self.high.map_or_else(|| "max".to_owned(), |n| format!("{:.0} MiB", mib(n)));
        let got = self.got.map_or_else(
            || "it was killed".to_owned(),
            |progress| format!("{:.0} of 96 MiB in {:.2} s", progress.mib(), progress.seconds),
        );
        format!("memory.high {high}: {got}; events high {}, oom_kill {}", self.events, self.kills)
    }
}

/// Throttling makes a hog slower by orders of magnitude; a busy host slows both hogs.
fn judge_throttled(free: &Throttled, held: &Throttled) -> Outcome {
    let survived = held.got.filter(|_| held.kills == 0);
    let outcome = judge_slowed("memory.high", free.got, survived, held.events);
    outcome.with(held.evidence()).with(free.evidence())
}

fn judge_alone(hog: &Throttled) -> Outcome {
    let verdict = if hog.events > 0 || hog.kills > 0 {
        Verdict::Broken
    } else if hog.got.is_some_and(|progress| progress.bytes == REQUESTED) {
        Verdict::Kept
    } else {
        Verdict::Undecided
    };
    let (acted, slow) =
        ("memory.high acted on a group below it", "the host was too slow for the hog");
    Outcome::decided(verdict, hog.evidence(), acted, slow)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hog() -> Hog {
        let (limit, requested) = (32 * MIB, 96 * MIB);
        Hog { limit, requested, got: None, signal: Some(9), kills: 1, refusals: 7 }
    }

    #[test]
    fn exceeding_the_limit_or_not_counting_is_broken() {
        assert_eq!(judge_kill(&hog()).verdict, Verdict::Kept);
        let generous = Hog { got: Some(96 * MIB), signal: None, kills: 0, ..hog() };
        assert_eq!(judge_kill(&generous).verdict, Verdict::Broken);
        assert_eq!(judge_kill(&Hog { kills: 0, ..hog() }).verdict, Verdict::Broken);
        assert_eq!(judge_kill(&Hog { signal: Some(11), ..hog() }).verdict, Verdict::Void);
    }

    #[test]
    fn killing_below_the_limit_is_broken() {
        assert_eq!(judge_spared(&hog()).verdict, Verdict::Broken);
        let spared = Hog { got: Some(96 * MIB), signal: None, kills: 0, refusals: 0, ..hog() };
        assert_eq!(judge_spared(&spared).verdict, Verdict::Kept);
    }

    #[test]
    fn a_reader_that_exceeds_its_limit_or_is_killed_is_broken() {
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
    fn a_combined_limit_that_does_not_hold_or_count_is_broken() {
        assert_eq!(judge_together(true, 1, 12).verdict, Verdict::Kept);
        assert_eq!(judge_together(true, 1, 0).verdict, Verdict::Broken);
        assert_eq!(judge_together(false, 0, 0).verdict, Verdict::Broken);
    }

    #[test]
    fn two_survivors_mean_that_the_parent_limit_does_not_hold() {
        assert_eq!(judge_children(1, 1).verdict, Verdict::Kept);
        assert_eq!(judge_children(2, 0).verdict, Verdict::Broken);
        assert_eq!(judge_children(1, 0).verdict, Verdict::Broken);
    }

    fn at(seconds: f64, bytes: u64, events: u64) -> Throttled {
        Throttled { high: Some(24 * MIB), got: Some(Progress { bytes, seconds }), events, kills: 0 }
    }

    #[test]
    fn missing_throttling_and_kills_are_broken() {
        let free = Throttled { high: None, ..at(0.05, REQUESTED, 0) };
        let judge = |held| judge_throttled(&free, &held).verdict;
        assert_eq!(judge(at(3.0, 30 * MIB, 50)), Verdict::Kept);
        assert_eq!(judge(at(0.05, REQUESTED, 50)), Verdict::Broken);
        assert_eq!(judge(at(3.0, 30 * MIB, 0)), Verdict::Broken);
        assert_eq!(judge(Throttled { got: None, kills: 1, ..free }), Verdict::Broken);
        assert_eq!(judge(Throttled { kills: 1, ..at(3.0, 30 * MIB, 50) }), Verdict::Broken);
        assert_eq!(judge(at(0.08, REQUESTED, 50)), Verdict::Undecided);
        let died = Throttled { got: None, ..free };
        assert_eq!(judge_throttled(&died, &died).verdict, Verdict::Void);
    }

    #[test]
    fn acting_below_the_boundary_is_broken() {
        assert_eq!(judge_alone(&at(0.05, REQUESTED, 0)).verdict, Verdict::Kept);
        assert_eq!(judge_alone(&at(0.05, REQUESTED, 1)).verdict, Verdict::Broken);
        assert_eq!(judge_alone(&at(3.0, MIB, 0)).verdict, Verdict::Undecided);
    }
}
