//! Promises across trials, workload metrics, and references.

use std::collections::BTreeMap;

use assay_cause::judge;
use assay_judge::verdict::{ComparisonJudgement, Judgement, Verdict};
use assay_record::run_folder::{
    AcrossRecord, ComparisonRecord, Fault, Levels, Manifest, PairsRecord, ReferenceRecord, Table,
    TrialRecord,
};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use serde_json::{Value, json};

use crate::synthetic::Scenario;

const METRIC: &str = "reader.read_iops";

/// A study of one workload under each level of `memory`.
struct World {
    manifest: Manifest,
    samples: Vec<Vec<Vec<Table>>>,
}

/// Nearly normal, with deviation 1.
fn normal(random: &mut ChaCha8Rng) -> f64 {
    (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0
}

fn level(name: &str) -> Levels {
    Levels::from([("memory".to_owned(), json!(name))])
}

impl World {
    /// A trial for each level; `values[level][repeat]` is its workload metric. Three or more of them are given
    /// as often as makes nine.
    fn new(levels: &[&str], values: &[Vec<f64>]) -> Self {
        let often = |values: &Vec<f64>| match values.len() {
            3..9 => values.iter().copied().cycle().take(9).collect(),
            _ => values.clone(),
        };
        let values: &[Vec<f64>] = &values.iter().map(often).collect::<Vec<_>>();
        let repeats = values.first().map_or(1, Vec::len);
        let run = Scenario { repeats, ..Scenario::new(&[1]) }.run();
        let mut manifest = run.manifest;
        let model = manifest.trials.remove(0);
        for name in levels {
            let mut trial = model.clone();
            trial.promises.clear();
            trial.factors = level(name);
            manifest.trials.push(trial);
        }
        let samples = vec![run.samples[0].clone(); levels.len()];
        let mut world = Self { manifest, samples };
        world.set(values);
        world
    }

    fn set(&mut self, values: &[Vec<f64>]) {
        for (trial, values) in self.manifest.trials.iter_mut().zip(values) {
            for (repeat, value) in trial.repeats.iter_mut().zip(values) {
                repeat.workloads[0].metrics.insert("read_iops".to_owned(), *value);
            }
        }
    }

    fn promise(mut self, is: AcrossRecord) -> Self {
        self.manifest.comparisons.push(ComparisonRecord {
            measure: METRIC.to_owned(),
            group: None,
            is,
        });
        self
    }

    fn trial(&mut self, index: usize) -> &mut TrialRecord {
        &mut self.manifest.trials[index]
    }

    fn judge(&self) -> Judgement {
        judge(&self.manifest, &self.samples)
    }

    fn comparison(&self) -> ComparisonJudgement {
        self.judge().comparisons.remove(0)
    }
}

fn ratio(at_least: Option<f64>, at_most: Option<f64>) -> AcrossRecord {
    AcrossRecord::Ratio { of: level("interleave"), to: level("first touch"), at_least, at_most }
}

fn equal(pairs: PairsRecord) -> AcrossRecord {
    AcrossRecord::Equal { over: "memory".to_owned(), pairs, within: 0.05 }
}

fn two(of: &[f64], to: &[f64]) -> World {
    World::new(&["first touch", "interleave"], &[to.to_vec(), of.to_vec()])
}

#[test]
fn a_ratio_is_judged_repeat_by_repeat() {
    // Both sides double from one repeat to the next, and their ratio hardly moves.
    let world = two(&[121.0, 239.0, 484.0], &[100.0, 200.0, 400.0]);
    let found = world.promise(ratio(Some(1.1), None)).comparison();
    assert_eq!(found.verdict, Verdict::Kept, "{}", found.reason);
    let pair = &found.pairs[0];
    assert!((pair.ratio.unwrap() - 1.205).abs() < 0.001, "{pair:?}");
    assert_eq!(pair.repeats, 9);
    assert!(found.reason.contains("memory = interleave is 1.205 times"), "{}", found.reason);
    // Separately, neither level is known to better than a factor of two.
    let level = &found.levels[0];
    assert!(level.high.unwrap() / level.low.unwrap() > 2.0, "{level:?}");
}

#[test]
fn a_ratio_breaks_below_its_bound_and_above_its_other() {
    let world = || two(&[121.0, 119.0, 120.0], &[100.0, 99.0, 101.0]);
    let verdict = |is| world().promise(is).comparison().verdict;
    assert_eq!(verdict(ratio(Some(1.5), None)), Verdict::Broken);
    assert_eq!(verdict(ratio(None, Some(1.1))), Verdict::Broken);
    assert_eq!(verdict(ratio(Some(1.1), Some(1.3))), Verdict::Kept);
    assert_eq!(verdict(ratio(Some(1.2), None)), Verdict::Undecided);
}

#[test]
fn zeros_count_in_the_direction_in_which_they_point() {
    let verdict = |of: &[f64], to: &[f64], is| two(of, to).promise(is).comparison().verdict;
    let (mut twice, once) = ([201.0; 9], [100.0; 9]);
    (twice[3], twice[4]) = (202.0, 0.0);
    // With its zero the ratio would be lower.
    assert_eq!(verdict(&twice, &once, ratio(None, Some(1.1))), Verdict::Undecided);
    assert_eq!(verdict(&twice, &once, ratio(Some(3.0), None)), Verdict::Broken);
    assert_eq!(verdict(&once, &twice, ratio(Some(0.9), None)), Verdict::Undecided);
    assert_eq!(verdict(&once, &twice, ratio(None, Some(0.3))), Verdict::Broken);
}

#[test]
fn a_zero_in_a_repeat_that_is_left_out_rules_out_kept() {
    let values = [120.0, 121.0, 120.0, 0.0, 120.0, 121.0, 120.0, 121.0, 120.0];
    let mut world = two(&values, &[100.0; 9]).promise(ratio(Some(1.1), None));
    world.trial(1).repeats[3].fault =
        Some(Fault { kind: "interrupted".to_owned(), message: "it was ended".to_owned() });
    let found = world.comparison();
    assert_eq!(found.verdict, Verdict::Undecided, "{}", found.reason);
    assert!(found.reason.contains("repeat 4, which is left out, has 0 times"), "{}", found.reason);
}

#[test]
fn an_undecided_ratio_says_how_many_repeats_would_decide() {
    let world = two(&[115.0, 105.0, 130.0], &[100.0, 100.0, 100.0]);
    let found = world.promise(ratio(Some(1.1), None)).comparison();
    assert_eq!(found.verdict, Verdict::Undecided, "{}", found.reason);
    let needs = found.needs_repeats.unwrap();
    assert!((10..=200).contains(&needs), "{needs}");
}

#[test]
fn one_repeat_decides_nothing() {
    let found = two(&[200.0], &[100.0]).promise(ratio(Some(1.1), None)).comparison();
    assert_eq!(found.verdict, Verdict::Undecided);
    assert!(found.reason.contains("over 1 repeat, and a verdict takes 8"), "{}", found.reason);
    let pair = &found.pairs[0];
    assert_eq!((pair.low, pair.high, found.needs_repeats), (None, None, None));
    let json = serde_json::to_value(pair).unwrap();
    assert!((json["ratio"].as_f64().unwrap() - 2.0).abs() < 1e-9);
    assert!(json["low"].is_null() && json["high"].is_null(), "{json}");
}

#[test]
fn equality_is_symmetric() {
    let names = ["a", "b", "c"];
    let values = [vec![100.0, 101.0, 100.0], vec![101.0, 100.0, 101.0], vec![100.0, 100.0, 101.0]];
    let found = World::new(&names, &values).promise(equal(PairsRecord::All)).comparison();
    assert_eq!((found.verdict, found.pairs.len()), (Verdict::Kept, 3), "{}", found.reason);
    let first = World::new(&names, &values).promise(equal(PairsRecord::First)).comparison();
    assert_eq!(first.pairs.len(), 2);
    assert!(first.pairs.iter().all(|pair| pair.to == level("a")));

    let apart = [values[0].clone(), values[1].clone(), vec![130.0, 131.0, 129.0]];
    let found = World::new(&names, &apart).promise(equal(PairsRecord::All)).comparison();
    assert_eq!(found.verdict, Verdict::Broken);
    assert!(found.reason.contains("memory = c is 1.29"), "{}", found.reason);
    let turned = [apart[2].clone(), apart[1].clone(), apart[0].clone()];
    let found = World::new(&names, &turned).promise(equal(PairsRecord::All)).comparison();
    assert_eq!(found.verdict, Verdict::Broken, "{}", found.reason);
}

#[test]
fn other_factors_are_held_and_judged_one_by_one() {
    let mut world = two(&[121.0, 119.0, 120.0], &[100.0, 99.0, 101.0]);
    let mut more = world.manifest.trials.clone();
    for trial in &mut world.manifest.trials {
        trial.factors.insert("threads".to_owned(), json!(1));
    }
    for (trial, value) in more.iter_mut().zip([100.0, 101.0]) {
        trial.factors.insert("threads".to_owned(), json!(2));
        for repeat in &mut trial.repeats {
            repeat.workloads[0].metrics.insert("read_iops".to_owned(), value);
        }
    }
    world.manifest.trials.extend(more);
    world.samples.extend(world.samples.clone());
    let judged = world.promise(ratio(Some(1.1), None)).judge();
    let found: Vec<(Value, Verdict)> =
        judged.comparisons.iter().map(|one| (one.held["threads"].clone(), one.verdict)).collect();
    assert_eq!(found, [(json!(1), Verdict::Kept), (json!(2), Verdict::Broken)]);
    assert_eq!(judged.verdict, Verdict::Broken, "it counts in the verdict of the study");
    assert!(judged.trials.iter().all(|trial| trial.verdict == Verdict::Void), "none of their own");
}

#[test]
fn a_missing_level_or_number_voids() {
    let mut world = two(&[121.0, 119.0, 120.0], &[100.0, 99.0, 101.0]);
    world.manifest.trials.pop();
    world.samples.pop();
    let found = world.promise(ratio(Some(1.1), None)).comparison();
    assert_eq!(found.verdict, Verdict::Void);
    assert!(
        found.reason.contains("no trial of this run has memory = interleave"),
        "{}",
        found.reason
    );

    let mut world = two(&[121.0, 119.0, 120.0], &[100.0, 99.0, 101.0]);
    for repeat in &mut world.trial(1).repeats {
        repeat.workloads[0].metrics.remove("read_iops");
    }
    let found = world.promise(ratio(Some(1.1), None)).comparison();
    assert_eq!(found.verdict, Verdict::Void);
    assert!(found.reason.contains("it gave `read_bytes`, `write_bytes`"), "{}", found.reason);
    assert!(found.levels[1].value.is_some() && found.levels[0].not_available.is_some());
}

#[test]
fn a_repeat_missing_on_one_side_is_left_out_on_both() {
    let mut world =
        two(&[121.0, 5.0, 119.0, 120.0, 121.0, 120.0, 119.0, 120.0, 121.0], &[100.0; 9]);
    world.trial(1).repeats[1].fault =
        Some(Fault { kind: "workload".to_owned(), message: "killed".to_owned() });
    let mut world = world.promise(ratio(Some(1.1), None));
    let found = world.comparison();
    // It may have failed because of what is judged.
    assert_eq!(
        (found.verdict, found.pairs[0].repeats),
        (Verdict::Undecided, 8),
        "{}",
        found.reason
    );
    world.trial(1).repeats[1].fault.as_mut().unwrap().kind = "interrupted".to_owned();
    for (trial, value) in [(0, 100.0), (1, 120.0)] {
        let result = &mut world.trial(trial).repeats[1].workloads[0];
        result.metrics.insert("read_iops".to_owned(), value);
    }
    let found = world.comparison();
    assert_eq!((found.verdict, found.pairs[0].repeats), (Verdict::Kept, 8), "{}", found.reason);
}

#[test]
fn totals_of_sampled_measures_are_compared_too() {
    let mut world = two(&[1.0; 3], &[1.0; 3]);
    // The second level serves half as much: its samples are those of a slower disk.
    for tables in &mut world.samples[1] {
        let io = tables.iter_mut().find(|table| table.source == "io").unwrap();
        for column in &mut io.columns {
            column.values.iter_mut().for_each(|value| *value = value.map(|value| value / 2));
        }
    }
    for repeat in &mut world.trial(1).repeats {
        *repeat.workloads[0].metrics.get_mut("read_bytes").unwrap() /= 2.0;
    }
    let mut world = world.promise(ratio(None, Some(0.6)));
    world.manifest.comparisons[0].measure = "io.bytes".to_owned();
    let found = world.comparison();
    assert_eq!(found.verdict, Verdict::Kept, "{}", found.reason);
    assert!((found.pairs[0].ratio.unwrap() - 0.5).abs() < 0.01, "{found:?}");
    // A failed check that voids the measure in one trial voids the comparison.
    let mut world = world;
    for repeat in &mut world.trial(1).repeats {
        repeat.queues[0].scheduler_at_end = "none".to_owned();
    }
    let found = world.comparison();
    assert_eq!(found.verdict, Verdict::Void);
    assert!(found.reason.contains("`scheduler`"), "{}", found.reason);
}

/// Total rates of which those of the second level are zero in some repeats.
fn silent(zeros: &[usize], is: AcrossRecord) -> ComparisonJudgement {
    let mut world = two(&[1.0; 3], &[1.0; 3]).promise(is);
    world.manifest.comparisons[0].measure = "cpu.time".to_owned();
    for &repeat in zeros {
        for table in world.samples[1][repeat].iter_mut().filter(|table| table.source == "cpu") {
            for column in &mut table.columns {
                column.values.fill(Some(0));
            }
        }
    }
    world.comparison()
}

#[test]
fn a_sampled_rate_of_zero_is_compared() {
    let broken = silent(&[0, 1, 2, 3, 4, 5, 6, 7, 8], ratio(Some(0.5), None));
    assert_eq!(broken.verdict, Verdict::Broken, "{}", broken.reason);
    let pair = &broken.pairs[0];
    assert!(pair.ratio.unwrap() < 1e-3 && pair.low == Some(0.0), "{pair:?}");
    assert_eq!(silent(&[0, 1, 2, 3, 4, 5, 6, 7, 8], ratio(None, Some(0.5))).verdict, Verdict::Kept);
    assert_eq!(
        silent(&[0, 1, 2, 3, 4, 5, 6, 7, 8], equal(PairsRecord::All)).verdict,
        Verdict::Broken
    );
    let some = silent(&[1], ratio(Some(0.5), None));
    assert_eq!(some.verdict, Verdict::Undecided, "{}", some.reason);
    // The other way round there is no upper end.
    let is = AcrossRecord::Ratio {
        of: level("first touch"),
        to: level("interleave"),
        at_least: None,
        at_most: Some(2.0),
    };
    let above = silent(&[0, 1, 2, 3, 4, 5, 6, 7, 8], is);
    assert_eq!((above.verdict, above.pairs[0].high), (Verdict::Broken, None), "{}", above.reason);
}

#[test]
fn one_group_can_be_named() {
    let mut world = two(&[121.0; 3], &[100.0; 3]).promise(ratio(Some(1.1), None));
    world.manifest.comparisons[0].group = Some("task".to_owned());
    assert_eq!(world.comparison().verdict, Verdict::Kept);
    world.manifest.comparisons[0].group = Some("task2".to_owned());
    let found = world.comparison();
    assert_eq!(found.verdict, Verdict::Void);
    assert!(found.reason.contains("no group of this trial runs `reader`"), "{}", found.reason);
}

#[test]
fn references_are_not_judged() {
    let mut world = two(&[121.0, 119.0, 120.0], &[100.0, 99.0, 101.0]);
    let theirs = ReferenceRecord {
        what: "IOPS of the paper".to_owned(),
        value: 6594.0,
        unit: "IOPS".to_owned(),
        source: "table 2".to_owned(),
        measure: Some(METRIC.to_owned()),
        group: None,
        under: level("interleave"),
        to: Levels::new(),
    };
    world.manifest.references =
        vec![theirs.clone(), ReferenceRecord { measure: None, under: Levels::new(), ..theirs }];
    let judged = world.judge();
    assert!(judged.promises_nothing(), "6594 is far from 120, but was not promised");
    assert_eq!(judged.verdict, Verdict::Void);
    let ours = &judged.references[0].ours;
    assert_eq!(ours.len(), 1);
    assert!((ours[0].value.unwrap() - 120.0).abs() < 0.1 && ours[0].low.unwrap() > 115.0);
    assert!(judged.references[1].ours.is_empty());
    let text = serde_json::to_string(&judged).unwrap();
    let again: Judgement = serde_json::from_str(&text).unwrap();
    assert_eq!(again.references[0].ours[0].factors, level("interleave"));
}

/// Values of two levels with a known ratio, each with its own scatter, both moved by the host.
fn drifting(random: &mut ChaCha8Rng, truth: f64, repeats: usize) -> Vec<Vec<f64>> {
    let mut sides = vec![Vec::new(), Vec::new()];
    for _ in 0..repeats {
        let host = 0.2 * normal(random);
        for (side, mean) in sides.iter_mut().zip([100.0, 100.0 * truth]) {
            side.push(mean * (host + 0.05 * normal(random)).exp());
        }
    }
    sides
}

#[test]
fn levels_at_the_edge_of_the_margin_are_rarely_decided() {
    let mut random = ChaCha8Rng::seed_from_u64(12);
    let mut tally = BTreeMap::new();
    let mut world = two(&[1.0; 8], &[1.0; 8]).promise(equal(PairsRecord::All));
    for _ in 0..200 {
        world.set(&drifting(&mut random, 1.05, 8));
        *tally.entry(format!("{:?}", world.comparison().verdict)).or_insert(0) += 1;
    }
    assert!(tally.get("Kept").is_none_or(|kept| *kept < 4), "{tally:?}");
    assert!(tally.get("Broken").is_none_or(|broken| *broken < 4), "{tally:?}");
}
