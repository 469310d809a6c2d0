//! The followed target: its threads and their CPUs, its pages and their nodes.

use std::collections::BTreeMap;

use assay_record::run_folder::Table;

use super::Recorded;
use super::section::Section;
use crate::figure::{node_columns, short};
use crate::number;

/// Maximum number of threads listed by name.
const LISTED: usize = 8;

/// Totals of one thread over the window.
#[derive(Debug, Default, PartialEq)]
struct Sum {
    title: String,
    run_s: f64,
    wait_s: f64,
    faults: f64,
    /// Run time by CPU and by node.
    on_cpu: BTreeMap<u64, f64>,
    on_node: BTreeMap<u64, f64>,
}

pub(super) fn threads(recorded: &Recorded<'_>) -> Section {
    let tables = recorded.trial.tables("threads");
    let Some((_, _, table)) = tables.first() else {
        let why = recorded.trial.why_missing("threads");
        return Section::absent("threads", "Threads", why);
    };
    let mut sums = sums(table);
    sums.sort_by(|a, b| b.run_s.total_cmp(&a.run_s));
    let mut section = Section::new("threads", "Threads");
    let total = |of: fn(&Sum) -> f64| sums.iter().map(of).sum::<f64>();
    let seconds = recorded.seconds().max(1e-9);
    section.row("threads", "threads", Some(sums.len() as f64), "", 0);
    section.row("cpus", "CPUs kept busy", Some(total(|sum| sum.run_s) / seconds), "", 2);
    section.row("run_s", "time on CPUs", Some(total(|sum| sum.run_s)), "s", 2);
    section.row("wait_s", "waited for a CPU", Some(total(|sum| sum.wait_s)), "s", 2);
    section.row("faults", "page faults", Some(total(|sum| sum.faults)), "", 0);
    section.lines = sums.iter().take(LISTED).map(line).collect();
    if sums.len() > LISTED {
        section.lines.push(format!("... and {} less active threads", sums.len() - LISTED));
    }
    section
}

fn line(sum: &Sum) -> String {
    let nodes = if sum.on_node.len() > 1 { shares("nodes", &sum.on_node) } else { String::new() };
    format!(
        "{}: {} s{}{nodes}",
        sum.title,
        number::fixed(sum.run_s, 2),
        shares("CPUs", &sum.on_cpu)
    )
}

/// ` on CPUs 0 (75 %), 1 (25 %)`, the four largest.
fn shares(what: &str, on: &BTreeMap<u64, f64>) -> String {
    let all: f64 = on.values().sum();
    if all <= 0.0 {
        return String::new();
    }
    let mut parts: Vec<(&u64, &f64)> = on.iter().collect();
    parts.sort_by(|a, b| b.1.total_cmp(a.1));
    let shown: Vec<String> = parts
        .iter()
        .take(4)
        .map(|(id, run)| format!("{id} ({} %)", number::fixed(*run / all * 100.0, 0)))
        .collect();
    let rest = if parts.len() > 4 { ", ..." } else { "" };
    format!(" on {what} {}{rest}", shown.join(", "))
}

/// Totals of every thread over the table. Counts before a thread's first row are not part of the
/// recording.
fn sums(table: &Table) -> Vec<Sum> {
    let mut sums: Vec<Sum> =
        table.subjects.iter().map(|title| Sum { title: short(title), ..Sum::default() }).collect();
    let column = |name: &str, row: usize| table.column(name).and_then(|column| column.values[row]);
    let mut last: Vec<Option<usize>> = vec![None; sums.len()];
    for row in 0..table.time_ns.len() {
        let subject = table.subject[row] as usize;
        let (Some(sum), Some(last)) = (sums.get_mut(subject), last.get_mut(subject)) else {
            continue;
        };
        if let Some(before) = *last {
            let grown = |name: &str| {
                let (old, new) = (column(name, before)?, column(name, row)?);
                Some(new.saturating_sub(old) as f64)
            };
            // The row of an ended thread has no counters.
            if let Some(run) = grown("run_ns") {
                let run = run / 1e9;
                sum.run_s += run;
                sum.wait_s += grown("wait_ns").unwrap_or(0.0) / 1e9;
                sum.faults +=
                    grown("minor_faults").unwrap_or(0.0) + grown("major_faults").unwrap_or(0.0);
                if let Some(cpu) = column("cpu", row).filter(|_| run > 0.0) {
                    *sum.on_cpu.entry(cpu).or_default() += run;
                }
                if let Some(node) = column("node", row).filter(|_| run > 0.0) {
                    *sum.on_node.entry(node).or_default() += run;
                }
            }
        }
        *last = Some(row);
    }
    sums
}

/// Pages by node at the last look at each process, all processes together.
pub(super) fn pages(recorded: &Recorded<'_>) -> Section {
    let tables = recorded.trial.tables("pages");
    let Some((_, _, table)) = tables.first() else {
        return Section::absent("pages", "Pages", recorded.trial.why_missing("pages"));
    };
    let mut latest: BTreeMap<u32, usize> = BTreeMap::new();
    for (row, subject) in table.subject.iter().enumerate() {
        latest.insert(*subject, row);
    }
    let mut section = Section::new("pages", "Pages, at the last look at each process");
    let sum = |at: usize| -> Option<f64> {
        let values = latest.values().filter_map(|row| table.columns[at].values[*row]);
        let values: Vec<u64> = values.collect();
        (!values.is_empty()).then(|| values.iter().sum::<u64>() as f64)
    };
    let resident = table.columns.iter().position(|column| column.name == "resident_bytes");
    section.row("processes", "processes", Some(latest.len() as f64), "", 0);
    section.bytes("resident_bytes", "resident", resident.and_then(sum));
    for (node, at) in node_columns(table) {
        section.bytes(&format!("node{node}_bytes"), &format!("on node {node}"), sum(at));
    }
    section
}
