//! OpenMetrics text: the verdicts of a finished run.

use assay_judge::verdict::{Judgement, Verdict};
use assay_record::run_folder::Manifest;

use crate::export::families::Families;

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
