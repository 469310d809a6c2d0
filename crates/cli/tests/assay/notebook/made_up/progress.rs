//! Cases of progress: groups of equal weight whose threads never sleep.

use assay_facts::Available;
use assay_run_folder::{Column, PromiseRecord, Reading, RelationRecord, Table, TrialRecord};

use super::{Case, START_NS, STEP_NS, name, promise};

pub(super) const MEASURE: &str = "progress";

/// Two groups that never sleep, with a wait of two seconds, without one, and in a single repeat.
pub(super) fn cases() -> Vec<Case> {
    let case = |what, verdict, seconds| Case {
        promise: PromiseRecord {
            within: 0.0,
            ..promise(MEASURE, RelationRecord::Within(Some(seconds)))
        },
        noise: 0.0,
        change: |trial| {
            for workload in trial.groups.iter_mut().flat_map(|group| &mut group.workloads) {
                workload.tool = "spin".to_owned();
            }
        },
        ..Case::new(what, verdict, &[100, 100])
    };
    let waits = |_, group, step| if group == 1 && (40..60).contains(&step) { 0.0 } else { 1.0 };
    let mut cases = derived();
    cases.extend([
        case("progress all the time", "kept", 0.5),
        Case { times: waits, ..case("a wait that is too long", "broken", 1.0) },
        Case {
            times: waits,
            ..case("a wait that is as long as readings can tell", "undecided", 2.0)
        },
        Case { repeats: 1, ..case("progress in the only repeat", "undecided", 0.5) },
    ]);
    cases
}

/// The hypervisor takes a quarter of the CPUs in cases with this name.
const STOLEN: &str = "a wait that a hypervisor may explain";

/// The promised time follows from weights: 102 ms if the groups have all of the CPUs.
fn derived() -> Vec<Case> {
    let case = |what, verdict| Case {
        promise: PromiseRecord { within: 0.0, ..promise(MEASURE, RelationRecord::Within(None)) },
        noise: 0.0,
        change: |trial| one_thread_each(trial),
        ..Case::new(what, verdict, &[100, 100])
    };
    let waits = |_, group, step| if group == 1 && (40..60).contains(&step) { 0.0 } else { 1.0 };
    let short = |_, group, step| if group == 1 && (40..42).contains(&step) { 0.0 } else { 1.0 };
    vec![
        case("progress as weights have it", "kept"),
        Case { times: waits, ..case("a wait that no weights explain", "broken") },
        Case { times: waits, ..case(STOLEN, "undecided") },
        Case {
            times: short,
            change: |trial| {
                one_thread_each(trial);
                for repeat in &mut trial.repeats {
                    let quota = Available::Value("80000 100000\n".to_owned());
                    let weight = repeat.knobs[1].clone();
                    let [knob, file] = ["cpu.max"; 2].map(str::to_owned);
                    let (at_start, at_end) = (quota.clone(), quota);
                    repeat.knobs.push(Reading { knob, file, at_start, at_end, ..weight });
                }
            },
            ..case("a wait that a quota explains", "undecided")
        },
        Case { times: short, ..case("the same wait without the quota", "broken") },
    ]
}

fn one_thread_each(trial: &mut TrialRecord) {
    for workload in trial.groups.iter_mut().flat_map(|group| &mut group.workloads) {
        (workload.tool, workload.threads) = ("spin".to_owned(), Some(1));
    }
}

/// Two CPUs of which three quarters were used: by the groups, where they did not wait.
pub(super) fn of_host(case: &Case) -> Table {
    let steal = if case.what == STOLEN { 50_000_000 } else { 0 };
    let step = [("user_ns", 150_000_000), ("idle_ns", 50_000_000 - steal), ("steal_ns", steal)];
    let names = [
        "user_ns",
        "nice_ns",
        "system_ns",
        "idle_ns",
        "iowait_ns",
        "irq_ns",
        "softirq_ns",
        "steal_ns",
    ];
    let grown = |name: &str| step.iter().find(|(known, _)| *known == name).map_or(0, |(_, ns)| *ns);
    let column = |name: &str| Column {
        name: name.to_owned(),
        values: (0..104).map(|round| Some(round * grown(name))).collect(),
    };
    Table {
        source: "host_cpu".to_owned(),
        subjects: vec!["host".to_owned()],
        time_ns: (0..104).map(|round| START_NS + round * STEP_NS - 2 * STEP_NS).collect(),
        subject: vec![0; 104],
        columns: names.map(column).into(),
    }
}

/// CPU time: three quarters of a CPU for each group.
pub(super) fn table(case: &Case, repeat: usize) -> Table {
    let mut table = Table {
        source: "cpu".to_owned(),
        subjects: (0..case.weights.len()).map(name).collect(),
        columns: vec![Column { name: "usage_ns".to_owned(), values: Vec::new() }],
        ..Table::default()
    };
    let mut used = vec![0.0; case.weights.len()];
    for step in 0..104_usize {
        for (group, used) in used.iter_mut().enumerate() {
            *used += 75e6 * (case.times)(repeat, group, step.saturating_sub(2));
            table
                .time_ns
                .push(START_NS + step as u64 * STEP_NS - 2 * STEP_NS + 20_000 * group as u64);
            table.subject.push(group as u32);
            table.columns[0].values.push(Some(*used as u64));
        }
    }
    table
}
