//! Who loses page cache when the whole machine is short of memory: reclaim then begins at the root, where the
//! multi-generational LRU goes through the groups in its own way (`shrink_many` of mm/vmscan.c, Linux 6.3).
//!
//! Two groups have read as much, a hog takes memory until one has lost half of it or little is left. Only for
//! machines that are made for tests: everything else on them loses its memory, too.

use assay_kernel::parse::keyed::kibibytes;

use super::hog::{MIB, cache, execute, mib};
use crate::fixture::Fixture;
use crate::outcome::{Outcome, Stop};
use crate::running::Running;

/// Protection of a group: a little more than it holds. With the mount option memory_recursiveprot the kernel gives what a group above has beyond that to
/// all below, the sibling as well (`effective_protection` of mm/page_counter.c).
const PROTECTION: u64 = CACHE + CACHE / 16;
/// Page cache of each group: more than the 16 MiB below which reclaim skips a group at first.
const CACHE: u64 = 128 * MIB;
/// What the hog takes at a time: much while there is a lot, then little, so that it is not killed.
const STEPS: [u64; 2] = [16 * MIB, 4 * MIB];
/// Available memory that is not a lot, and at which it stops. Of page cache the kernel counts some as not available.
const LITTLE: u64 = 3 * CACHE;
const LEAST: u64 = 16 * MIB;

/// The group whose memory has a setting, and its sibling without.
const SET: &str = "set";
const PLAIN: &str = "plain";

/// Page cache of a group, in bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Held {
    before: u64,
    after: u64,
}

impl Held {
    fn lost(self) -> f64 {
        1.0 - self.after as f64 / self.before.max(1) as f64
    }

    fn left(self) -> String {
        format!("{:.1} of {:.1} MiB", mib(self.after), mib(self.before))
    }
}

/// What was seen.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Seen {
    set: Held,
    plain: Held,
    /// What the hog took.
    taken: u64,
    /// Whether it was killed.
    is_killed: bool,
}

impl Seen {
    fn evidence(&self, file: &str) -> String {
        format!(
            "left of the group with {file} {}, of its sibling {}, when a third had taken {:.0} MiB",
            self.set.left(),
            self.plain.left(),
            mib(self.taken)
        )
    }

    /// Why it shows nothing, whatever the setting.
    fn why_nothing(&self) -> Option<&'static str> {
        match () {
            () if self.is_killed => Some("the hog was killed before it had taken enough"),
            () if self.set.lost().max(self.plain.lost()) < 0.2 => Some("no group lost anything"),
            () => None,
        }
    }
}

/// Presses a machine in which [`SET`] has `value` in `file`, and so have the groups above it if `is_nested`.
fn press(fixture: &mut Fixture, file: &str, value: u64, is_nested: bool) -> Result<Seen, Stop> {
    let disk = fixture.blank_disk(2 * CACHE)?.node.display().to_string();
    let groups = if is_nested { &["", SET][..] } else { &[SET] };
    for group in [SET, PLAIN, "hog"] {
        fixture.make(group)?;
    }
    for group in groups {
        fixture.write(group, file, &value.to_string())?;
    }
    // All on one CPU, so that their pages are on one node.
    let words = format!("memory cpu={}", fixture.cpu());
    let mut readers: Vec<Running> = Vec::new();
    for (group, offset) in [(SET, 0), (PLAIN, CACHE)] {
        let mut reader = fixture.start(group, &words)?;
        // What is read twice counts as in use.
        for _ in 0..2 {
            execute(&mut reader, &format!("read {CACHE} {disk} {offset}"))?;
        }
        readers.push(reader);
    }
    let before = [cache(fixture, SET)?, cache(fixture, PLAIN)?];
    let mut hog = fixture.start("hog", &words)?;
    let (mut taken, mut is_killed) = (0, false);
    let after = loop {
        let after = [cache(fixture, SET)?, cache(fixture, PLAIN)?];
        let is_pressed = after.iter().zip(before).any(|(after, before)| *after < before / 2);
        let available = available(fixture)?;
        if is_pressed || is_killed || available < LEAST {
            break after;
        }
        let step = STEPS[usize::from(available < LITTLE)];
        match execute(&mut hog, &format!("touch {step}"))? {
            Some(step) => taken += step.bytes,
            None => is_killed = true,
        }
    };
    let [set, plain] = [0, 1].map(|at| Held { before: before[at], after: after[at] });
    Ok(Seen { set, plain, taken, is_killed })
}

/// Memory that can still be had, by the kernel's estimate.
fn available(fixture: &Fixture) -> Result<u64, Stop> {
    let text = fixture.root().read("/proc/meminfo")?;
    Ok(kibibytes(&text, "MemAvailable").unwrap_or(0))
}

pub(super) fn low(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    Ok(protects(&press(fixture, "memory.low", PROTECTION, true)?, "memory.low"))
}

pub(super) fn min(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    Ok(protects(&press(fixture, "memory.min", PROTECTION, true)?, "memory.min"))
}

/// The limit is a quarter of what the group holds; its sibling is below any.
pub(super) fn soft_limit(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    const FILE: &str = "memory.soft_limit_in_bytes";
    Ok(yields(&press(fixture, FILE, CACHE / 4, false)?, FILE))
}

/// A protected group keeps what it has while an unprotected one still has something to give.
fn protects(seen: &Seen, file: &str) -> Outcome {
    let evidence = seen.evidence(file);
    if let Some(why) = seen.why_nothing() {
        return Outcome::void(why).with(evidence);
    }
    let outcome = match (seen.set.lost(), seen.plain.lost()) {
        (lost, _) if lost <= 0.05 => return Outcome::kept(evidence),
        // It must be given up only once there is nothing else.
        (_, other) if other > 0.9 => Outcome::undecided("its sibling had nothing left to give"),
        (lost, other) if lost >= other / 2.0 => {
            Outcome::broken("the protected group lost page cache that its sibling still had")
        }
        _ => Outcome::undecided("the protected group lost a little"),
    };
    outcome.with(evidence)
}

/// A group above its soft limit loses memory before one that is not.
fn yields(seen: &Seen, file: &str) -> Outcome {
    let evidence = seen.evidence(file);
    if let Some(why) = seen.why_nothing() {
        return Outcome::void(why).with(evidence);
    }
    let outcome = match (seen.set.lost(), seen.plain.lost()) {
        (lost, other) if lost >= 2.0 * other => return Outcome::kept(evidence),
        (lost, other) if lost <= other => {
            Outcome::broken("the group above its soft limit lost no more than its sibling")
        }
        _ => Outcome::undecided("the group above its soft limit lost a little more"),
    };
    outcome.with(evidence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Verdict;

    /// Parts of the page cache that are left.
    fn seen(set: f64, plain: f64) -> Seen {
        let held = |part: f64| Held { before: CACHE, after: (part * CACHE as f64) as u64 };
        Seen { set: held(set), plain: held(plain), taken: 1 << 30, is_killed: false }
    }

    /// As seen on Debian's 6.12: 68 and 68 of 96 MiB; with the former LRU 96 and 40.
    #[test]
    fn protection_that_is_ignored_is_broken() {
        let verdict = |set, plain| protects(&seen(set, plain), "memory.low").verdict;
        assert_eq!(verdict(68.0 / 96.0, 68.0 / 96.0), Verdict::Broken);
        assert_eq!(verdict(1.0, 40.0 / 96.0), Verdict::Kept);
        assert_eq!(verdict(0.9, 0.4), Verdict::Undecided);
        assert_eq!(verdict(0.4, 0.05), Verdict::Undecided, "there was nothing else");
        assert_eq!(verdict(1.0, 0.95), Verdict::Void);
        let killed = Seen { is_killed: true, ..seen(0.4, 0.4) };
        assert_eq!(protects(&killed, "memory.low").verdict, Verdict::Void);
    }

    #[test]
    fn a_soft_limit_that_is_ignored_is_broken() {
        let verdict = |set, plain| yields(&seen(set, plain), "memory.soft_limit_in_bytes").verdict;
        assert_eq!(verdict(0.3, 0.9), Verdict::Kept);
        assert_eq!(verdict(0.6, 0.6), Verdict::Broken);
        assert_eq!(verdict(0.5, 0.7), Verdict::Undecided);
        assert_eq!(verdict(0.9, 0.95), Verdict::Void);
    }
}
