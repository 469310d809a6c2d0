//! The table of workload metrics.

use super::layout::{Align, Column, table, wrap};
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
        let mut table = table(columns(&rows), width).into_iter();
        lines.extend(table.next().map(|heading| paint.faint(&heading)));
        lines.extend(table);
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

fn columns(rows: &[Row<'_>]) -> Vec<Column> {
    let cells = |of: fn(&Row<'_>) -> String| -> Vec<String> { rows.iter().map(of).collect() };
    let mut shown = vec![
        Column::new("workload", Align::Left, 0, cells(|row| row.workload.to_owned())),
        Column::new("tool", Align::Left, 1, cells(|row| row.tool.to_owned())),
        Column::new("metric", Align::Left, 0, cells(|row| row.metric.to_owned())),
        Column::new("mean", Align::Right, 0, cells(|row| row.value.clone())),
    ];
    if rows.iter().any(|row| !row.repeats.is_empty()) {
        shown.push(Column::new("of repeats", Align::Left, 2, cells(|row| row.repeats.clone())));
    }
    shown
}
