//! The kernel's counters of each node over a repeat, as numastat(8) shows them.

use assay_run_folder::CounterSpan;
use serde::Serialize;

use crate::trial::Trial;

/// The counters in the order of numastat(8).
pub(crate) const NAMES: [&str; 6] =
    ["numa_hit", "numa_miss", "numa_foreign", "interleave_hit", "local_node", "other_node"];

/// All repeats with counters; empty if none has any.
#[derive(Serialize)]
pub(super) struct Numastat {
    names: [&'static str; 6],
    rows: Vec<Row>,
}

/// One node in one repeat.
#[derive(Serialize)]
struct Row {
    repeat: usize,
    node: u16,
    counts: Vec<Count>,
}

/// One counter in pages.
#[derive(Serialize)]
struct Count {
    before: String,
    after: String,
    since: String,
}

impl Numastat {
    pub(super) fn new(trial: &Trial<'_>) -> Self {
        let mut rows = Vec::new();
        for (index, repeat) in trial.record.repeats.iter().enumerate() {
            for (node, counts) in repeat.nodes.iter().flat_map(|nodes| &nodes.numastat) {
                let counts = NAMES.iter().map(|name| count(counts.get(*name))).collect();
                rows.push(Row { repeat: index + 1, node: *node, counts });
            }
        }
        Self { names: NAMES, rows }
    }
}

fn count(counted: Option<&CounterSpan>) -> Count {
    let text = |value: Option<u64>| {
        value.map_or_else(|| "not available".to_owned(), |value| value.to_string())
    };
    Count {
        before: text(counted.map(|counted| counted.before)),
        after: text(counted.map(|counted| counted.after)),
        since: counted.map_or_else(String::new, |counted| format!("+{}", counted.since())),
    }
}
