//! Who is killed when a group is out of memory: one, all, or nobody yet.

use assay_kernel::Error;

use super::hog::{MIB, limit, limited, oom_kills, order};
use crate::fixture::Fixture;
use crate::outcome::Outcome;

/// A hog and two processes that want nothing, in one group.
#[derive(Debug, Clone, Copy)]
struct Victims {
    hog_died: bool,
    others_died: usize,
    kills: u64,
}

fn three(ground: &Fixture, all: bool) -> Result<Victims, Error> {
    limited(ground, "a", 32 * MIB)?;
    if all {
        ground.write("a", "memory.oom.group", "1")?;
    }
    let mut others = [ground.start("a", "echo")?, ground.start("a", "echo")?];
    let mut hog = ground.start("a", "memory")?;
    let hog_died = order(&mut hog, &format!("touch {}", 96 * MIB))?.is_none();
    let others_died =
        others.iter_mut().filter_map(|other| other.ended_within(ground.time(0.5))).count();
    Ok(Victims { hog_died, others_died, kills: oom_kills(ground, "a")? })
}

impl Victims {
    fn seen(&self, how: &str) -> String {
        let hog = if self.hog_died { "died" } else { "lives" };
        format!(
            "{how}: the process above the limit {hog}, {} of 2 others died, oom_kill {}",
            self.others_died, self.kills
        )
    }
}

pub(super) fn group(ground: &mut Fixture) -> Result<Outcome, Error> {
    let victims = three(ground, true)?;
    Ok(judge_group(&victims))
}

/// The one that was chosen first is counted once more with its group (Linux 6.1 and 6.12).
fn judge_group(victims: &Victims) -> Outcome {
    let as_one = victims.hog_died && victims.others_died == 2 && victims.kills >= 3;
    Outcome::holds(as_one, victims.seen("memory.oom.group 1"))
}

pub(super) fn one(ground: &mut Fixture) -> Result<Outcome, Error> {
    let victims = three(ground, false)?;
    Ok(judge_one(&victims, ground.by_version("v1", "memory.oom.group 0")))
}

fn judge_one(victims: &Victims, how: &str) -> Outcome {
    let alone = victims.hog_died && victims.others_died == 0 && victims.kills == 1;
    Outcome::holds(alone, victims.seen(how))
}

/// What became of a hog whose group has the killer switched off.
#[derive(Debug, Clone, Copy)]
struct Stopped {
    /// Whether it said nothing and did not end while the limit stood.
    stood: bool,
    under_oom: u64,
    /// Whether it went on when the limit was lifted.
    went_on: bool,
    kills: u64,
}

pub(super) fn disabled(ground: &mut Fixture) -> Result<Outcome, Error> {
    limited(ground, "a", 32 * MIB)?;
    ground.write("a", "memory.oom_control", "1")?;
    let mut hog = ground.start("a", "memory")?;
    hog.say(&format!("touch {}", 96 * MIB));
    let key = |key| ground.keyed("a", "memory.oom_control", key);
    ground.wait_for(3.0, || Ok(key("under_oom")? == 1))?;
    let under_oom = key("under_oom")?;
    // It stands as long as nobody helps: were it to go on or to be killed, it would be by now.
    let stood = hog.ended_within(ground.time(0.5)).is_none() && key("under_oom")? == 1;
    ground.write("a", "memory.limit_in_bytes", "-1")?;
    let went_on = hog.line()?.is_some();
    let seen = Stopped { stood, under_oom, went_on, kills: key("oom_kill")? };
    ground.write("a", "memory.oom_control", "0")?;
    Ok(judge_stopped(&seen))
}

fn judge_stopped(seen: &Stopped) -> Outcome {
    let line = format!(
        "oom_kill_disable 1, limit 32 MiB, a process that wants 96 MiB: under_oom {}, it {}; with \
         the limit lifted it {}; oom_kill {}",
        seen.under_oom,
        if seen.stood { "stands" } else { "does not stand" },
        if seen.went_on { "went on" } else { "did not go on" },
        seen.kills
    );
    let kept = seen.stood && seen.under_oom == 1 && seen.went_on && seen.kills == 0;
    Outcome::holds(kept, line)
}

/// With room above what a process wants, all of this does nothing.
pub(super) fn room(ground: &mut Fixture) -> Result<Outcome, Error> {
    ground.make("a")?;
    ground.write("a", "memory.oom_control", "1")?;
    limit(ground, "a", 96 * MIB)?;
    let mut probe = ground.start("a", "memory")?;
    let got = order(&mut probe, &format!("touch {}", 32 * MIB))?;
    let under_oom = ground.keyed("a", "memory.oom_control", "under_oom")?;
    ground.write("a", "memory.oom_control", "0")?;
    let seen = format!(
        "oom_kill_disable 1, limit 96 MiB: {:.0} of 32 MiB got, under_oom {under_oom}",
        got.map_or(0.0, super::hog::Done::mib)
    );
    Ok(Outcome::holds(got.is_some_and(|done| done.bytes == 32 * MIB) && under_oom == 0, seen))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Verdict;

    #[test]
    fn a_group_that_dies_in_part_is_broken_and_so_is_one_that_dies_unasked() {
        let all = Victims { hog_died: true, others_died: 2, kills: 4 };
        let one = Victims { hog_died: true, others_died: 0, kills: 1 };
        assert_eq!(judge_group(&all).verdict, Verdict::Kept);
        assert_eq!(judge_group(&one).verdict, Verdict::Broken);
        assert_eq!(judge_one(&one, "v1").verdict, Verdict::Kept);
        assert_eq!(judge_one(&all, "v1").verdict, Verdict::Broken);
    }

    #[test]
    fn a_kernel_that_kills_or_never_lets_go_on_is_broken() {
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
}
