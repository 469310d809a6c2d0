//! OOM kills: one process, the whole group, or none while killing is disabled.

use assay_kernel::Error;

use super::hog::{MIB, execute, limit, limited, oom_kills};
use crate::fixture::Fixture;
use crate::outcome::{Outcome, Stop};

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
    let hog_died = execute(&mut hog, &format!("touch {}", 96 * MIB))?.is_none();
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

pub(super) fn group(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    let victims = three(fixture, true)?;
    Ok(judge_group(&victims))
}

/// The first victim is counted once more with its group (Linux 6.1 and 6.12).
fn judge_group(victims: &Victims) -> Outcome {
    let as_one = victims.hog_died && victims.others_died == 2 && victims.kills >= 3;
    Outcome::holds(as_one, victims.evidence("memory.oom.group 1"))
}

pub(super) fn one(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    let victims = three(fixture, false)?;
    Ok(judge_one(&victims, fixture.by_version("v1", "memory.oom.group 0")))
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

pub(super) fn disabled(fixture: &mut Fixture) -> Result<Outcome, Stop> {
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
}

fn judge_stopped(stopped: &Stopped) -> Outcome {
    let line = format!(
        "oom_kill_disable 1, limit 32 MiB, a process that wants 96 MiB: under_oom {}, it {}; with \
         the limit lifted it {}; oom_kill {}",
        stopped.under_oom,
        if stopped.stood { "blocked" } else { "not blocked" },
        if stopped.went_on { "continued" } else { "did not continue" },
        stopped.kills
    );
    let kept = stopped.stood && stopped.under_oom == 1 && stopped.went_on && stopped.kills == 0;
    Outcome::holds(kept, line)
}

/// With enough memory the setting has no effect.
pub(super) fn below_capacity(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    fixture.make("a")?;
    fixture.write("a", "memory.oom_control", "1")?;
    limit(fixture, "a", 96 * MIB)?;
    let mut probe = fixture.start("a", "memory")?;
    let got = execute(&mut probe, &format!("touch {}", 32 * MIB))?;
    let under_oom = fixture.keyed("a", "memory.oom_control", "under_oom")?;
    fixture.write("a", "memory.oom_control", "0")?;
    let evidence = format!(
        "oom_kill_disable 1, limit 96 MiB: {:.0} of 32 MiB got, under_oom {under_oom}",
        got.map_or(0.0, super::hog::Progress::mib)
    );
    Ok(Outcome::holds(
        got.is_some_and(|progress| progress.bytes == 32 * MIB) && under_oom == 0,
        evidence,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Verdict;

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
}
