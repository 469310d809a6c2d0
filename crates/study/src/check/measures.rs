//! Measures of promises and references: counters of the sampler, or metrics of workloads.

use assay_sys::closest;
use assay_sys::diagnostic::Diagnostic;

use super::Check;
use crate::code;
use crate::key::MEASURES;
use crate::metric::{self, Metric, fio_metrics};
use crate::reader::{did_you_mean, quoted, word_hint};
use crate::syntax::{Group, Tool, Workload};

/// Reports an unknown measure. An empty one is a missing key, which has been reported.
pub(super) fn known_measure(check: &mut Check<'_>, measure: &str, path: &str) {
    if measure.is_empty() || MEASURES.contains(&measure) {
        return;
    }
    let metric = Metric::parse(measure);
    let workloads = &check.study.workloads;
    let finding = match metric.map(|metric| (metric, workloads.get(metric.workload))) {
        Some((metric, Some(workload))) => unknown_metric(metric, workload),
        Some((metric, None)) if !looks_sampled(measure, metric) => {
            Some(undefined_workload(metric, workloads.keys().map(String::as_str)))
        }
        _ => Some(unknown_measure(measure)),
    };
    if let Some(finding) = finding {
        let label = format!("expected one of {}, or WORKLOAD.METRIC", quoted(MEASURES));
        check.add_at(path, &label, finding);
    }
}

/// Whether a measure is a metric of a defined workload, rather than a counter of the sampler.
pub(super) fn is_metric(check: &Check<'_>, measure: &str) -> bool {
    let metric = Metric::parse(measure).filter(|_| !MEASURES.contains(&measure));
    metric.is_some_and(|metric| check.study.workloads.contains_key(metric.workload))
}

/// Whether a measure is a misspelt counter of the sampler rather than a metric of a workload.
fn looks_sampled(measure: &str, metric: Metric<'_>) -> bool {
    let families = MEASURES.iter().filter_map(|known| known.split_once('.'));
    let is_family = families.into_iter().any(|(family, _)| family == metric.workload);
    is_family || closest(measure, MEASURES.iter().copied()).is_some()
}

fn unknown_measure(measure: &str) -> Diagnostic {
    Diagnostic::error(code::UNKNOWN_MEASURE, format!("unknown measure `{measure}`"))
        .hint(word_hint(measure, MEASURES))
}

/// Reports an unknown metric of a tool whose metrics are known before it runs.
fn unknown_metric(metric: Metric<'_>, workload: &Workload) -> Option<Diagnostic> {
    let (tool, known): (&str, Vec<&str>) = match &workload.tool {
        Tool::Fio { .. } | Tool::FioJobFile { .. } if !metric::is_fio_metric(metric.name) => {
            ("fio", fio_metrics().to_vec())
        }
        Tool::Command { metrics, .. } if !metrics.iter().any(|one| one.name == metric.name) => {
            let names = metrics.iter().map(|metric| metric.name.as_str());
            (metric.workload, names.collect())
        }
        _ => return None,
    };
    let message = format!("`{tool}` has no metric `{}`", metric.name);
    let hint = match known.is_empty() {
        true => "add it to `metrics` of the workload".to_owned(),
        false => word_hint(metric.name, &known),
    };
    Some(Diagnostic::error(code::UNKNOWN_MEASURE, message).hint(hint))
}

fn undefined_workload<'n>(metric: Metric<'_>, names: impl Iterator<Item = &'n str>) -> Diagnostic {
    let hint = match closest(metric.workload, names) {
        Some(meant) => format!("did you mean `{meant}.{}`?", metric.name),
        None => format!("add [workloads.{}], or name a defined workload", metric.workload),
    };
    let message = format!(
        "the measure `{}.{}` refers to an undefined workload",
        metric.workload, metric.name
    );
    Diagnostic::error(code::UNDEFINED_WORKLOAD, message).hint(hint)
}

/// Reports an undefined group; the name of a member is accepted too.
pub(super) fn known_group(check: &mut Check<'_>, name: &str, path: &str) {
    let mut names = vec![];
    names_of(&check.study.groups, &mut names);
    let own = name.rsplit('/').next().unwrap_or(name);
    let family = own.trim_end_matches(|c: char| c.is_ascii_digit());
    if names.iter().any(|known| *known == own || *known == family) {
        return;
    }
    let hint =
        did_you_mean(own, names.iter().copied(), || format!("the groups are {}", quoted(&names)));
    let finding =
        Diagnostic::error(code::UNDEFINED_GROUP, format!("unknown group `{name}`")).hint(hint);
    check.add_at(path, "expected the name of a group, or of one of its members", finding);
}

fn names_of<'g>(groups: &'g [Group], names: &mut Vec<&'g str>) {
    for group in groups {
        names.push(&group.name);
        names_of(&group.groups, names);
    }
}
