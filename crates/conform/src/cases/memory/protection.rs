//! memory.low and memory.min keep a group's page cache under pressure from a sibling.
//!
//! The two groups share the limit of their parent, so reclaim happens there and the host itself is
//! never short of memory.

use super::*;

pub(crate) const CASES: &[Case] = &[
    V2_CACHE.case(
        "low-protects-from-a-hog",
        "memory.low keeps a group's page cache under pressure from a sibling.",
        |fixture| protects(fixture, "memory.low"),
    ),
    V2_CACHE.case(
        "min-protects-from-a-hog",
        "memory.min keeps a group's page cache under pressure from a sibling.",
        |fixture| protects(fixture, "memory.min"),
    ),
];

pub(crate) const BARE: &[Case] = &[CACHE.case(
    "unprotected-page-cache-is-lost",
    "Without protection, pressure from a sibling takes page cache away.",
    |fixture| {
        let disk = fixture.blank_disk(KEPT + HOG)?.node.display().to_string();
        Ok(judge_bare(&press(fixture, "bare", &disk, 0, None)?))
    },
)];

const SHARED: u64 = 64 * MIB;

/// At first, reclaim skips a group with fewer than 4096 pages, 16 MiB (get_scan_count() of
/// mm/vmscan.c shifts by DEF_PRIORITY), so the victim has more.
const KEPT: u64 = 32 * MIB;
const HOG: u64 = 96 * MIB;

/// The victim's page cache before and after.
#[derive(Debug, Clone, Copy)]
struct VictimCache {
    before: u64,
    after: u64,
    /// Pages that had to be read again.
    refaults: u64,
    /// How often the shared limit was reached.
    pressed: u64,
}

impl VictimCache {
    fn lost(&self) -> f64 {
        1.0 - self.after as f64 / self.before.max(1) as f64
    }

    fn evidence(&self, how: &str) -> String {
        format!(
            "{how}: {:.1} of {:.1} MiB left ({:.0} % lost), {} pages read again; the shared limit \
             was met {} times",
            mib(self.after),
            mib(self.before),
            self.lost() * 100.0,
            self.refaults,
            self.pressed
        )
    }
}

/// A victim reads its part of the disk, a hog the rest of this arm's part; then the victim reads
/// again. `protection` is a file and its value.
fn press(
    fixture: &Fixture,
    outer: &str,
    disk: &str,
    first: u64,
    protection: Option<&str>,
) -> Result<VictimCache, Error> {
    let (victim, hog) = (format!("{outer}/victim"), format!("{outer}/hog"));
    make_whole(fixture, outer)?;
    limit(fixture, outer, SHARED)?;
    fixture.make(&victim)?;
    fixture.make(&hog)?;
    if let Some(file) = protection {
        fixture.write(&victim, file, &(KEPT + 8 * MIB).to_string())?;
    }
    // Both on one CPU, so that their pages are on one node: reclaim starts on the node of the
    // allocating task, and often finds enough there.
    let mut owner = fixture.start_bound(&victim, "memory")?;
    let read = format!("read {KEPT} {disk} {first}");
    execute(&mut owner, &read)?;
    let before = cache(fixture, &victim)?;
    let mut hungry = fixture.start_bound(&hog, "memory")?;
    execute(&mut hungry, &format!("read {HOG} {disk} {}", first + KEPT))?;
    let (after, old) = (cache(fixture, &victim)?, refaults(fixture, &victim)?);
    execute(&mut owner, &read)?;
    let refaults = refaults(fixture, &victim)?.saturating_sub(old);
    Ok(VictimCache { before, after, refaults, pressed: refusals(fixture, outer)? })
}

fn protects(fixture: &mut Fixture, file: &str) -> Result<Outcome, Stop> {
    let disk = fixture.blank_disk(2 * (KEPT + HOG))?.node.display().to_string();
    let scanned = scanned_for_machine(fixture)?;
    let bare = press(fixture, "bare", &disk, 0, None)?;
    let kept = press(fixture, "kept", &disk, KEPT + HOG, Some(file))?;
    let scanned = scanned_for_machine(fixture)?.saturating_sub(scanned);
    Ok(unless_short(judge(&bare, &kept, file), scanned))
}

/// The unprotected group proves that there was pressure.
fn judge(bare: &VictimCache, kept: &VictimCache, file: &str) -> Outcome {
    let outcome = if bare.pressed == 0 || kept.pressed == 0 || bare.lost() < 0.2 {
        Outcome::void("no pressure: nothing was lost without protection, either")
    } else if kept.lost() <= 0.05 {
        return Outcome::kept(kept.evidence(file)).with(bare.evidence("unprotected"));
    } else if kept.lost() >= bare.lost() / 2.0 {
        Outcome::broken("the protected group lost its page cache")
    } else {
        Outcome::undecided("the protected group lost some of its page cache")
    };
    outcome.with(kept.evidence(file)).with(bare.evidence("unprotected"))
}

/// If nothing is lost although the limit was reached, reclaim spared an unprotected group.
fn judge_bare(bare: &VictimCache) -> Outcome {
    let evidence = bare.evidence("unprotected");
    match bare.lost() {
        _ if bare.pressed == 0 => Outcome::void("no pressure").with(evidence),
        lost if lost >= 0.2 && bare.refaults > 0 => Outcome::kept(evidence),
        lost if lost <= 0.0 && bare.refaults == 0 => {
            Outcome::broken("an unprotected group lost nothing").with(evidence)
        }
        _ => Outcome::undecided("little was lost without protection").with(evidence),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache_after(after: u64) -> VictimCache {
        VictimCache { before: KEPT, after: after * KEPT / 12, refaults: 1000, pressed: 40 }
    }

    #[test]
    fn ignored_protection_is_broken() {
        assert_eq!(judge(&cache_after(2), &cache_after(12), "memory.low").verdict, Verdict::Kept);
        assert_eq!(judge(&cache_after(2), &cache_after(2), "memory.low").verdict, Verdict::Broken);
        assert_eq!(
            judge(&cache_after(2), &cache_after(10), "memory.low").verdict,
            Verdict::Undecided
        );
    }

    #[test]
    fn without_pressure_the_case_is_void() {
        assert_eq!(judge(&cache_after(12), &cache_after(12), "memory.low").verdict, Verdict::Void);
        let calm = VictimCache { pressed: 0, ..cache_after(2) };
        assert_eq!(judge(&calm, &cache_after(12), "memory.min").verdict, Verdict::Void);
        assert_eq!(judge_bare(&calm).verdict, Verdict::Void);
        assert_eq!(judge_bare(&cache_after(2)).verdict, Verdict::Kept);
        let spared = VictimCache { refaults: 0, ..cache_after(12) };
        assert_eq!(judge_bare(&spared).verdict, Verdict::Broken);
    }
}
