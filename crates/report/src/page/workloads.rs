//! Workloads of the groups, changes to the user's job files, paths of the output, and metrics.

use assay_judge::verdict::{Figure, WorkloadMetrics};
use assay_record::run_folder::{GroupRecord, IoClass, WorkloadRecord, WorkloadResult};
use assay_study::workload::{FIO, kind};
use assay_sys::escape::page::{Cell, Parts, Rows, Table, Tag, Tone};

use crate::number::{self, NONE};
use crate::subjects::MAX_SINGLE_GROUPS;
use crate::trial::Trial;
use crate::wording;

/// All workloads of a trial on a page.
pub(super) fn section(trial: &Trial<'_>, page: &mut Parts) {
    let of_group = |group| workloads_of(trial, group);
    let rows: Vec<Row<'_>> = trial.record.groups.iter().flat_map(of_group).collect();
    let mut changes: Vec<String> = Vec::new();
    for text in rows.iter().flat_map(|row| &row.workload.taken_over) {
        if !changes.contains(text) {
            changes.push(text.clone());
        }
    }
    let failed =
        rows.iter().filter(|row| row.results.iter().any(|(_, one)| one.failure.is_some())).count();
    let summary = match failed {
        _ if rows.is_empty() => return,
        0 => wording::count(rows.len(), "workload"),
        _ => format!("{failed} of {} failed", wording::count(rows.len(), "workload")),
    };
    page.fold(summary, failed > 0, |page| {
        if !changes.is_empty() {
            page.text("Changes to the job file:");
            page.list(changes);
        }
        page.table(table(&rows));
    });
    let all = with_metrics(trial);
    let tables = |page: &mut Parts| all.iter().for_each(|one| metrics_of(one, page));
    match all.len() {
        0 => {}
        all => page.fold(
            format!("Metrics reported by {}", wording::count(all, "workload")),
            all <= MAX_SINGLE_GROUPS,
            tables,
        ),
    }
}

/// A workload with its results, by repeat.
struct Row<'t> {
    group: &'t GroupRecord,
    workload: &'t WorkloadRecord,
    results: Vec<(usize, &'t WorkloadResult)>,
}

fn workloads_of<'t>(trial: &Trial<'t>, group: &'t GroupRecord) -> Vec<Row<'t>> {
    let results = |workload: &WorkloadRecord| {
        let repeats = trial.record.repeats.iter().enumerate();
        let all = repeats
            .flat_map(|(index, repeat)| repeat.workloads.iter().map(move |r| (index + 1, r)));
        all.filter(|(_, result)| result.workload == workload.name).collect()
    };
    let row = |workload| Row { group, workload, results: results(workload) };
    group.workloads.iter().map(row).collect()
}

fn table(rows: &[Row<'_>]) -> Table {
    let name = |row: &Row<'_>| match &row.workload.starts {
        Some(starts) => format!("{}\nstarts {starts}", row.workload.name),
        None => row.workload.name.clone(),
    };
    let tool = |row: &Row<'_>| match row.workload.command_line.as_str() {
        "" => row.workload.tool.clone(),
        line => format!("`{line}`"),
    };
    let io = |row: &Row<'_>| match row.workload.tool.as_str() {
        "command" => "not known".to_owned(),
        _ => class(&row.workload.io),
    };
    let ended = |row: &Row<'_>| {
        let failed = row
            .results
            .iter()
            .filter_map(|(at, one)| Some(format!("repeat {at}: {}", one.failure.as_ref()?)));
        match (failed.collect::<Vec<_>>().join("; "), row.results.is_empty()) {
            (_, true) => Cell::from(NONE),
            (none, _) if none.is_empty() => Cell::from("as planned"),
            (failures, _) => Cell::Word(Tag::new(Tone::Bad, "\u{2717}", failures)),
        }
    };
    // Its output files, one per repeat, relative to the run folder.
    let logs = |row: &Row<'_>| {
        let link =
            |(at, one): &(usize, &WorkloadResult)| (at.to_string(), format!("./{}", one.log));
        Cell::Links(row.results.iter().map(link).collect())
    };
    Rows::new(rows)
        .left("workload", 0, name)
        .left("group", 0, |row| row.group.name.clone())
        .left("tool", 0, tool)
        .left("I/O", 0, io)
        .left("judged", 0, |row| if row.group.measured { "yes" } else { "no" })
        .prose("ended", ended)
        .left("output", 0, logs)
        .into()
}

fn metrics_of(of: &WorkloadMetrics, page: &mut Parts) {
    of.findings
        .iter()
        .for_each(|finding| page.styled("note warning", format!("{}: {finding}", of.name)));
    let rows = metrics(of);
    if !rows.is_empty() {
        page.table(
            Rows::new(&rows)
                .left("metric", 0, |row| format!("`{}`", row.metric))
                .right("mean", 0, |row| row.value.clone())
                .left("repeats", 0, |row| {
                    if row.repeats.is_empty() { NONE.to_owned() } else { row.repeats.clone() }
                })
                .caption(format!("Metrics reported by {} ({})", of.name, of.tool)),
        );
    }
    of.not_available.iter().for_each(|(name, why)| page.missing(&format!("{name}: {why}")));
}

/// The relevant metrics of each workload on a terminal, and findings to read before them.
pub(super) fn brief(trial: &Trial<'_>, page: &mut Parts) {
    let all = with_metrics(trial);
    let rows: Vec<Metric<'_>> =
        all.iter().take(MAX_SINGLE_GROUPS).flat_map(|one| headline(one)).collect();
    if !rows.is_empty() {
        let mut table = Rows::new(&rows)
            .left("workload", 0, |row| row.workload)
            .left("tool", 1, |row| row.tool)
            .left("metric", 0, |row| row.metric)
            .right("mean", 0, |row| row.value.clone());
        if rows.iter().any(|row| !row.repeats.is_empty()) {
            table = table.left("of repeats", 2, |row| row.repeats.clone());
        }
        page.table(table);
    }
    if let Some(more) = all.len().checked_sub(MAX_SINGLE_GROUPS + 1) {
        page.text(format!("and {} more workloads, shown in the report", more + 1));
    }
    for one in &all {
        for (metric, why) in &one.not_available {
            page.text(format!("{}: {metric} is not available: {why}", one.name));
        }
        one.findings.iter().for_each(|finding| page.text(format!("{}: {finding}", one.name)));
    }
}

/// Maximum number of metrics shown on a terminal for a workload kind without a list of relevant
/// ones.
const MAX_SHOWN: usize = 12;

/// One metric of one workload.
struct Metric<'t> {
    workload: &'t str,
    tool: &'t str,
    metric: &'t str,
    /// The mean over repeats.
    value: String,
    /// One value per repeat; empty with only one repeat.
    repeats: String,
}

/// Workloads with metrics to show: all workloads of a trial in which anything but fio ran. Most of
/// fio's metrics repeat what was sampled.
fn with_metrics<'t>(trial: &Trial<'t>) -> Vec<&'t WorkloadMetrics> {
    let all = trial.judgement.map_or(&[][..], |judgement| &judgement.workloads);
    if all.iter().all(|figures| figures.tool == FIO) {
        return Vec::new();
    }
    all.iter().collect()
}

/// All metrics.
fn metrics(figures: &WorkloadMetrics) -> Vec<Metric<'_>> {
    figures.metrics.iter().map(|(name, figure)| metric(figures, name, figure)).collect()
}

/// The relevant metrics of its kind, in order.
fn headline(figures: &WorkloadMetrics) -> Vec<Metric<'_>> {
    let relevant: &[&str] = match figures.tool.as_str() {
        FIO => &["read_iops", "write_iops"],
        tool => kind(tool).map_or(&[], |kind| kind.headline),
    };
    let selected = relevant.iter().filter_map(|name| figures.metrics.get_key_value(*name));
    let selected: Vec<Metric<'_>> = selected
        .filter(|(_, figure)| figures.tool != FIO || figure.value > 0.0)
        .map(|(name, figure)| metric(figures, name, figure))
        .collect();
    if selected.is_empty() {
        metrics(figures).into_iter().take(MAX_SHOWN).collect()
    } else {
        selected
    }
}

fn metric<'t>(figures: &'t WorkloadMetrics, metric: &'t str, figure: &'t Figure) -> Metric<'t> {
    let each = figure.repeats.iter().map(|value| digits(*value));
    Metric {
        workload: &figures.name,
        tool: &figures.tool,
        metric,
        value: digits(figure.value),
        repeats: match figure.repeats.len() {
            0 | 1 => String::new(),
            _ => each.collect::<Vec<_>>().join(", "),
        },
    }
}

/// Five digits at any magnitude: a metric's unit is in its name.
fn digits(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return number::plain(value);
    }
    let magnitude = value.abs().log10().floor();
    if !(-5.0..15.0).contains(&magnitude) {
        return format!("{value:.4e}");
    }
    let decimals = (4.0 - magnitude).clamp(0.0, 9.0) as usize;
    let text = number::fixed(value, decimals);
    if !text.contains('.') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// `direct reads of 4096 B, 32 outstanding`.
fn class(io: &IoClass) -> String {
    let direction = match (io.reads, io.writes) {
        (true, true) => "reads and writes",
        (true, false) => "reads",
        (false, true) => "writes",
        (false, false) => return "no I/O".to_owned(),
    };
    let mut text = format!("{} {direction}", if io.direct { "direct" } else { "buffered" });
    if let Some(size) = io.block_size {
        text.push_str(&match size {
            size if size >= 1024 && size.is_multiple_of(1024) => format!(" of {} KiB", size / 1024),
            size => format!(" of {size} B"),
        });
    }
    if let Some(outstanding) = io.outstanding {
        text.push_str(&format!(", {outstanding} outstanding"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_magnitude_have_five_digits() {
        assert_eq!(digits(8_413.27), "8413.3");
        assert_eq!(digits(123_456_789.0), "123456789");
        assert_eq!(digits(0.000_123_456), "0.00012346");
        assert_eq!(digits(1.5), "1.5");
        assert_eq!(digits(2.5e-9), "2.5000e-9");
        assert_eq!(digits(0.0), "0");
    }
}
