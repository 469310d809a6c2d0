//! A synthetic run with cases that recorded runs do not have. Each trial is one case of docs/judging.md.

mod progress;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use assay_facts::Available;
use assay_run_folder::{
    AcrossRecord, Column, ComparisonRecord, EveryRecord, Fault, GroupRecord, Manifest, PairsRecord,
    PromiseRecord, Reading, RelationRecord, RepeatRecord, Run, SampleStream, StopRecord, Table,
    TrialRecord, WarmUpRecord, WorkloadResult, to_parquet,
};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

const START_NS: u64 = 10_000_000_000;
const STEP_NS: u64 = 100_000_000;

/// One trial: ten seconds per repeat, and the amount of each group per step, as a multiple of its share.
struct Case {
    what: &'static str,
    verdict: &'static str,
    weights: Vec<u32>,
    repeats: usize,
    noise: f64,
    times: fn(repeat: usize, group: usize, step: usize) -> f64,
    promise: PromiseRecord,
    change: fn(&mut TrialRecord),
}

fn promise(measure: &str, is: RelationRecord) -> PromiseRecord {
    PromiseRecord { measure: measure.to_owned(), is, within: 0.1, confidence: 0.95, every: None }
}

impl Case {
    fn new(what: &'static str, verdict: &'static str, weights: &[u32]) -> Self {
        Self {
            what,
            verdict,
            weights: weights.to_vec(),
            repeats: 3,
            noise: 0.1,
            times: |_, _, _| 1.0,
            promise: promise(
                "memory.refaults",
                RelationRecord::Proportional("cpu.weight".to_owned()),
            ),
            change: |_| {},
        }
    }
}

/// Groups of equal weight, enough for two pools.
const MANY: [u32; 18] = [100; 18];
/// What is compared with another trial, too.
const NOTHING: &str = "nothing of what was promised";
const FOUR: [u32; 4] = [100, 200, 400, 800];

fn cases() -> Vec<Case> {
    let mut cases = of_shares();
    cases.extend(of_few_repeats());
    cases.extend(of_others());
    cases.extend(of_left_out());
    cases.extend(of_doubt());
    cases.extend(of_little());
    cases.extend(of_zeros());
    cases.extend(progress::cases());
    cases
}

fn of_shares() -> Vec<Case> {
    vec![
        Case::new("shares as promised", "kept", &FOUR),
        Case {
            times: |_, group, _| if group == 0 { 2.0 } else { 1.0 },
            ..Case::new("one group has twice its share", "broken", &FOUR)
        },
        Case {
            times: |repeat, group, _| if (repeat, group) == (1, 3) { 1.6 } else { 1.0 },
            ..Case::new("one of many jumps in one repeat", "undecided", &MANY)
        },
        Case {
            times: |repeat, group, _| 1.0 + 0.02 * ((repeat * 7 + group * 3) % 5) as f64,
            ..Case::new("repeats scatter more than they show", "kept", &MANY)
        },
        Case {
            times: |_, group, step| match group {
                0 => 0.0,
                1 if step % 40 == 7 => 40.0,
                1 => 0.0,
                _ => 1.0,
            },
            ..Case::new("one gets nothing and one is served in few steps", "undecided", &[100; 4])
        },
        Case {
            times: |_, group, step| if group == 2 && step < 15 { 1.8 } else { 1.0 },
            ..Case::new("the warm-up is cut and was broken", "undecided", &FOUR)
        },
        Case {
            promise: PromiseRecord {
                every: Some(EveryRecord { span_s: 0.5, part: 0.95 }),
                ..Case::new("", "", &[]).promise
            },
            times: |_, group, step| if group == 1 && step % 20 < 10 { 0.6 } else { 1.0 },
            ..Case::new("half of the spans are short", "broken", &FOUR)
        },
    ]
}

fn of_few_repeats() -> Vec<Case> {
    vec![
        Case { repeats: 1, ..Case::new("one repeat as promised", "undecided", &FOUR) },
        Case {
            repeats: 1,
            times: |_, group, _| if group == 0 { 2.0 } else { 1.0 },
            ..Case::new("one repeat that is broken", "broken", &FOUR)
        },
        Case {
            repeats: 1,
            times: |_, group, step| if group == 0 && step > 40 { 1.9 } else { 1.0 },
            ..Case::new("one repeat of two states", "undecided", &FOUR)
        },
        Case {
            change: |trial| {
                let (kind, message) = ("workload".to_owned(), "it died".to_owned());
                trial.repeats[1].fault = Some(Fault { kind, message });
            },
            ..Case::new("a repeat failed", "undecided", &FOUR)
        },
        Case {
            change: |trial| {
                (trial.stop, trial.planned_repeats) = (StopRecord::Precise, Some(5));
            },
            ..Case::new("over as soon as it is precise", "kept", &FOUR)
        },
    ]
}

fn of_others() -> Vec<Case> {
    let of = |measure: &str, is| promise(measure, is);
    vec![
        Case {
            promise: of("memory.refaults", RelationRecord::AtMost(160_000.0)),
            ..Case::new("a limit", "kept", &[100, 100])
        },
        Case {
            promise: of("memory.refaults", RelationRecord::AtMost(120_000.0)),
            ..Case::new("a limit that is broken", "broken", &[100, 100])
        },
        Case {
            promise: of("memory.current", RelationRecord::AtMost(5_400_000.0)),
            times: |_, _, step| 1.0 + 0.2 * (step as f64 / 9.0).sin(),
            ..Case::new("an amount", "kept", &[100, 100])
        },
        Case {
            promise: of("compute.steps_per_s", RelationRecord::AtLeast(900.0)),
            ..Case::new("what workloads give", "kept", &FOUR)
        },
        Case {
            promise: of("compute.steps_per_s", RelationRecord::Equal),
            ..Case::new("what workloads give is the same", "kept", &FOUR)
        },
    ]
}

/// Five repeats, the last of which was interrupted and differs from the others.
fn of_left_out() -> Vec<Case> {
    let case = |what| Case {
        repeats: 5,
        noise: 0.02,
        change: |trial| {
            let (kind, message) = ("interrupted".to_owned(), "it was ended".to_owned());
            trial.repeats[4].fault = Some(Fault { kind, message });
        },
        ..Case::new(what, "undecided", &FOUR)
    };
    let every = Some(EveryRecord { span_s: 0.5, part: 0.9 });
    vec![
        Case {
            times: |repeat, group, step| {
                if (repeat, group) == (4, 2) && step < 15 { 1.5 } else { 1.0 }
            },
            ..case("what was cut of a repeat that is left out was broken")
        },
        Case {
            promise: PromiseRecord { every, ..Case::new("", "", &[]).promise },
            times: |repeat, group, step| {
                if (repeat, group) == (4, 1) && (60..75).contains(&step) { 0.6 } else { 1.0 }
            },
            ..case("spans of a repeat that is left out are short")
        },
        Case { verdict: "kept", ..case("a repeat that is left out was as promised") },
    ]
}

/// Cases that look decided but are not.
fn of_doubt() -> Vec<Case> {
    vec![
        Case {
            noise: 0.02,
            times: |repeat, group, step| match (group, step) {
                (0, 70..) => 1.17,
                (1, 60..) if repeat == 0 => 1.14,
                _ => 1.0,
            },
            ..Case::new("a state of one repeat beside one of all repeats", "undecided", &FOUR)
        },
        Case {
            promise: PromiseRecord {
                every: Some(EveryRecord { span_s: 0.06, part: 0.5 }),
                ..Case::new("", "", &[]).promise
            },
            ..Case::new("spans that are shorter than what was sampled", "undecided", &FOUR)
        },
        Case {
            promise: promise("compute.wait_ns", RelationRecord::AtMost(2.0e6 / 1.1)),
            change: |trial| {
                for result in trial.repeats.iter_mut().flat_map(|repeat| &mut repeat.workloads) {
                    result.metrics.insert("wait_ns".to_owned(), 2.0e6);
                }
            },
            ..Case::new("a latency that is the same in three repeats", "undecided", &FOUR)
        },
    ]
}

/// Little data, and none: a rate of zero, equal counts, two repeats, one with the facts of two groups.
fn of_little() -> Vec<Case> {
    let metric = |what, value: f64| Case {
        promise: promise("compute.steps_per_s", RelationRecord::AtLeast(value)),
        change: |trial| {
            let RelationRecord::AtLeast(value) = trial.promises[0].is else { return };
            for result in trial.repeats.iter_mut().flat_map(|repeat| &mut repeat.workloads) {
                result.metrics.insert("steps_per_s".to_owned(), value);
            }
        },
        ..Case::new(what, "undecided", &FOUR)
    };
    let every = Some(EveryRecord { span_s: 0.1, part: 0.3 });
    let of_spans = PromiseRecord { every, within: 0.2, ..Case::new("", "", &[]).promise };
    let floor = promise("memory.current", RelationRecord::AtLeast(4e6));
    vec![
        Case {
            promise: floor.clone(),
            times: |_, _, _| 0.0,
            ..Case::new(NOTHING, "broken", &[100, 100])
        },
        Case {
            promise: floor.clone(),
            repeats: 1,
            times: |_, _, _| 0.0,
            ..Case::new("nothing in the only repeat", "broken", &[100, 100])
        },
        Case {
            promise: floor,
            times: |repeat, _, _| if repeat == 1 { 0.0 } else { 1.0 },
            ..Case::new("nothing in one of three repeats", "undecided", &[100, 100])
        },
        Case {
            times: |repeat, group, _| if repeat % 2 == group % 2 { 0.6 } else { 1.4 },
            ..Case::new("shares that differ by factors", "undecided", &[100; 4])
        },
        metric("a count of three in three repeats", 3.0),
        Case { verdict: "kept", ..metric("a large count in three repeats", 3000.0) },
        Case {
            promise: of_spans.clone(),
            repeats: 2,
            noise: 0.02,
            ..Case::new("two repeats keep no spans", "undecided", &FOUR)
        },
        Case { promise: of_spans, noise: 0.02, ..Case::new("three repeats do", "kept", &FOUR) },
        Case {
            repeats: 1,
            noise: 0.01,
            times: |_, group, step| match (group, step < 20) {
                (0, true) => 3.0,
                (1, true) => 0.3,
                (1, false) => 1.2,
                _ => 1.0,
            },
            ..Case::new("the facts of two groups", "undecided", &FOUR)
        },
    ]
}

/// Workloads whose number is zero in the first repeat, or in one that is left out.
fn of_zeros() -> Vec<Case> {
    let case = |what, verdict, is| Case {
        promise: promise("compute.steps_per_s", is),
        repeats: 5,
        change: |trial| {
            for (repeat, value) in trial.repeats.iter_mut().zip([0.0, 600.0, 610.0, 605.0, 602.0]) {
                for result in &mut repeat.workloads {
                    result.metrics.insert("steps_per_s".to_owned(), value);
                }
            }
        },
        ..Case::new(what, verdict, &[100, 100])
    };
    let left_out = |what, verdict, is| Case {
        change: |trial| {
            let (kind, message) = ("interrupted".to_owned(), "it was ended".to_owned());
            trial.repeats[3].fault = Some(Fault { kind, message });
            for result in &mut trial.repeats[3].workloads {
                result.metrics.insert("steps_per_s".to_owned(), 0.0);
            }
        },
        ..case(what, verdict, is)
    };
    let none = |what, verdict, is| Case {
        change: |trial| {
            for result in trial.repeats.iter_mut().flat_map(|repeat| &mut repeat.workloads) {
                let value = if result.group == name(0) { 0.0 } else { 700.0 };
                result.metrics.insert("steps_per_s".to_owned(), value);
            }
        },
        ..case(what, verdict, is)
    };
    vec![
        case("a zero below an upper bound", "undecided", RelationRecord::AtMost(300.0)),
        case("a zero below a lower bound", "broken", RelationRecord::AtLeast(900.0)),
        none("nothing but zeros below a lower bound", "broken", RelationRecord::AtLeast(500.0)),
        none("nothing but zeros below an upper bound", "kept", RelationRecord::AtMost(900.0)),
        none("nothing but zeros in one of two equal groups", "void", RelationRecord::Equal),
        left_out("a zero is left out", "undecided", RelationRecord::AtLeast(900.0)),
        left_out("a zero is left out of a limit", "kept", RelationRecord::AtMost(1100.0)),
    ]
}

/// Writes the run; returns the expected verdict of each trial.
pub(super) fn write(folder: &Path) -> Vec<(&'static str, &'static str)> {
    let recorded =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../test-support/faults/limit-too-high");
    let base = Run::load(&recorded).unwrap().manifest;
    let cases = cases();
    let trials = cases.iter().enumerate();
    let trials: Vec<TrialRecord> =
        trials.map(|(number, case)| case.trial(number, &base.trials[0], folder)).collect();
    let ratio = ComparisonRecord {
        measure: "memory.refaults".to_owned(),
        group: Some("task".to_owned()),
        is: AcrossRecord::Ratio {
            of: trials[0].factors.clone(),
            to: trials[12].factors.clone(),
            at_least: Some(0.9),
            at_most: None,
        },
        confidence: 0.95,
    };
    let nothing = ComparisonRecord {
        measure: "memory.current".to_owned(),
        is: AcrossRecord::Ratio {
            of: BTreeMap::from([("case".to_owned(), NOTHING.into())]),
            to: trials[0].factors.clone(),
            at_least: Some(0.9),
            at_most: None,
        },
        ..ratio.clone()
    };
    let equal = ComparisonRecord {
        measure: "compute.steps_per_s".to_owned(),
        group: None,
        is: AcrossRecord::Equal { over: "case".to_owned(), pairs: PairsRecord::All, within: 0.1 },
        confidence: 0.95,
    };
    let manifest = Manifest { trials, comparisons: vec![ratio, nothing, equal], ..base };
    fs::write(folder.join("manifest.json"), serde_json::to_string(&manifest).unwrap()).unwrap();
    cases.iter().map(|case| (case.what, case.verdict)).collect()
}

impl Case {
    fn trial(&self, number: usize, base: &TrialRecord, folder: &Path) -> TrialRecord {
        let mut random = SmallRng::seed_from_u64(number as u64);
        let repeat = |repeat: usize| {
            let samples = format!("trial-{number:02}-repeat-{repeat:02}");
            let place = folder.join("samples").join(&samples);
            fs::create_dir_all(&place).unwrap();
            let of_host =
                (self.promise.measure == progress::MEASURE).then(|| progress::of_host(self));
            for table in [Some(self.table(repeat, &mut random)), of_host].into_iter().flatten() {
                let columns: Vec<String> =
                    table.columns.iter().map(|one| one.name.clone()).collect();
                let mut stream = SampleStream::create(&place, &table.source, &columns).unwrap();
                stream.append(&table).unwrap();
            }
            to_parquet(&place).unwrap();
            self.repeat(repeat, &samples)
        };
        let repeats = (0..self.repeats).map(repeat).collect();
        let group = |group: usize| GroupRecord {
            name: name(group),
            knobs: Vec::new(),
            workloads: base.groups[0]
                .workloads
                .iter()
                .cloned()
                .map(|mut one| {
                    one.name = format!("{}.compute", name(group));
                    one
                })
                .collect(),
            ..base.groups[0].clone()
        };
        let mut trial = TrialRecord {
            factors: BTreeMap::from([("case".to_owned(), self.what.into())]),
            groups: (0..self.weights.len()).map(group).collect(),
            promises: vec![self.promise.clone()],
            warm_up: WarmUpRecord::Auto,
            repeats,
            ..base.clone()
        };
        (self.change)(&mut trial);
        trial
    }

    fn repeat(&self, repeat: usize, samples: &str) -> RepeatRecord {
        let reading = |(group, weight): (usize, &u32)| {
            let text = Available::Value(format!("{weight}\n"));
            Reading {
                group: name(group),
                knob: "cpu.weight".to_owned(),
                file: "cpu.weight".to_owned(),
                at_start: text.clone(),
                at_end: text,
                also: BTreeMap::new(),
                drift: BTreeMap::new(),
            }
        };
        let steps = |group: usize| 1000.0 + 5.0 * ((group + 3 * repeat) % 4) as f64;
        let result = |group: usize| WorkloadResult {
            workload: format!("{}.compute", name(group)),
            group: name(group),
            metrics: BTreeMap::from([("steps_per_s".to_owned(), steps(group))]),
            ..WorkloadResult::default()
        };
        RepeatRecord {
            released_ns: START_NS,
            all_released_ns: START_NS + 2_000_000,
            stopped_ns: START_NS + 100 * STEP_NS,
            knobs: self.weights.iter().enumerate().map(reading).collect(),
            workloads: (0..self.weights.len()).map(result).collect(),
            ..RepeatRecord::without_a_window(samples, "nothing does I/O")
        }
    }

    fn holds_bytes(&self) -> bool {
        self.promise.measure == "memory.current"
    }

    /// Refaulted pages and bytes held: 300 000 pages per second and ten million bytes in total.
    fn table(&self, repeat: usize, random: &mut SmallRng) -> Table {
        if self.promise.measure == progress::MEASURE {
            return progress::table(self, repeat);
        }
        let sum: u32 = self.weights.iter().sum();
        let mut table = Table {
            source: "memory".to_owned(),
            subjects: (0..self.weights.len()).map(name).collect(),
            ..Table::default()
        };
        let names = ["refault_anon_pages", "refault_file_pages", "current_bytes"];
        let mut columns = names.map(|name| Column { name: name.to_owned(), values: Vec::new() });
        let mut pages = vec![0.0; self.weights.len()];
        for step in 0..104_usize {
            for (group, weight) in self.weights.iter().enumerate() {
                // The first two readings are before the start.
                let times = (self.times)(repeat, group, step.saturating_sub(2));
                let noise = 1.0 + self.noise * (2.0 * random.random::<f64>() - 1.0);
                let now = f64::from(*weight) / f64::from(sum) * times * noise;
                // Groups that hold nothing still miss it: memory is short.
                let missed = if now > 0.0 { now } else { f64::from(u8::from(self.holds_bytes())) };
                pages[group] += 30_000.0 * missed;
                table
                    .time_ns
                    .push(START_NS + step as u64 * STEP_NS - 2 * STEP_NS + 20_000 * group as u64);
                table.subject.push(group as u32);
                columns[0].values.push(Some(pages[group] as u64 / 3));
                columns[1].values.push(Some(pages[group] as u64 - pages[group] as u64 / 3));
                columns[2].values.push(Some((1e7 * now) as u64));
            }
        }
        table.columns = columns.into();
        table
    }
}

fn name(group: usize) -> String {
    format!("task{}", group + 1)
}
