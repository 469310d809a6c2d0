//! What the programs have counted up to one moment (`programs/contended.bpf.c`).

use crate::fairness::timing::{TIMING, Timing};

/// Words of `struct share` and of `struct cpu`.
const SHARE: usize = 5;
const CPU: usize = 7 + TIMING;

/// Slots of threads in no known group; those of groups follow.
pub(crate) const ROOT: usize = 0;
/// The kernel's own threads.
pub(crate) const KERNEL: usize = 1;
/// The first group.
pub const FIRST_GROUP: usize = 2;

/// A group on a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Share {
    /// Since when it could have used the CPU; 0 if it cannot, or if that is not known.
    pub(crate) since_ns: u64,
    /// How long threads of the group itself ran, without groups below.
    pub(crate) run_ns: u64,
    /// The same of real-time threads, which no weight binds.
    pub(crate) real_time_ns: u64,
    /// The part of `shares` that the kernel gives to it on this CPU.
    pub(crate) weight: u64,
    /// The group's weight as the kernel knows it; 0 if it was not seen to run.
    pub(crate) shares: u64,
}

/// Counters of a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cpu {
    /// Switches that were not shown.
    pub hidden: u64,
    /// How long nobody knows who ran, since more than one switch in succession was not shown.
    pub unknown_ns: u64,
    /// When it was last unknown which groups were there.
    pub(crate) doubted_ns: u64,
    /// When a switch was last shown.
    pub(crate) last_ns: u64,
    /// Switches that were shown, and what they cost.
    pub timing: Timing,
}

/// All groups on all CPUs at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Look {
    /// When, on the clock of the programs.
    pub at_ns: u64,
    /// The CPUs.
    pub cpus: Vec<Cpu>,
    slots: usize,
    shares: Vec<Share>,
}

impl Look {
    /// Parses the memory of the programs, and adds what the running threads have used since they were switched in. Nothing
    /// if the sizes do not fit.
    #[must_use]
    pub fn parse(at_ns: u64, cpus: &[u64], shares: &[u64]) -> Option<Self> {
        let count = cpus.len() / CPU;
        let slots = (shares.len() / SHARE).checked_div(count)?;
        let mut look = Self { at_ns, slots, ..Self::default() };
        look.shares = shares.chunks_exact(SHARE).map(share).collect();
        for (number, words) in cpus.chunks_exact(CPU).enumerate() {
            let [last, running, real_time, _, hidden, unknown_ns, doubted_ns, rest @ ..] = words
            else {
                return None;
            };
            let [last, running, real_time] = [*last, *running, *real_time];
            let (hidden, unknown_ns, doubted_ns) = (*hidden, *unknown_ns, *doubted_ns);
            let (last_ns, timing) = (last, Timing::parse(rest));
            look.cpus.push(Cpu { hidden, unknown_ns, doubted_ns, last_ns, timing });
            for share in look.shares.iter_mut().skip(number * slots).take(slots) {
                share.since_ns = if share.since_ns < doubted_ns { 0 } else { share.since_ns };
            }
            let at = number * slots + usize::try_from(running).unwrap_or(usize::MAX).min(slots);
            let is_slot = running < slots as u64 && last != 0;
            if let Some(share) = look.shares.get_mut(at).filter(|_| is_slot) {
                let counter =
                    if real_time == 0 { &mut share.run_ns } else { &mut share.real_time_ns };
                *counter += at_ns.saturating_sub(last);
            }
        }
        Some(look)
    }

    /// A group on a CPU.
    pub(crate) fn share(&self, cpu: usize, slot: usize) -> Share {
        if slot >= self.slots {
            return Share::default();
        }
        self.shares.get(cpu * self.slots + slot).copied().unwrap_or_default()
    }

    /// How many slots there are.
    pub(crate) fn slots(&self) -> usize {
        self.slots
    }
}

fn share(words: &[u64]) -> Share {
    let at = |index: usize| words.get(index).copied().unwrap_or(0);
    Share { since_ns: at(0), run_ns: at(1), real_time_ns: at(2), weight: at(3), shares: at(4) }
}

/// The time between two looks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span<'l> {
    /// Its number, from 0 on.
    pub(crate) number: usize,
    /// The first look.
    pub(crate) before: &'l Look,
    /// The second look.
    pub(crate) after: &'l Look,
}

impl Span<'_> {
    /// Its length.
    pub(crate) fn seconds(&self) -> f64 {
        self.after.at_ns.saturating_sub(self.before.at_ns) as f64 * 1e-9
    }

    /// Whether a group could have used a CPU all the time, as far as is known.
    pub(crate) fn was_there(&self, cpu: usize, slot: usize) -> bool {
        let since = self.after.share(cpu, slot).since_ns;
        since != 0 && since <= self.before.at_ns && self.is_checked(cpu)
    }

    /// That a switch was hidden is seen at the next one that is shown: on a host that hides some, until then nobody knows.
    fn is_checked(&self, cpu: usize) -> bool {
        let hides = self.after.cpus.iter().any(|one| one.hidden > 0);
        !hides || self.after.cpus.get(cpu).is_some_and(|one| one.last_ns > self.before.at_ns)
    }

    /// Whether only switches that were not shown leave open if a group could have used a CPU all the time.
    pub(crate) fn may_have_been_there(&self, cpu: usize, slot: usize) -> bool {
        let hidden = |look: &Look| look.cpus.get(cpu).map(|one| one.hidden);
        (hidden(self.before) != hidden(self.after) || !self.is_checked(cpu))
            && !self.was_there(cpu, slot)
            && self.before.share(cpu, slot).since_ns != 0
    }

    /// How long threads of a group itself ran on a CPU.
    pub(crate) fn run_ns(&self, cpu: usize, slot: usize) -> u64 {
        let run = |look: &Look| look.share(cpu, slot).run_ns;
        run(self.after).saturating_sub(run(self.before))
    }

    /// The same of real-time threads.
    pub(crate) fn real_time_ns(&self, cpu: usize, slot: usize) -> u64 {
        let run = |look: &Look| look.share(cpu, slot).real_time_ns;
        run(self.after).saturating_sub(run(self.before))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_has_used_the_time_since_its_switch() {
        // One CPU with 3 slots: slot 2 runs since 1000.
        let cpus = [1000, 2, 0, 77, 0, 0, 0, 5, 1, 90];
        let mut shares = [0; 15];
        shares[10..15].copy_from_slice(&[400, 300, 20, 512, 1024]);
        let look = Look::parse(1500, &cpus, &shares).unwrap();
        let share = look.share(0, 2);
        assert_eq!((share.run_ns, share.real_time_ns, share.since_ns), (800, 20, 400));
        assert_eq!(look.share(0, 3), Share::default());
        let idle = [1000, u64::MAX, 0, 0, 0, 0, 0, 5, 1, 90];
        assert_eq!(Look::parse(1500, &idle, &shares).unwrap().share(0, 2).run_ns, 300);
        assert_eq!(Look::parse(1500, &[], &shares), None);
    }

    /// One CPU whose only group is there since 400: a look with so many hidden switches, and the time up to which is doubted.
    fn look(at_ns: u64, hidden: u64, doubted_ns: u64) -> Look {
        switched(at_ns, at_ns - 1, hidden, doubted_ns)
    }

    fn switched(at_ns: u64, last_ns: u64, hidden: u64, doubted_ns: u64) -> Look {
        let cpus = [last_ns, u64::MAX, 0, 0, hidden, 0, doubted_ns, 0, 0, 0];
        let mut shares = [0; 15];
        shares[10] = 400;
        Look::parse(at_ns, &cpus, &shares).unwrap()
    }

    #[test]
    fn on_a_host_that_hides_switches_a_cell_without_any_shows_nothing() {
        let span = |hidden| -> [bool; 2] {
            let (before, after) = (look(500, hidden, 0), switched(600, 499, hidden, 0));
            let span = Span { number: 0, before: &before, after: &after };
            [span.was_there(0, 2), span.may_have_been_there(0, 2)]
        };
        assert_eq!((span(0), span(1)), ([true, false], [false, true]));
    }

    #[test]
    fn a_group_is_not_known_to_be_there_since_before_a_doubt() {
        let [before, seen, doubted] = [look(500, 0, 0), look(600, 1, 0), look(600, 2, 550)];
        let span = |after| Span { number: 0, before: &before, after };
        assert!(span(&seen).was_there(0, 2) && !span(&seen).may_have_been_there(0, 2));
        assert!(!span(&doubted).was_there(0, 2) && span(&doubted).may_have_been_there(0, 2));
        // As long as it is not seen again, it is not there either.
        let later = look(700, 2, 550);
        let span = Span { number: 1, before: &doubted, after: &later };
        assert!(!span.was_there(0, 2) && !span.may_have_been_there(0, 2));
    }
}
