//! OpenMetrics text: the verdicts of a finished run, or the current counters of a running one.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::Path;

use assay_judge::verdict::{Judgement, Verdict};
use assay_record::run_folder::{Budget, Manifest, RepeatId, Table};

use crate::export::error::Error;
use crate::export::families::Families;
use crate::export::metrics::{Metric, metric};

const VERDICT: (&str, &str, &str) = ("stateset", "", "The verdict on a promise: one of four is 1.");
const SHARE: (&str, &str, &str) =
    ("gauge", "", "Observed share of a group, or rate of the measure for limits.");
const EXPECTED: (&str, &str, &str) =
    ("gauge", "", "Promised share of a group, or rate for limits.");
const RATE: (&str, &str, &str) = ("gauge", "", "Rate of the measure for a group, per second.");
const ERROR: (&str, &str, &str) =
    ("gauge", "ratio", "Largest relative error of a promise over all groups.");
const NUMBER: (&str, &str, &str) =
    ("gauge", "", "Number reported by a workload, mean over repeats.");

/// Metrics of a finished run: its verdicts and the numbers behind them.
#[must_use]
pub fn openmetrics(name: &str, manifest: &Manifest, judgement: Option<&Judgement>) -> String {
    let mut all = Families::default();
    let host = &manifest.host;
    all.add(
        "assay_run",
        ("info", "", "The run that all other metrics belong to."),
        &[
            ("run", name),
            ("study", &manifest.study),
            ("host", &host.host_name),
            ("kernel", &host.kernel),
            ("assay", &manifest.assay),
            ("started_at", &manifest.started_at),
        ],
        1.0,
    );
    let trials = judgement.map_or(&[][..], |judgement| &judgement.trials);
    for (number, trial) in trials.iter().enumerate() {
        let number = number.to_string();
        for (index, promise) in trial.promises.iter().enumerate() {
            let index = index.to_string();
            let common = [
                ("run", name),
                ("trial", number.as_str()),
                ("promise", index.as_str()),
                ("measure", promise.measure.as_str()),
            ];
            for one in [Verdict::Kept, Verdict::Broken, Verdict::Undecided, Verdict::Void] {
                let state = [&common[..], &[("assay_promise", one.word())]].concat();
                let is = f64::from(u8::from(promise.verdict == one));
                all.add("assay_promise", VERDICT, &state, is);
            }
            if let Some(worst) = promise.worst_error {
                all.add("assay_promise_worst_error_ratio", ERROR, &common, worst.value);
            }
            for group in &promise.groups {
                let labels = [&common[..], &[("group", group.name.as_str())]].concat();
                all.add("assay_group_seen", SHARE, &labels, group.share);
                all.add("assay_group_expected", EXPECTED, &labels, group.expected_share);
                all.add("assay_group_rate", RATE, &labels, group.rate);
            }
        }
        for workload in &trial.workloads {
            for (metric, figure) in &workload.metrics {
                let labels = [
                    ("run", name),
                    ("trial", number.as_str()),
                    ("group", workload.group.as_str()),
                    ("workload", workload.name.as_str()),
                    ("metric", metric.as_str()),
                ];
                all.add("assay_workload_number", NUMBER, &labels, figure.value);
            }
        }
    }
    all.text()
}

/// The latest reading of each counter of a running run.
#[derive(Debug, Default)]
pub struct Live {
    /// The current repeat.
    repeat: Option<RepeatId>,
    /// By metric name and subject.
    latest: BTreeMap<(String, String), (Metric, u64)>,
    /// Remaining memory budget for this repeat.
    budget: Budget,
}

impl Live {
    /// Adds new samples.
    pub fn take(&mut self, id: RepeatId, table: &Table) -> Result<(), Error> {
        // Only the current repeat is kept: counters restart with each repeat.
        if self.repeat != Some(id) {
            *self = Self { repeat: Some(id), ..Self::default() };
        }
        let RepeatId { trial, repeat } = id;
        let folder = format!("samples/trial-{trial:02}-repeat-{repeat:02}");
        let file = Path::new(&folder).join(&table.source);
        for column in &table.columns {
            let Some(metric) = metric(&table.source, &column.name) else { continue };
            for (row, value) in column.values.iter().enumerate() {
                let Some(value) = value else { continue };
                let subject = &table.subjects[table.subject[row] as usize];
                let reading = (metric.clone(), *value);
                match self.latest.entry((metric.name.clone(), subject.clone())) {
                    Entry::Occupied(mut known) => {
                        known.insert(reading);
                    }
                    Entry::Vacant(new) => {
                        // Both names are stored here and once more in the text.
                        let cost = 2 * (Budget::cost(subject) + Budget::cost(&metric.name));
                        self.budget.take_names(cost, &file)?;
                        new.insert(reading);
                    }
                }
            }
        }
        Ok(())
    }

    /// The current metrics as text.
    #[must_use]
    pub fn text(&self, run: &str) -> String {
        let mut all = Families::default();
        let Some(RepeatId { trial, repeat }) = self.repeat else { return all.text() };
        let (trial, repeat) = (trial.to_string(), repeat.to_string());
        for ((name, subject), (metric, value)) in &self.latest {
            let labels = [
                ("run", run),
                ("trial", trial.as_str()),
                ("repeat", repeat.as_str()),
                ("subject", subject.as_str()),
            ];
            let kind = if metric.counter { "counter" } else { "gauge" };
            all.add(name, (kind, metric.unit, ""), &labels, *value as f64 * metric.scale);
        }
        all.text()
    }
}

#[cfg(test)]
mod tests {
    use assay_record::run_folder::Column;

    use super::*;

    #[test]
    fn latest_reading_of_the_current_repeat_is_shown_in_base_units() {
        let table = Table {
            source: "cpu".to_owned(),
            time_ns: vec![1, 2],
            subject: vec![0, 0],
            subjects: vec!["a \"b\"".to_owned()],
            columns: vec![Column {
                name: "usage_ns".to_owned(),
                values: vec![Some(1_000_000_000), Some(2_500_000_000)],
            }],
        };
        let mut live = Live::default();
        live.take(RepeatId { trial: 0, repeat: 0 }, &table).unwrap();
        live.take(RepeatId { trial: 0, repeat: 1 }, &table).unwrap();
        let text = live.text("r");
        let expected = "# TYPE assay_cpu_usage_seconds counter\n# UNIT assay_cpu_usage_seconds seconds\n\
            assay_cpu_usage_seconds_total{run=\"r\",trial=\"0\",repeat=\"1\",subject=\"a \\\"b\\\"\"} 2.5\n# EOF\n";
        assert_eq!(text, expected);
    }

    /// Each row has a different subject name, stored for each counter.
    #[test]
    fn stored_names_of_a_repeat_share_one_budget() {
        let table = |from: u64| Table {
            source: "cpu".to_owned(),
            time_ns: vec![1; 10],
            subject: (0..10).collect(),
            subjects: (from..from + 10).map(|name| format!("{name:04}")).collect(),
            columns: vec![Column { name: "usage_ns".to_owned(), values: vec![Some(1); 10] }],
        };
        let id = RepeatId { trial: 3, repeat: 0 };
        let one = 2 * (Budget::cost("0000") + Budget::cost("assay_cpu_usage_seconds"));
        let budget = Budget::new(0, 10 * one);
        let mut live = Live { repeat: Some(id), budget, ..Live::default() };
        live.take(id, &table(0)).unwrap();
        live.take(id, &table(0)).unwrap();
        let error = live.take(id, &table(1)).unwrap_err().to_string();
        assert!(error.contains("trial-03-repeat-00/cpu"), "{error}");
        live.take(RepeatId { trial: 3, repeat: 1 }, &table(1)).unwrap();
    }
}
