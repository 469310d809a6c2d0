//! Weights divide a saturated CPU, and only a saturated one: side by side, in trees of groups, far apart from each other,
//! and changed while the groups run.

use assay_sys::kernel::process;

use super::*;

pub(crate) const CASES: &[Case] = &[
    CPU.case(
        "weights-divide-a-saturated-cpu",
        "Groups with weights 1:2:4:8 on one saturated CPU get its time 1:2:4:8.",
        |fixture| {
            let groups = [("w100", 100), ("w200", 200), ("w400", 400), ("w800", 800)];
            let probes = contend(fixture, "spin", &groups)?;
            decide(fixture, &probes, &[1.0, 2.0, 4.0, 8.0])
        },
    ),
    CPU.case(
        "weights-do-nothing-on-a-cpu-with-room",
        "Weights 1:8 take no time from groups that together leave the CPU partly idle.",
        |fixture| {
            // Each uses 20 % of the CPU.
            let probes = contend(fixture, "spin duty=20", &[("w100", 100), ("w800", 800)])?;
            fixture.pause(0.1)?;
            fixture.settle(8, &[0.2, 1.0], || cpu_times(&probes), judge_room)
        },
    ),
    CPU.case(
        "a-light-group-yields-to-heavy-ones",
        "A group of weight 1 beside two of weight 10000 leaves them the CPU, in equal parts.",
        |fixture| {
            let groups = [("light", 1), ("heavy", 10_000), ("other", 10_000)];
            watch(fixture, &contend(fixture, "spin", &groups)?, judge_light)
        },
    ),
    CPU.case(
        "light-groups-alone-share-equally",
        "Three groups of weight 1 that are alone on a CPU get a third of it each.",
        |fixture| {
            // Small only beside larger ones.
            let probes = contend(fixture, "spin", &[("a", 1), ("b", 1), ("c", 1)])?;
            decide(fixture, &probes, &[1.0; 3])
        },
    ),
    CPU.case(
        "a-weight-changed-under-load-takes-effect",
        "When a weight changes from 1:1 to 1:4 while both groups run, they then get 1:4.",
        |fixture| {
            let probes = contend(fixture, "spin", &[("a", 100), ("b", 100)])?;
            let before = decide(fixture, &probes, &[1.0, 1.0])?;
            set_weight(fixture, "b", 400)?;
            Ok(Outcome::all([before, decide(fixture, &probes, &[1.0, 4.0])?]))
        },
    ),
    CPU.case(
        "writing-the-same-weight-changes-nothing",
        "Writing the weight that a running group has, hundreds of times, takes no time from it.",
        |fixture| {
            let probes = contend(fixture, "spin", &[("a", 100), ("b", 100)])?;
            fixture.pause(0.1)?;
            // At real-time priority, since the groups come before all other work.
            let counters = || {
                process::with_real_time_priority(|| {
                    for _ in 0..WRITES {
                        set_weight(fixture, "b", 100)?;
                        fixture.pause(0.002)?;
                    }
                    cpu_times(&probes)
                })
            };
            fixture.settle(8, &[0.05, 0.5], counters, |windows| judge(windows, &[1.0, 1.0]))
        },
    ),
    CPU.case(
        "weights-divide-at-each-of-three-levels",
        "In a tree of three levels each level divides by weight what the one above got.",
        |fixture| {
            // Each divides its part 1:1 or 1:3: sixteenths 1, 3, 4 and 8 of the CPU.
            for parent in ["a", "a/b"] {
                fixture.make_parent(parent)?;
                set_weight(fixture, parent, 100)?;
            }
            let groups = [("a/b/c", 100), ("a/b/d", 300), ("a/e", 100), ("f", 100)];
            let probes = contend(fixture, "spin", &groups)?;
            decide(fixture, &probes, &[1.0, 3.0, 4.0, 8.0])
        },
    ),
    CPU.case(
        "depth-alone-changes-nothing",
        "A group three levels down gets as much as a sibling of its ancestor with the same weight.",
        |fixture| {
            fixture.make_parent("a")?;
            fixture.make_parent("a/b")?;
            let probes = contend(fixture, "spin", &[("a/b/c", 100), ("f", 100)])?;
            decide(fixture, &probes, &[1.0, 1.0])
        },
    ),
];

/// Times that a weight is written in each window.
const WRITES: usize = 50;

/// The light group's time relative to the heavy one's, which weights would make 1:8. A probe that
/// has to wait works less in its period, so the margin is wide.
fn judge_room(windows: &[Window]) -> Outcome {
    let ratios: Vec<f64> =
        windows.iter().filter(|w| w.grew[1] > 0.0).map(|w| w.grew[0] / w.grew[1]).collect();
    let ratio = Interval::of_median(&ratios);
    let busy = mean_busy(windows);
    let evidence = format!(
        "weights 1:8, both want 20 %: the light one got {ratio} times what the heavy one got, \
         together {:.0} % of the CPU",
        busy * 100.0
    );
    let verdict = ratio.verdict_within(0.6, 1.67);
    let (broken, undecided) = (
        "weights took time on a CPU that was partly idle",
        "the times vary too much between windows",
    );
    // If other work saturates the CPU, weights do apply and nothing is shown.
    Outcome::decided(verdict, evidence, broken, undecided)
        .void_if(verdict != Verdict::Kept && busy < 0.3, "other work kept the CPU busy")
}

/// By weight the light group's share is 1/20001, which is less than a slice in these windows: it must
/// be small, and the heavy ones must have equal parts of the rest.
fn judge_light(windows: &[Window]) -> Outcome {
    const MOST: f64 = 0.01;
    let light = Interval::of_median(&first_shares(windows));
    let heavy = judge(&without_first(windows), &[1.0, 1.0]);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::windows::of_cpus as windows;

    #[test]
    fn weights_that_act_on_a_partly_idle_cpu_are_broken() {
        assert_eq!(judge_room(&windows(&[0.2, 0.2])).verdict, Verdict::Kept);
        assert_eq!(judge_room(&windows(&[0.05, 0.4])).verdict, Verdict::Broken);
        assert_eq!(judge_room(&windows(&[0.01, 0.08])).verdict, Verdict::Void);
    }

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
