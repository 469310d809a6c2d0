//! The export tables with their columns and units: the contract with notebooks. A test keeps
//! docs/exporting.md in sync.

use assay_record::run_folder::Kind;

use crate::wording;

/// One column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShapeColumn {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
    /// Its unit; empty if it has none.
    pub unit: &'static str,
    /// What it means.
    pub about: &'static str,
}

/// One table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Name of the table and of its file, without extension.
    pub name: &'static str,
    /// What a row is.
    pub about: &'static str,
    /// Its columns in order.
    pub columns: &'static [ShapeColumn],
}

const fn column(
    name: &'static str,
    kind: Kind,
    unit: &'static str,
    about: &'static str,
) -> ShapeColumn {
    ShapeColumn { name, kind, unit, about }
}

const fn text(name: &'static str, about: &'static str) -> ShapeColumn {
    column(name, Kind::Text, "", about)
}

const RUN: ShapeColumn = text("run", "name of the run's folder; joins all tables");
const TRIAL: ShapeColumn =
    column("trial", Kind::Whole, "", "which trial of the run, from 0; joins with `run`");
const REPEAT: ShapeColumn = column("repeat", Kind::Whole, "", "which repeat of the trial, from 0");

pub(crate) static RUNS: Shape = Shape {
    name: "runs",
    about: "one row per run",
    columns: &[
        RUN,
        text("study", "the study's name"),
        text("title", "its title"),
        text("started_at", "when it began, RFC 3339, UTC"),
        text("host", "the host's name"),
        text("kernel", "its kernel"),
        text("cpu", "model of its CPUs"),
        column("cpus", Kind::Whole, "CPUs", "CPUs that the run could use"),
        column("memory_bytes", Kind::Whole, "bytes", "its memory"),
        text("guest", "the kernel of the lab's guest, if the run took place in one"),
        text("assay", "version that recorded it"),
        column("seed", Kind::Whole, "", "seed of order and data"),
        text("verdict", "kept, broken, undecided or void; null of a recording"),
        column("restored", Kind::Flag, "", "whether the host was restored; null if not recorded"),
        text("ended_early", "why it ended before its last trial, if it did"),
    ],
};

pub(crate) static TRIALS: Shape = Shape {
    name: "trials",
    about: "one row per factor of a trial; a trial without factors has one row with null",
    columns: &[
        RUN,
        TRIAL,
        text("factor", "the factor's name"),
        text("level", "its level as text"),
        column("level_number", Kind::Number, "", "its level where that is a number"),
        text("verdict", "the trial's verdict"),
        column("repeats", Kind::Whole, "", "repeats that count"),
        column("window_s", Kind::Number, "s", "judged time, all repeats together"),
        column("warm_up_s", Kind::Number, "s", "longest warm-up cut of its repeats"),
        column("observer_cpu", Kind::Number, "CPUs", "CPU time of sampling divided by wall time"),
    ],
};

pub(crate) static PROMISES: Shape = Shape {
    name: "promises",
    about: "one row per promise and group; a promise without numbers has one row with null",
    columns: &[
        RUN,
        TRIAL,
        column("promise", Kind::Whole, "", "which promise of the trial, from 0"),
        text("measure", "the measure"),
        text("is", "the name of the relation, as in the study"),
        text("to", "the knob or bound"),
        column("within", Kind::Number, "fraction", "the margin"),
        text("promise_verdict", "the verdict on the promise"),
        column("worst_error", Kind::Number, "fraction", "largest |error| over all groups"),
        column(
            "worst_error_low",
            Kind::Number,
            "fraction",
            "its lower bound, by which a promise is broken",
        ),
        column("worst_error_high", Kind::Number, "fraction", "upper end; null where unbounded"),
        column("total_rate", Kind::Number, "measure/s", "rate of all groups together"),
        text("group", "the group's name"),
        column("knob", Kind::Number, "knob", "the knob as read back"),
        column("expected", Kind::Number, "share or measure/s", "the promised value of the group"),
        column("seen", Kind::Number, "share or measure/s", "the observed value"),
        column(
            "low",
            Kind::Number,
            "share or measure/s",
            "its lower bound, by which it is kept; of metrics the least start",
        ),
        column("high", Kind::Number, "share or measure/s", "upper end; null where unbounded"),
        column("rate", Kind::Number, "measure/s", "rate of the measure"),
        text("group_verdict", "the group's own verdict"),
    ],
};

pub(crate) static WORKLOADS: Shape = Shape {
    name: "workloads",
    about: "one row per metric that a workload reported in a repeat",
    columns: &[
        RUN,
        TRIAL,
        REPEAT,
        text("group", "the workload's group"),
        text("workload", "its name, unique in the trial"),
        text("metric", "name of the metric with its unit; latencies as `read_p99_ns`"),
        column("value", Kind::Number, "as the name says", "the number; null where not available"),
        text("not_available", "why it is not available"),
    ],
};

pub(crate) static SAMPLES: Shape = Shape {
    name: "samples",
    about: "one row per counter of a subject at an instant, as read",
    columns: &[
        RUN,
        TRIAL,
        REPEAT,
        text("source", "the source; see docs/reference/sources.md"),
        text("subject", "a group's name, a disk, a CPU, a thread, or `host`"),
        column("seconds", Kind::Number, "s", "since all groups of the repeat ran; negative before"),
        column("time_ns", Kind::Whole, "ns", "CLOCK_MONOTONIC of the host"),
        text("counter", "name of the counter with its unit"),
        column("value", Kind::Whole, "as the name says", "the value; counters are cumulative"),
    ],
};

/// All tables.
pub static TABLES: [&Shape; 5] = [&RUNS, &TRIALS, &PROMISES, &WORKLOADS, &SAMPLES];

/// The columns by which tables join.
const KEYS: [ShapeColumn; 3] = [RUN, TRIAL, REPEAT];

/// The tables as Markdown for docs/exporting.md, which names the keys once.
#[must_use]
pub fn page() -> String {
    let mut page = String::new();
    for shape in TABLES {
        page.push_str(&format!("### `{}`\n\n", shape.name));
        page.push_str(&format!("{}\n\n", wording::sentence(shape.about)));
        for column in shape.columns.iter().filter(|column| !KEYS.contains(column)) {
            let ShapeColumn { name, unit, about, .. } = *column;
            let unit = if unit.is_empty() { String::new() } else { format!(" ({unit})") };
            page.push_str(&format!("- `{name}`{unit}: {about}\n"));
        }
        page.push('\n');
    }
    page.truncate(page.trim_end().len());
    page.push('\n');
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The section between two markers in the document is generated here.
    #[test]
    fn documentation_matches_the_tables() {
        const BEGIN: &str =
            "<!-- tables: written by ASSAY_BLESS=1 cargo test -p assay-report -->\n";
        const END: &str = "<!-- end of tables -->";
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/exporting.md");
        let text = std::fs::read_to_string(path).unwrap();
        let (before, rest) = text.split_once(BEGIN).expect("the marker before the tables");
        let (tables, after) = rest.split_once(END).expect("the marker after the tables");
        if std::env::var_os("ASSAY_BLESS").is_some() {
            std::fs::write(path, format!("{before}{BEGIN}\n{}\n{END}{after}", page())).unwrap();
            return;
        }
        assert_eq!(tables.trim(), page().trim(), "regenerate with ASSAY_BLESS=1");
    }

    #[test]
    fn column_names_are_unique_in_each_table() {
        for shape in TABLES {
            for (index, column) in shape.columns.iter().enumerate() {
                let twice = shape.columns[..index].iter().any(|other| other.name == column.name);
                assert!(!twice, "{}.{}", shape.name, column.name);
            }
        }
    }
}
