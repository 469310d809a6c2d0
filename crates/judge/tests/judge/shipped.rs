//! Sizes of shipped studies: a quiet host keeps the promises with their repeats and lengths.

use assay_run_folder::WarmUpRecord;
use assay_verdict::Verdict;

use crate::placement;
use crate::synthetic::{Scenario, Server};
use crate::tables::ladder;

const CPU_WEIGHT_SCALING: &str = include_str!("../../../../studies/cpu-weight-scaling.toml");
const SMT: &str = include_str!("../../../../studies/smt.toml");

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
        let scenario = Scenario {
            server: Server::Turns { round_s: 0.015 * groups as f64, jitter: 0.1 },
            warm_up: WarmUpRecord::Auto,
            repeats,
            seconds,
            ..Scenario::new(&ladder(groups))
        };
        let judged = |seed| Scenario { seed, ..scenario.clone() }.run().promise();
        let all: Vec<_> = (0..20).map(judged).collect();
        let kept = all.iter().filter(|one| one.verdict == Verdict::Kept).count();
        assert!(kept >= 16, "{groups} groups: kept {kept} of 20; {}", all[0].reason);
    }
}

/// One repeat in which a thread was elsewhere for a twentieth of the time.
#[test]
fn threads_of_smt_may_be_out_of_place_in_one_repeat() {
    let (repeats, seconds) = size(SMT);
    let mut run = Scenario { repeats, seconds, ..Scenario::new(&[100, 200]) }.run();
    let model = placement::run("threads");
    run.manifest.host = model.manifest.host.clone();
    let placed = &model.manifest.trials[0];
    run.trial().promises.clone_from(&placed.promises);
    run.trial().placements.clone_from(&placed.placements);
    for (number, repeat) in run.trial().repeats.iter_mut().enumerate() {
        repeat.placements.clone_from(&placed.repeats[0].placements);
        if number == 0 {
            repeat.placements[0].on_cpus = repeat.placements[0].samples * 95 / 100;
        }
    }
    let promise = run.promise();
    assert_eq!(promise.verdict, Verdict::Kept, "{}", promise.reason);
}
