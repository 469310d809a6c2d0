//! Weights in trees of groups, far apart from each other, and changed while the groups run.

use assay_kernel::{Error, process};

use super::weight::{cpu_times, decide, judge, make};
use crate::fixture::Fixture;
use crate::interval::Interval;
use crate::outcome::{Outcome, Stop, Verdict};
use crate::running::Running;
use crate::windows::Window;

/// Times that a weight is written in each window.
const WRITES: usize = 50;

fn spin(fixture: &Fixture, group: &str) -> Result<Running, Error> {
    fixture.start(group, &format!("spin cpu={}", fixture.cpu()))
}

/// Sets the weight of a group that has children.
fn set(fixture: &Fixture, group: &str, weight: u64) -> Result<(), Error> {
    let shares = weight * 1024 / 100;
    let (file, value) = fixture.by_version(("cpu.shares", shares), ("cpu.weight", weight));
    fixture.write(group, file, &value.to_string())
}

/// Three levels, of which each divides its part 1:1 or 1:3: sixteenths 1, 3, 4 and 8 of the CPU.
pub(super) fn three_levels(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    fixture.go_first()?;
    for parent in ["a", "a/b"] {
        fixture.make_parent(parent)?;
        set(fixture, parent, 100)?;
    }
    let mut probes = Vec::new();
    for (group, weight) in [("a/b/c", 100), ("a/b/d", 300), ("a/e", 100), ("f", 100)] {
        make(fixture, group, weight)?;
        probes.push(spin(fixture, group)?);
    }
    decide(fixture, &probes, &[1.0, 3.0, 4.0, 8.0])
}

/// A group three levels down, beside one at the top.
pub(super) fn depth(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    fixture.go_first()?;
    fixture.make_parent("a")?;
    fixture.make_parent("a/b")?;
    let mut probes = Vec::new();
    for group in ["a/b/c", "f"] {
        fixture.make(group)?;
        probes.push(spin(fixture, group)?);
    }
    decide(fixture, &probes, &[1.0, 1.0])
}

/// Weights 1, 10000 and 10000.
pub(super) fn light_beside_heavy(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    fixture.go_first()?;
    let mut probes = Vec::new();
    for (group, weight) in [("light", 1), ("heavy", 10_000), ("other", 10_000)] {
        make(fixture, group, weight)?;
        probes.push(spin(fixture, group)?);
    }
    fixture.pause(0.1)?;
    fixture.settle(8, &[0.25, 1.0], || cpu_times(&probes), judge_light)
}

/// By weight the light group's share is 1/20001, which is less than a slice in these windows: it must
/// be small, and the heavy ones must have equal parts of the rest.
fn judge_light(windows: &[Window]) -> Outcome {
    const MOST: f64 = 0.01;
    let light: Vec<f64> = windows.iter().filter_map(|w| Some(w.shares()?[0])).collect();
    let light = Interval::of_median(&light);
    let heavy: Vec<Window> = windows
        .iter()
        .map(|window| Window { grew: window.grew[1..].to_vec(), ..window.clone() })
        .collect();
    let heavy = judge(&heavy, &[1.0, 1.0]);
    let evidence = format!("weights 1:10000:10000: the light group got {light:.4} of what all got");
    if heavy.verdict == Verdict::Void {
        return heavy.with(evidence);
    }
    // A share is never negative.
    let light = Outcome::decided(
        light.verdict_within(f64::NEG_INFINITY, MOST),
        evidence,
        "a group of weight 1 took more than 1 % from two of 10000",
        "the light group's share varies too much between windows",
    );
    Outcome::all([light, heavy])
}

/// Three groups of weight 1: small only beside larger ones.
pub(super) fn light_alone(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    fixture.go_first()?;
    let mut probes = Vec::new();
    for group in ["a", "b", "c"] {
        make(fixture, group, 1)?;
        probes.push(spin(fixture, group)?);
    }
    decide(fixture, &probes, &[1.0; 3])
}

/// 1:1, and then 1:4 while both run.
pub(super) fn reweight(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    let probes = pair(fixture)?;
    let before = decide(fixture, &probes, &[1.0, 1.0])?;
    set(fixture, "b", 400)?;
    let after = decide(fixture, &probes, &[1.0, 4.0])?;
    Ok(Outcome::all([before, after]))
}

/// The weight that a group has is written again and again while both run.
pub(super) fn rewrite(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    let probes = pair(fixture)?;
    fixture.pause(0.1)?;
    // At real-time priority, since the groups come before all other work.
    let counters = || {
        process::with_real_time_priority(|| {
            for _ in 0..WRITES {
                set(fixture, "b", 100)?;
                fixture.pause(0.002)?;
            }
            cpu_times(&probes)
        })
    };
    fixture.settle(8, &[0.05, 0.5], counters, |windows| judge(windows, &[1.0, 1.0]))
}

fn pair(fixture: &Fixture) -> Result<Vec<Running>, Error> {
    fixture.go_first()?;
    ["a", "b"]
        .into_iter()
        .map(|group| {
            make(fixture, group, 100)?;
            spin(fixture, group)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::windows::of_cpus as windows;

    #[test]
    fn a_light_group_that_takes_as_much_as_heavy_ones_is_broken() {
        assert_eq!(judge_light(&windows(&[0.0001, 0.5, 0.5])).verdict, Verdict::Kept);
        assert_eq!(judge_light(&windows(&[0.33, 0.33, 0.33])).verdict, Verdict::Broken);
        // As with shares that are too small to count: 2 of 1024 for a weight of 1.
        assert_eq!(judge_light(&windows(&[0.05, 0.47, 0.48])).verdict, Verdict::Broken);
        assert_eq!(judge_light(&windows(&[0.0001, 0.8, 0.2])).verdict, Verdict::Broken);
        assert_eq!(judge_light(&windows(&[0.0, 0.1, 0.1])).verdict, Verdict::Void);
    }

    #[test]
    fn a_flattened_tree_or_a_late_weight_is_broken() {
        let kept = judge(&windows(&[0.0625, 0.1875, 0.25, 0.5]), &[1.0, 3.0, 4.0, 8.0]);
        assert_eq!(kept.verdict, Verdict::Kept);
        let flattened =
            judge(&windows(&[1.0 / 6.0, 0.5, 1.0 / 6.0, 1.0 / 6.0]), &[1.0, 3.0, 4.0, 8.0]);
        assert_eq!(flattened.verdict, Verdict::Broken);
        assert_eq!(judge(&windows(&[0.5, 0.5]), &[1.0, 4.0]).verdict, Verdict::Broken);
        // Groups of weight 1 that are divided as if a heavy one were there, and depth that costs.
        assert_eq!(judge(&windows(&[0.8, 0.1, 0.1]), &[1.0; 3]).verdict, Verdict::Broken);
        assert_eq!(judge(&windows(&[0.34, 0.33, 0.33]), &[1.0; 3]).verdict, Verdict::Kept);
        assert_eq!(judge(&windows(&[0.35, 0.65]), &[1.0, 1.0]).verdict, Verdict::Broken);
        // A group that loses its place at each write.
        assert_eq!(judge(&windows(&[0.7, 0.3]), &[1.0, 1.0]).verdict, Verdict::Broken);
    }
}
