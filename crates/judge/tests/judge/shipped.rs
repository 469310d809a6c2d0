//! Sizes of shipped studies: a quiet host keeps the promises with their repeats and lengths.

use assay_judge::verdict::Verdict;
use assay_record::run_folder::WarmUpRecord;

use crate::synthetic::{Scenario, Server};

const CPU_WEIGHT_SCALING: &str = include_str!("../../../../studies/cpu-weight-scaling.toml");

/// The value of a key that occurs once in a study.
fn value<'s>(study: &'s str, key: &str) -> &'s str {
    let lines = study.lines().filter_map(|line| line.split('#').next()?.split_once('='));
    let mut found = lines.filter(|(name, _)| name.trim() == key).map(|(_, value)| value.trim());
    let value = found.next().unwrap_or_else(|| panic!("the study has no `{key}`"));
    value.trim_matches(['"', '[', ']'])
}

/// Repeats, and how many seconds each takes.
fn size(study: &str) -> (usize, f64) {
    let seconds = value(study, "at_most").strip_suffix(" s").unwrap();
    (value(study, "repeats").parse().unwrap(), seconds.parse().unwrap())
}

/// On one CPU shares are exact except for slices of 4 ms, of which the lightest group gets one per
/// round (docs/results/cpu-weight-scaling.md).
#[test]
fn the_ladder_of_cpu_weights_is_kept_despite_uneven_slices() {
    let (repeats, seconds) = size(CPU_WEIGHT_SCALING);
    for groups in value(CPU_WEIGHT_SCALING, "groups").split(',') {
        let groups: usize = groups.trim().parse().unwrap();
        let ladder: Vec<u32> = [100, 200, 400, 800].into_iter().cycle().take(groups).collect();
        let scenario = Scenario {
            server: Server::Turns { round_s: 0.015 * groups as f64, jitter: 0.1 },
            warm_up: WarmUpRecord::Auto,
            repeats,
            seconds,
            ..Scenario::new(&ladder)
        };
        let judged = |seed| Scenario { seed, ..scenario.clone() }.run().promise();
        let all: Vec<_> = (0..5).map(judged).collect();
        let kept = all.iter().filter(|one| one.verdict == Verdict::Kept).count();
        assert!(kept >= 4, "{groups} groups: kept {kept} of 5; {}", all[0].reason);
    }
}
