//! Protection in a tree, with the numbers of the kernel's own test (tools/testing/selftests/cgroup/
//! test_memcontrol.c, test_memcg_protection).
//!
//! `a` has 200 MiB in all and no swap. `a/b` is protected by 50 MiB, and its children by more than that
//! together; each but the last holds 50 MiB of page cache. Then `a/g` allocates.

use super::*;

pub(crate) const CASES: &[Case] = &[
    V2_CACHE.case(
        "nested-min-is-shared-by-protection",
        "Groups inside a group with memory.min share it by their own, and none of it is given up.",
        |fixture| Ok(guarded(&protect(fixture, "memory.min", PARENT)?, |seen| judge(seen, true))),
    ),
    V2_CACHE.case(
        "nested-low-is-shared-by-protection",
        "Groups inside a group with memory.low share it by their own, until an OOM kill would follow.",
        |fixture| Ok(guarded(&protect(fixture, "memory.low", PARENT)?, |seen| judge(seen, false))),
    ),
    V2_CACHE.case(
        "low-without-the-parents-protects-nothing",
        "Groups inside a group without memory.low are not protected by their own.",
        |fixture| Ok(guarded(&protect(fixture, "memory.low", 0)?, judge_unprotected)),
    ),
];

const LIMIT: u64 = 200 * MIB;
const PARENT: u64 = 50 * MIB;

/// Children of `a/b`: name, protection, page cache.
const CHILDREN: [(&str, u64, u64); 4] =
    [("c", 75 * MIB, 50 * MIB), ("d", 25 * MIB, 50 * MIB), ("e", 0, 50 * MIB), ("f", 500 * MIB, 0)];

/// First pressure: what fits beside the protected memory. Then: what does not.
const PRESSURE: u64 = 148 * MIB;
const TOO_MUCH: u64 = 170 * MIB;

/// Expected MiB after the first pressure and the tolerance of the test as it is now: |a - b| of a + b.
const EXPECTED: [(&str, f64, f64); 4] =
    [("a/b", 50.0, 0.03), ("a/b/c", 29.0, 0.15), ("a/b/d", 21.0, 0.20), ("a/b/f", 0.0, 1.0)];

/// What was seen.
#[derive(Debug, Clone, PartialEq)]
struct Seen {
    /// MiB of each group of [`EXPECTED`] after the first pressure.
    after: [f64; 4],
    /// Whether the second, larger allocation survived, and MiB of `a/b` after it.
    survived: bool,
    rest: f64,
    /// Whether the kernel killed it for want of memory, if it did not.
    is_killed: bool,
    /// Pages that were scanned because the whole machine was short of memory.
    scanned: u64,
}

fn protect(fixture: &mut Fixture, file: &str, parent: u64) -> Result<Seen, Stop> {
    let scanned = scanned_for_machine(fixture)?;
    let disk = fixture.blank_disk(200 * MIB)?.node.display().to_string();
    fixture.make_parent("a")?;
    limit(fixture, "a", LIMIT)?;
    fixture.make_parent("a/b")?;
    fixture.write("a/b", file, &parent.to_string())?;
    // All on one CPU, so that their pages are on one node.
    let mut readers: Vec<Running> = Vec::new();
    let mut offset = 0;
    for (name, protection, held) in CHILDREN {
        let group = format!("a/b/{name}");
        fixture.make(&group)?;
        fixture.write(&group, file, &protection.to_string())?;
        if held > 0 {
            let mut reader = fixture.start_bound(&group, "memory")?;
            execute(&mut reader, &format!("read {held} {disk} {offset}"))?;
            offset += held;
            readers.push(reader);
        }
    }
    fixture.make("a/g")?;
    let mut hog = fixture.start_bound("a/g", "memory")?;
    touch(&mut hog, PRESSURE)?;
    let mut after = [0.0; 4];
    for (seen, (group, ..)) in after.iter_mut().zip(EXPECTED) {
        *seen = mib(current(fixture, group)?);
    }
    execute(&mut hog, "drop")?;
    hog.end()?;
    let mut hog = fixture.start_bound("a/g", "memory")?;
    let survived = touch(&mut hog, TOO_MUCH)?.is_some();
    let rest = mib(cache(fixture, "a/b")?);
    let is_killed = oom_kills(fixture, "a/g")? > 0;
    let scanned = scanned_for_machine(fixture)?.saturating_sub(scanned);
    Ok(Seen { after, survived, rest, is_killed, scanned })
}

/// Judges what was seen, unless that was not the doing of these groups.
fn guarded(seen: &Seen, judge: impl Fn(&Seen) -> Outcome) -> Outcome {
    let outcome = unless_short(judge(seen), seen.scanned);
    if seen.survived || seen.is_killed {
        return outcome;
    }
    outcome.but_void("the hog ended for another reason")
}

fn is_near(seen: f64, (_, expected, tolerance): (&str, f64, f64)) -> bool {
    // A group without a page still has some kernel memory.
    (seen - expected).abs() <= ((seen + expected) * tolerance).max(2.0)
}

fn judge(seen: &Seen, is_hard: bool) -> Outcome {
    let shown = EXPECTED
        .iter()
        .zip(seen.after)
        .map(|((group, expected, _), seen)| format!("{group} {seen:.1} ({expected:.0})"));
    let second = if seen.survived { "succeeded" } else { "ended in an OOM kill" };
    let evidence = format!(
        "MiB left beside 148 MiB of a sibling of a/b, with those expected: {}; 170 MiB {second}, and \
         left {:.1}",
        shown.collect::<Vec<_>>().join(", "),
        seen.rest
    );
    let off: Vec<&str> = EXPECTED
        .iter()
        .zip(seen.after)
        .filter(|(expected, seen)| !is_near(*seen, **expected))
        .map(|((group, ..), _)| *group)
        .collect();
    let broken = match off.first() {
        _ if seen.survived && is_hard => "an allocation into hard-protected memory succeeded",
        _ if !seen.survived && !is_hard => "memory.low was not given up before an OOM kill",
        None => return Outcome::kept(evidence),
        // The parent as a whole is exact; its children converge over several rounds of reclaim.
        Some(&"a/b") if seen.after[0] < 0.8 * mib(PARENT) => "the protection of a/b was not kept",
        Some(_) if seen.after[1] <= seen.after[2] => "the child with more protection kept less",
        Some(_) => {
            let why = format!("{} is not near what is expected", off.join(", "));
            return Outcome::undecided(why).with(evidence);
        }
    };
    Outcome::broken(broken).with(evidence)
}

/// Without protection of their parent, what is left for its children is about 200 - 148 MiB, shared by
/// size: they are reclaimed like `a/b/e`, which has no protection.
fn judge_unprotected(seen: &Seen) -> Outcome {
    let [whole, c, d, _] = seen.after;
    let evidence = format!(
        "without protection of a/b, beside 148 MiB of its sibling: a/b {whole:.1} MiB, a/b/c {c:.1}, \
         a/b/d {d:.1}; 170 MiB {}",
        if seen.survived { "succeeded" } else { "ended in an OOM kill" }
    );
    let broken = if !seen.survived {
        "children were protected without their parent"
    } else if c > 40.0 && d < 25.0 && whole <= 100.0 {
        "a child was protected without its parent"
    } else {
        return Outcome::kept(evidence).void_if(whole > 100.0, "there was no pressure");
    };
    Outcome::broken(broken).with(evidence)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(after: [f64; 4], survived: bool) -> Seen {
        Seen { after, survived, rest: 30.0, is_killed: !survived, scanned: 0 }
    }

    #[test]
    fn a_hog_that_ended_otherwise_and_a_short_machine_show_nothing() {
        let model = [50.0, 28.8, 21.0, 0.0];
        let hard = |seen: &Seen| guarded(seen, |seen| judge(seen, true)).verdict;
        assert_eq!(hard(&seen(model, false)), Verdict::Kept);
        assert_eq!(hard(&Seen { is_killed: false, ..seen(model, false) }), Verdict::Void);
        let lost = [20.0, 8.0, 6.0, 0.0];
        assert_eq!(hard(&seen(lost, false)), Verdict::Broken);
        assert_eq!(hard(&Seen { scanned: 5000, ..seen(lost, false) }), Verdict::Void);
    }

    #[test]
    fn protection_that_is_lost_or_shared_wrongly_is_broken() {
        let model = [50.0, 28.8, 21.0, 0.0];
        assert_eq!(judge(&seen(model, false), true).verdict, Verdict::Kept);
        assert_eq!(judge(&seen(model, true), false).verdict, Verdict::Kept);
        // A hard protection that yields, and a soft one that does not.
        assert_eq!(judge(&seen(model, true), true).verdict, Verdict::Broken);
        assert_eq!(judge(&seen(model, false), false).verdict, Verdict::Broken);
        assert_eq!(judge(&seen([20.0, 8.0, 6.0, 0.0], true), false).verdict, Verdict::Broken);
        assert_eq!(judge(&seen([50.0, 17.0, 17.0, 0.0], true), false).verdict, Verdict::Broken);
        assert_eq!(judge(&seen([50.0, 45.0, 5.0, 0.0], true), false).verdict, Verdict::Undecided);
    }

    #[test]
    fn protection_without_a_parents_is_broken() {
        assert_eq!(judge_unprotected(&seen([48.0, 17.0, 16.0, 0.0], true)).verdict, Verdict::Kept);
        let protected = seen([52.0, 48.0, 3.0, 0.0], true);
        assert_eq!(judge_unprotected(&protected).verdict, Verdict::Broken);
        assert_eq!(judge_unprotected(&seen([150.0, 50.0, 50.0, 0.0], true)).verdict, Verdict::Void);
    }
}
