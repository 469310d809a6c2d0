//! Who loses page cache when the whole machine is short of memory: reclaim then begins at the root, where the
//! multi-generational LRU goes through the groups in its own way (`shrink_many` of mm/vmscan.c, Linux 6.3).
//!
//! Two groups have read as much, a hog takes memory until one has lost half of it or little is left. Only for
//! machines that are made for tests: everything else on them loses its memory, too.

use assay_sys::kernel::parse::keyed::kibibytes;

use super::*;

/// While the whole machine is short of memory.
const SHORT: Topic = MEMORY.needing(&[Need::OnV2("memory"), Need::Loop, Need::Emulated]);
const TAKES_ALL: &str = "takes nearly all memory of this emulated machine for some seconds";

pub(crate) const CASES: &[Case] = &[
    SHORT
        .case(
            "low-holds-while-the-machine-is-short",
            "memory.low keeps a group's page cache while the whole machine is short of memory and \
             others have some.",
            |fixture| press(fixture, "memory.low", PROTECTION, true, protects),
        )
        .warning(TAKES_ALL),
    SHORT
        .case(
            "min-holds-while-the-machine-is-short",
            "memory.min keeps a group's page cache while the whole machine is short of memory and \
             others have some.",
            |fixture| press(fixture, "memory.min", PROTECTION, true, protects),
        )
        .warning(TAKES_ALL),
];

pub(crate) const SOFT: &[Case] = &[V1
    .needing(&[Need::OnV1("memory"), Need::Loop, Need::Emulated])
    .case(
        "soft-limit-yields-first",
        "A group above its soft limit is reclaimed first when the host is short of memory.",
        // The limit is a quarter of what the group holds; its sibling is below any.
        |fixture| press(fixture, "memory.soft_limit_in_bytes", CACHE / 4, false, yields),
    )
    .warning(TAKES_ALL)];

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

    /// The outcome, unless this shows nothing, whatever the setting.
    fn judged(&self, file: &str, (verdict, reason): (Verdict, &str)) -> Outcome {
        let is_calm = self.set.lost().max(self.plain.lost()) < 0.2;
        Outcome::decided(verdict, self.evidence(file), reason, reason)
            .void_if(is_calm, "no group lost anything")
            .void_if(self.is_killed, "the hog was killed before it had taken enough")
    }
}

/// Presses a machine in which [`SET`] has `value` in `file`, and so have the groups above it if `is_nested`.
fn press(
    fixture: &mut Fixture,
    file: &str,
    value: u64,
    is_nested: bool,
    judge: fn(&Seen, &str) -> Outcome,
) -> Result<Outcome, Stop> {
    let disk = fixture.blank_disk(2 * CACHE)?.node.display().to_string();
    let groups = if is_nested { &["", SET][..] } else { &[SET] };
    fixture.make_each(&[SET, PLAIN, "hog"])?;
    for group in groups {
        fixture.write(group, file, &value.to_string())?;
    }
    // All on one CPU, so that their pages are on one node.
    let mut readers: Vec<Running> = Vec::new();
    for (group, offset) in [(SET, 0), (PLAIN, CACHE)] {
        let mut reader = fixture.start_bound(group, "memory")?;
        // What is read twice counts as in use.
        for _ in 0..2 {
            execute(&mut reader, &format!("read {CACHE} {disk} {offset}"))?;
        }
        readers.push(reader);
    }
    let before = [cache(fixture, SET)?, cache(fixture, PLAIN)?];
    let mut hog = fixture.start_bound("hog", "memory")?;
    let (mut taken, mut is_killed) = (0, false);
    let after = loop {
        let after = [cache(fixture, SET)?, cache(fixture, PLAIN)?];
        let is_pressed = after.iter().zip(before).any(|(after, before)| *after < before / 2);
        let available = available(fixture)?;
        if is_pressed || is_killed || available < LEAST {
            break after;
        }
        let step = STEPS[usize::from(available < LITTLE)];
        match touch(&mut hog, step)? {
            Some(step) => taken += step.bytes,
            None => is_killed = true,
        }
    };
    let [set, plain] = [0, 1].map(|at| Held { before: before[at], after: after[at] });
    Ok(judge(&Seen { set, plain, taken, is_killed }, file))
}

/// Memory that can still be had, by the kernel's estimate.
fn available(fixture: &Fixture) -> Result<u64, Stop> {
    let text = fixture.root.read("/proc/meminfo")?;
    Ok(kibibytes(&text, "MemAvailable").unwrap_or(0))
}

/// A protected group keeps what it has while an unprotected one still has something to give.
fn protects(seen: &Seen, file: &str) -> Outcome {
    let judged = match (seen.set.lost(), seen.plain.lost()) {
        (lost, _) if lost <= 0.05 => (Verdict::Kept, ""),
        // It must be given up only once there is nothing else.
        (_, other) if other > 0.9 => (Verdict::Undecided, "its sibling had nothing left to give"),
        (lost, other) if lost >= other / 2.0 => {
            (Verdict::Broken, "the protected group lost page cache that its sibling still had")
        }
        _ => (Verdict::Undecided, "the protected group lost a little"),
    };
    seen.judged(file, judged)
}

/// A group above its soft limit loses memory before one that is not.
fn yields(seen: &Seen, file: &str) -> Outcome {
    let judged = match (seen.set.lost(), seen.plain.lost()) {
        (lost, other) if lost >= 2.0 * other => (Verdict::Kept, ""),
        (lost, other) if lost <= other => {
            (Verdict::Broken, "the group above its soft limit lost no more than its sibling")
        }
        _ => (Verdict::Undecided, "the group above its soft limit lost a little more"),
    };
    seen.judged(file, judged)
}

#[cfg(test)]
mod tests {
    use super::*;

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
