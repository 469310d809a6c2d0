//! OOM kills, of one process, the whole group, or none while killing is disabled; and swap, which may take what is above
//! a limit instead.

use std::path::Path;
use std::time::{Duration, Instant};

use assay_sys::kernel::parse::keyed::kibibytes;

use super::*;

const SWAP: Topic = MEMORY.needing(&[Need::Controller("memory"), Need::Swap]);

pub(crate) const CASES: &[Case] = &[
    MEMORY.needing(&[Need::OnV2("memory"), Need::File("memory.oom.group")]).case(
        "oom-group-kills-all",
        "With memory.oom.group all processes of the group are killed together.",
        |fixture| Ok(judge_group(&three(fixture, true)?)),
    ),
    MEMORY.case(
        "oom-kills-one",
        "Without memory.oom.group one process is killed and the others survive.",
        |fixture| {
            let victims = three(fixture, false)?;
            Ok(judge_one(&victims, fixture.by_version("v1", "memory.oom.group 0")))
        },
    ),
    V1.case(
        "oom-kill-disable-stops",
        "With oom_kill_disable a process above the limit blocks until memory is available.",
        |fixture| {
            limited(fixture, "a", 32 * MIB)?;
            fixture.write("a", "memory.oom_control", "1")?;
            let mut hog = fixture.start("a", "memory")?;
            hog.send(&format!("touch {}", 96 * MIB));
            let key = |key| fixture.keyed("a", "memory.oom_control", key);
            fixture.wait_for(3.0, || Ok(key("under_oom")? == 1))?;
            let under_oom = key("under_oom")?;
            // It blocks until memory is available; by now it would have continued or been killed.
            let stood = hog.ended_within(fixture.time(0.5)).is_none() && key("under_oom")? == 1;
            fixture.write("a", "memory.limit_in_bytes", "-1")?;
            let went_on = hog.line()?.is_some();
            let stopped = Stopped { stood, under_oom, went_on, kills: key("oom_kill")? };
            fixture.write("a", "memory.oom_control", "0")?;
            Ok(judge_stopped(&stopped))
        },
    ),
    V1.case(
        "oom-kill-disable-leaves-the-rest-alone",
        "With oom_kill_disable a process below the limit is not blocked.",
        |fixture| {
            fixture.make("a")?;
            fixture.write("a", "memory.oom_control", "1")?;
            limit(fixture, "a", 96 * MIB)?;
            let mut probe = fixture.start("a", "memory")?;
            let got = touch(&mut probe, 32 * MIB)?.map_or(0, |progress| progress.bytes);
            let under_oom = fixture.keyed("a", "memory.oom_control", "under_oom")?;
            fixture.write("a", "memory.oom_control", "0")?;
            let evidence = format!(
                "oom_kill_disable 1, limit 96 MiB: {:.0} of 32 MiB got, under_oom {under_oom}",
                mib(got)
            );
            Ok(Outcome::holds(got == 32 * MIB && under_oom == 0, evidence))
        },
    ),
    SWAP.case(
        "swap-takes-what-is-above-max",
        "With swap space allowed, memory above memory.max is swapped and no process is killed.",
        |fixture| {
            let hog = swapped(fixture, 128 * MIB)?;
            // Free swap space of the host.
            let text = fixture.root.read("/proc/meminfo")?;
            Ok(judge_rest(&hog, kibibytes(&text, "SwapFree").unwrap_or(0)))
        },
    ),
    SWAP.case(
        "swap-max-bounds-swap",
        "A group uses no more swap space than its limit, and is killed beyond that.",
        |fixture| Ok(judge_bound(&swapped(fixture, 8 * MIB)?)),
    ),
    MEMORY.needing(&[Need::OnV2("memory"), Need::Swap, Need::File("memory.swap.high")]).case(
        "swap-high-throttles-and-never-kills",
        "A group above memory.swap.high is slowed down, and none of its processes is killed.",
        |fixture| {
            let free = braked(fixture, "free", "max")?;
            Ok(judge_high(free, braked(fixture, "held", &MIB.to_string())?))
        },
    ),
    MEMORY.needing(&[Need::OnV2("memory"), Need::Swap, Need::File("memory.zswap.max")]).case(
        "zswap-max-bounds-zswap",
        "With memory.zswap.max 0 no memory of a group is kept compressed.",
        |fixture| {
            let switch = Path::new("/sys/module/zswap/parameters/enabled");
            if !fixture.root.exists(switch) {
                return Err(Stop::not_available("zswap is not built into this kernel"));
            }
            if let Err(error) = fixture.ledger.write_file(fixture.root, switch, "Y") {
                return Err(Stop::not_available(format!("zswap cannot be enabled: {error}")));
            }
            let (free, none) = (zswapped(fixture, "free", "max")?, zswapped(fixture, "none", "0")?);
            Ok(judge_zswap(free, none))
        },
    ),
];

/// A hog and two sleeping processes in one group.
#[derive(Debug, Clone, Copy)]
struct Victims {
    hog_died: bool,
    others_died: usize,
    kills: u64,
}

fn three(fixture: &Fixture, all: bool) -> Result<Victims, Error> {
    limited(fixture, "a", 32 * MIB)?;
    if all {
        fixture.write("a", "memory.oom.group", "1")?;
    }
    let mut others = [fixture.start("a", "echo")?, fixture.start("a", "echo")?];
    let mut hog = fixture.start("a", "memory")?;
    let hog_died = touch(&mut hog, 96 * MIB)?.is_none();
    let others_died =
        others.iter_mut().filter_map(|other| other.ended_within(fixture.time(0.5))).count();
    Ok(Victims { hog_died, others_died, kills: oom_kills(fixture, "a")? })
}

impl Victims {
    fn evidence(&self, how: &str) -> String {
        let hog = if self.hog_died { "died" } else { "survived" };
        format!(
            "{how}: the process above the limit {hog}, {} of 2 others died, oom_kill {}",
            self.others_died, self.kills
        )
    }
}

/// The first victim is counted once more with its group (Linux 6.1 and 6.12).
fn judge_group(victims: &Victims) -> Outcome {
    let as_one = victims.hog_died && victims.others_died == 2 && victims.kills >= 3;
    Outcome::holds(as_one, victims.evidence("memory.oom.group 1"))
}

fn judge_one(victims: &Victims, how: &str) -> Outcome {
    let alone = victims.hog_died && victims.others_died == 0 && victims.kills == 1;
    Outcome::holds(alone, victims.evidence(how))
}

/// Result of a hog whose group has OOM kills disabled.
#[derive(Debug, Clone, Copy)]
struct Stopped {
    /// Whether it blocked while the limit applied.
    stood: bool,
    under_oom: u64,
    /// Whether it continued when the limit was lifted.
    went_on: bool,
    kills: u64,
}

fn judge_stopped(stopped: &Stopped) -> Outcome {
    let Stopped { stood, under_oom, went_on, kills } = *stopped;
    let evidence = format!(
        "oom_kill_disable 1, limit 32 MiB, a process that wants 96 MiB: under_oom {under_oom}, it {}; with \
         the limit lifted it {}; oom_kill {kills}",
        if stood { "blocked" } else { "not blocked" },
        if went_on { "continued" } else { "did not continue" }
    );
    Outcome::holds(stood && under_oom == 1 && went_on && kills == 0, evidence)
}

/// Memory limit of a group that swaps, and what a process in it wants.
const LIMIT: u64 = 32 * MIB;
const REQUESTED: u64 = 64 * MIB;

/// Result of a hog twice as large as its memory limit, with limited swap space.
#[derive(Debug, Clone, Copy)]
struct Swapped {
    allowed: u64,
    got: Option<u64>,
    swapped: u64,
    kills: u64,
}

fn swapped(fixture: &Fixture, allowed: u64) -> Result<Swapped, Error> {
    let max = fixture.by_version("memory.limit_in_bytes", "memory.max");
    // v1 limits memory and swap together, v2 swap alone.
    let (file, value) = fixture
        .by_version(("memory.memsw.limit_in_bytes", LIMIT + allowed), ("memory.swap.max", allowed));
    fixture.make("a")?;
    fixture.write("a", max, &LIMIT.to_string())?;
    fixture.write("a", file, &value.to_string())?;
    let mut probe = fixture.start("a", "memory")?;
    let got = touch(&mut probe, REQUESTED)?.map(|progress| progress.bytes);
    let swapped = if fixture.is_v2() {
        fixture.number("a", "memory.swap.current")?
    } else {
        fixture.keyed("a", "memory.stat", "swap")?
    };
    Ok(Swapped { allowed, got, swapped, kills: oom_kills(fixture, "a")? })
}

impl Swapped {
    fn evidence(&self) -> String {
        format!(
            "memory 32 MiB, swap {:.0} MiB, a process that wants 64 MiB {}; {:.1} MiB in swap, \
             oom_kill {}",
            mib(self.allowed),
            if self.got.is_some() { "survived" } else { "was killed" },
            mib(self.swapped),
            self.kills
        )
    }
}

fn judge_rest(hog: &Swapped, free: u64) -> Outcome {
    let kept = hog.got == Some(REQUESTED) && hog.swapped >= 24 * MIB && hog.kills == 0;
    let is_full = hog.got.is_none() && free < REQUESTED;
    Outcome::holds(kept, hog.evidence()).void_if(is_full, "the host's swap space is nearly full")
}

fn judge_bound(hog: &Swapped) -> Outcome {
    let kept = hog.got.is_none() && hog.kills == 1 && hog.swapped <= hog.allowed;
    Outcome::holds(kept, hog.evidence())
}

/// A process that swaps, and how fast; nothing if it was killed. And `high` of memory.swap.events.
type Braked = (Option<Progress>, u64);

/// It is watched from outside: above the bound each of its pages takes up to two seconds, those of its own code as well.
fn braked(fixture: &Fixture, group: &str, high: &str) -> Result<Braked, Error> {
    fixture.make(group)?;
    fixture.write(group, "memory.max", &LIMIT.to_string())?;
    fixture.write(group, "memory.swap.high", high)?;
    let mut probe = fixture.start(group, "memory")?;
    probe.send(&format!("touch {REQUESTED}"));
    let swapped = || fixture.number(group, "memory.swap.current");
    fixture.wait_for(20.0, || Ok(swapped()? > 0))?;
    let began = Instant::now();
    fixture.wait_for(5.0, || Ok(swapped()? >= REQUESTED - LIMIT))?;
    let speed = Progress { bytes: swapped()?, seconds: began.elapsed().as_secs_f64() };
    let lives = probe.ended_within(Duration::ZERO).is_none();
    Ok((lives.then_some(speed), fixture.keyed(group, "memory.swap.events", "high")?))
}

fn judge_high(free: Braked, held: Braked) -> Outcome {
    let outcome = judge_slowed("memory.swap.high", free.0, held.0, held.1);
    let shown = [("max", free), ("1 MiB", held)].map(|(high, (got, events))| {
        let speed = got.map_or(0.0, Progress::mib_per_s);
        format!(
            "64 MiB in memory of 32 MiB, memory.swap.high {high}: {speed:.1} MiB/s to swap; events high {events}"
        )
    });
    shown.into_iter().fold(outcome, Outcome::with)
}

/// Peak zswap use of a group that swaps.
fn zswapped(fixture: &Fixture, group: &str, most: &str) -> Result<u64, Error> {
    fixture.make(group)?;
    fixture.write(group, "memory.max", &LIMIT.to_string())?;
    fixture.write(group, "memory.zswap.max", most)?;
    let _probe = hold(fixture, group, REQUESTED)?;
    fixture.number(group, "memory.zswap.current")
}

fn judge_zswap(free: u64, none: u64) -> Outcome {
    let evidence = format!(
        "a process that swaps: {:.2} MiB compressed with memory.zswap.max max, {:.2} MiB with 0",
        mib(free),
        mib(none)
    );
    Outcome::holds(none == 0, evidence)
        .void_if(none == 0 && free == 0, "zswap kept nothing without a limit, either")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partial_group_kill_and_an_unrequested_group_kill_are_broken() {
        let all = Victims { hog_died: true, others_died: 2, kills: 4 };
        let one = Victims { hog_died: true, others_died: 0, kills: 1 };
        assert_eq!(judge_group(&all).verdict, Verdict::Kept);
        assert_eq!(judge_group(&one).verdict, Verdict::Broken);
        assert_eq!(judge_one(&one, "v1").verdict, Verdict::Kept);
        assert_eq!(judge_one(&all, "v1").verdict, Verdict::Broken);
    }

    #[test]
    fn a_kill_or_a_process_that_never_continues_is_broken() {
        let kept = Stopped { stood: true, under_oom: 1, went_on: true, kills: 0 };
        assert_eq!(judge_stopped(&kept).verdict, Verdict::Kept);
        for broken in [
            Stopped { stood: false, ..kept },
            Stopped { went_on: false, ..kept },
            Stopped { kills: 1, ..kept },
        ] {
            assert_eq!(judge_stopped(&broken).verdict, Verdict::Broken, "{broken:?}");
        }
    }

    #[test]
    fn unbounded_swap_is_broken() {
        let bounded = Swapped { allowed: 8 * MIB, got: None, swapped: 0, kills: 1 };
        assert_eq!(judge_bound(&bounded).verdict, Verdict::Kept);
        let free = Swapped { got: Some(REQUESTED), swapped: 33 * MIB, kills: 0, ..bounded };
        assert_eq!(judge_bound(&free).verdict, Verdict::Broken);
    }

    #[test]
    fn a_kill_despite_free_swap_is_broken() {
        let killed = Swapped { allowed: 128 * MIB, got: None, swapped: 0, kills: 1 };
        assert_eq!(judge_rest(&killed, 1 << 30).verdict, Verdict::Broken);
        assert_eq!(judge_rest(&killed, MIB).verdict, Verdict::Void);
        let lives = Swapped { got: Some(REQUESTED), swapped: 33 * MIB, kills: 0, ..killed };
        assert_eq!(judge_rest(&lives, 1 << 30).verdict, Verdict::Kept);
    }

    #[test]
    fn zswap_beyond_its_limit_is_broken() {
        assert_eq!(judge_zswap(MIB, 0).verdict, Verdict::Kept);
        assert_eq!(judge_zswap(MIB, MIB).verdict, Verdict::Broken);
        assert_eq!(judge_zswap(0, 0).verdict, Verdict::Void);
    }

    #[test]
    fn a_hog_above_swap_high_that_goes_on_as_before_or_dies_is_broken() {
        let hog = |mib_a_second: u64, events| -> Braked {
            (Some(Progress { bytes: mib_a_second * MIB, seconds: 1.0 }), events)
        };
        let free = hog(60, 0);
        assert_eq!(judge_high(free, hog(6, 40)).verdict, Verdict::Kept);
        assert_eq!(judge_high(free, hog(60, 40)).verdict, Verdict::Broken);
        assert_eq!(judge_high(free, hog(6, 0)).verdict, Verdict::Broken);
        assert_eq!(judge_high(free, (None, 1)).verdict, Verdict::Broken);
        assert_eq!(judge_high((None, 0), free).verdict, Verdict::Void);
    }
}
