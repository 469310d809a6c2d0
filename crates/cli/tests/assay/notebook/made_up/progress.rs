//! Cases of progress: groups of equal weight whose threads never sleep.

use assay_run_folder::{Column, PromiseRecord, RelationRecord, Table};

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
    vec![
        case("progress all the time", "kept", 0.5),
        Case { times: waits, ..case("a wait that is too long", "broken", 1.0) },
        Case {
            times: waits,
            ..case("a wait that is as long as readings can tell", "undecided", 2.0)
        },
        Case { repeats: 1, ..case("progress in the only repeat", "undecided", 0.5) },
    ]
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
