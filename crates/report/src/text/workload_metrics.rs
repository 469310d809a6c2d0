//! The table of workload metrics.

use super::layout::{Table, wrap};
use super::paint::Paint;
use crate::subjects::MAX_SINGLE_GROUPS;
use crate::trial::Trial;
use crate::workload_metrics::{Row, headline, workloads};

/// The relevant metrics of each workload, and findings to read before them.
pub(super) fn lines(trial: &Trial<'_>, width: usize, paint: Paint) -> Vec<String> {
    let all = workloads(trial);
    let rows: Vec<Row<'_>> =
        all.iter().take(MAX_SINGLE_GROUPS).flat_map(|figures| headline(figures)).collect();
    let mut lines = Vec::new();
    if !rows.is_empty() {
        lines.push(String::new());
        lines.extend(table(&rows).lines(width, paint));
        if all.len() > MAX_SINGLE_GROUPS {
            lines.push(format!(
                "  and {} more workloads, shown in the report",
                all.len() - MAX_SINGLE_GROUPS
            ));
        }
        lines.push(String::new());
    }
    for figures in &all {
        for (metric, why) in &figures.not_available {
            let text = format!("  {}: {metric} is not available: {why}", figures.name);
            lines.extend(wrap(&text, width, "    "));
        }
        for finding in &figures.findings {
            lines.extend(wrap(&format!("  {}: {finding}", figures.name), width, "    "));
        }
    }
    lines
}

fn table<'r, 't>(rows: &'r [Row<'t>]) -> Table<'r, Row<'t>> {
    let table = Table::new(rows)
        .left("workload", 0, |row| row.workload.to_owned())
        .left("tool", 1, |row| row.tool.to_owned())
        .left("metric", 0, |row| row.metric.to_owned())
        .right("mean", 0, |row| row.value.clone());
    if rows.iter().all(|row| row.repeats.is_empty()) {
        return table;
    }
    table.left("of repeats", 2, |row| row.repeats.clone())
}
