//! Workload metrics: one number per instance and repeat.
//!
//! A metric is the workload's own result over its whole run, from its release to its end, warm-up
//! included; it has no samples. Only the scatter between repeats shows its precision.

use crate::verdict::wording::some_of;
use assay_record::run_folder::{GroupRecord, TrialRecord, WorkloadRecord, WorkloadResult};
use assay_record::terms::Measure;
use assay_stats::resolution::Resolution;

use crate::repeat::Repeat;

/// Number of metrics listed by name.
const NAMED: usize = 16;

/// A workload metric as a measure: `WORKLOAD.METRIC`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Metric<'m> {
    workload: &'m str,
    name: &'m str,
}

/// The values of a metric in one trial.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Values {
    /// Groups that run the workload, one entry per instance.
    pub(crate) groups: Vec<String>,
    /// For each repeat in which every instance has a value: its number from 1, and the values in
    /// the order of the groups.
    pub(crate) rows: Vec<(usize, Vec<f64>)>,
    /// Repeats that `rows` lacks, with the reason.
    pub(crate) left_out: Vec<String>,
}

/// Endings of names whose whole numbers are exact: fractions, of which 0 and 1 are the ends of the
/// scale, and what a program saw of the machine (`copy.nodes_seen`), which does not happen by chance.
const EXACT: [&str; 5] = ["_part", "_ratio", "_share", "_fraction", "_seen"];

/// How finely a measure is known: a latency (`reader.read_p99_ns`) may be a bucket of a histogram,
/// unless it is a mean. Any other metric that is whole in every repeat is a count of events, or was
/// rounded to whole seconds, percent or operations a second. What was sampled is exact.
pub(crate) fn resolution(measure: &str) -> Resolution {
    match measure {
        _ if Measure::parse(measure).is_some() => Resolution::Exact,
        _ if measure.ends_with("_ns") && !measure.ends_with("_mean_ns") => Resolution::Bucket,
        _ if EXACT.iter().any(|ending| measure.ends_with(ending)) => Resolution::Exact,
        _ => Resolution::Unit,
    }
}

impl Values {
    /// Itself where any repeat has a value.
    pub(crate) fn if_any(self) -> Result<Self, String> {
        match (self.rows.is_empty(), self.left_out.is_empty()) {
            (false, _) => Ok(self),
            (true, true) => Err("no repeat can be judged".to_owned()),
            (true, false) => Err(some_of(&self.left_out, "; ")),
        }
    }

    /// Repeats in which some value is not above 0: it has no logarithm, but it is an observation.
    pub(crate) fn zeros(&self) -> impl Iterator<Item = usize> {
        self.rows.iter().filter(|(_, row)| has_zero(row)).map(|(repeat, _)| *repeat)
    }

    /// The logarithm of the geometric mean over all instances, for each repeat; minus infinity, which differs
    /// from everything, of one with a zero.
    pub(crate) fn mean_logs(&self) -> impl Iterator<Item = (usize, f64)> {
        self.rows.iter().map(|(repeat, row)| {
            let sum: f64 = row.iter().map(|value| value.ln()).sum();
            let mean = sum / row.len().max(1) as f64;
            (*repeat, if has_zero(row) { f64::NEG_INFINITY } else { mean })
        })
    }
}

impl<'m> Metric<'m> {
    /// Splits the measure at its first dot.
    pub(crate) fn parse(measure: &'m str) -> Option<Self> {
        let (workload, name) = measure.split_once('.')?;
        Some(Self { workload, name })
    }

    /// These values without the repeats of which there is no logarithm, or why there are none.
    pub(crate) fn above_zero(self, mut values: Values) -> Result<Values, String> {
        let (zeros, rows): (Vec<_>, Vec<_>) =
            values.rows.into_iter().partition(|(_, row)| has_zero(row));
        values.rows = rows;
        for (repeat, row) in zeros {
            let zero = row.iter().zip(&values.groups).find(|(value, _)| **value <= 0.0);
            values.left_out.extend(zero.map(|(value, of)| {
                let name = self.name;
                format!("repeat {repeat}: `{name}` of `{of}` is {value}, which has no logarithm")
            }));
        }
        values.if_any()
    }

    /// Its values in these repeats of a trial, for the groups that `counts` accepts; an error if none of
    /// them runs the workload.
    pub(crate) fn values(
        self,
        trial: &TrialRecord,
        repeats: &[Repeat<'_>],
        counts: impl Fn(&str) -> bool,
    ) -> Result<Values, String> {
        let instances: Vec<(&GroupRecord, &WorkloadRecord)> = trial
            .groups
            .iter()
            .filter(|group| counts(&group.name))
            .flat_map(|group| group.workloads.iter().map(move |workload| (group, workload)))
            .filter(|(group, workload)| own_name(group, workload) == self.workload)
            .collect();
        if instances.is_empty() {
            return Err(format!(
                "no group of this trial runs `{0}`, of which `{0}.{1}` would be",
                self.workload, self.name
            ));
        }
        let mut values = Values {
            groups: instances.iter().map(|(group, _)| group.name.clone()).collect(),
            rows: Vec::new(),
            left_out: Vec::new(),
        };
        for repeat in repeats {
            let row: Result<Vec<f64>, String> =
                instances.iter().map(|instance| self.value(repeat, *instance)).collect();
            match row {
                Ok(row) => values.rows.push((repeat.number, row)),
                Err(why) => values.left_out.push(format!("repeat {}: {why}", repeat.number)),
            }
        }
        Ok(values)
    }

    fn value(
        self,
        repeat: &Repeat<'_>,
        (group, workload): (&GroupRecord, &WorkloadRecord),
    ) -> Result<f64, String> {
        let found = repeat
            .result(group, workload)
            .ok_or_else(|| format!("`{}` left no result", workload.name))?;
        if let Some(failure) = &found.failure {
            return Err(format!("`{}` failed: {failure}", workload.name));
        }
        let value = of_result(found, self.name).ok_or_else(|| {
            match found.not_available.get(self.name) {
                Some(why) => {
                    format!("`{}` of `{}` is not available: {why}", self.name, workload.name)
                }
                None => format!(
                    "`{}` gave no metric `{}`; it gave {}",
                    workload.name,
                    self.name,
                    listed(&names(found))
                ),
            }
        })?;
        match value.is_finite() {
            true => Ok(value),
            false => Err(format!("`{}` of `{}` is {value}", self.name, workload.name)),
        }
    }
}

fn has_zero(row: &[f64]) -> bool {
    row.iter().any(|value| *value <= 0.0)
}

/// The workload's name in the study, without the group's path that the record prepends.
fn own_name<'w>(group: &GroupRecord, workload: &'w WorkloadRecord) -> &'w str {
    let path = group.name.replace('/', ".");
    let own = workload.name.strip_prefix(&path).and_then(|rest| rest.strip_prefix('.'));
    own.unwrap_or(&workload.name)
}

/// A value by name: a metric, or a latency such as `read_mean_ns` or `read_p99.9_ns`.
fn of_result(result: &WorkloadResult, name: &str) -> Option<f64> {
    if let Some(value) = result.metrics.get(name) {
        return Some(*value);
    }
    result.latency.iter().find_map(|(direction, latency)| {
        let which =
            name.strip_prefix(direction.as_str())?.strip_prefix('_')?.strip_suffix("_ns")?;
        match which.strip_prefix('p') {
            Some(percentile) => latency.percentiles_ns.get(percentile).copied(),
            None => (which == "mean").then_some(latency.mean_ns),
        }
    })
}

/// Workload metrics to compare between runs, as `WORKLOAD.METRIC`: all metrics, and of latencies
/// mean, median and 99th percentile.
pub(crate) fn comparable(trial: &TrialRecord) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for group in &trial.groups {
        for workload in &group.workloads {
            let own = own_name(group, workload);
            let results = trial.repeats.iter().flat_map(|repeat| &repeat.workloads);
            let results = results
                .filter(|result| result.workload == workload.name && result.group == group.name);
            for name in results.flat_map(names).filter(|name| is_worth_comparing(name)) {
                let measure = format!("{own}.{name}");
                if !found.contains(&measure) {
                    found.push(measure);
                }
            }
        }
    }
    found
}

fn is_worth_comparing(name: &str) -> bool {
    let percentile = name.strip_suffix("_ns").and_then(|name| name.rsplit_once("_p"));
    percentile.is_none_or(|(_, percentile)| {
        matches!(percentile, "50" | "99") || percentile.parse::<f64>().is_err()
    })
}

fn names(result: &WorkloadResult) -> Vec<String> {
    let latencies = result.latency.iter().flat_map(|(direction, latency)| {
        let percentiles =
            latency.percentiles_ns.keys().map(move |key| format!("{direction}_p{key}_ns"));
        std::iter::once(format!("{direction}_mean_ns")).chain(percentiles)
    });
    result.metrics.keys().cloned().chain(latencies).collect()
}

fn listed(names: &[String]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    let shown: Vec<String> = names.iter().take(NAMED).map(|name| format!("`{name}`")).collect();
    match names.len().saturating_sub(NAMED) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use assay_record::run_folder::Latency;

    use super::*;

    fn result() -> WorkloadResult {
        let latency = Latency {
            mean_ns: 1000.0,
            percentiles_ns: BTreeMap::from([("99.9".to_owned(), 9000.0)]),
        };
        WorkloadResult {
            workload: "box.kept.reader".to_owned(),
            group: "box/kept".to_owned(),
            metrics: BTreeMap::from([("read_iops".to_owned(), 250.0)]),
            latency: BTreeMap::from([("read".to_owned(), latency)]),
            ..WorkloadResult::default()
        }
    }

    #[test]
    fn latencies_are_metrics_too() {
        assert_eq!(of_result(&result(), "read_iops"), Some(250.0));
        assert_eq!(of_result(&result(), "read_mean_ns"), Some(1000.0));
        assert_eq!(of_result(&result(), "read_p99.9_ns"), Some(9000.0));
        assert_eq!(of_result(&result(), "read_p50_ns"), None);
        assert_eq!(of_result(&result(), "write_mean_ns"), None);
    }

    #[test]
    fn available_metrics_are_listed() {
        assert_eq!(listed(&names(&result())), "`read_iops`, `read_mean_ns`, `read_p99.9_ns`");
        assert_eq!(listed(&[]), "none");
        let many: Vec<String> = (0..20).map(|number| format!("m{number}")).collect();
        assert!(listed(&many).ends_with("`m15` and 4 more"), "{}", listed(&many));
    }
}
