//! The CPU of each thread over time: an overview of placement.

use std::collections::BTreeMap;

use assay_record::run_folder::{RepeatRecord, Table};
use assay_sys::escape::quoted;
use serde_json::{Value, json};

use super::spec::{base, csv_number, only_chosen, phases};
use super::{Drawing, Rows};
use crate::trial::Trial;

/// Maximum number of threads shown, those with the most CPU time.
const SHOWN: usize = 40;

/// Maximum number of bars in one figure, all threads together.
const BARS: usize = 8_000;

/// Maximum number of time slots per thread.
const PIECES: usize = 240;

/// A thread that ran for a smaller part of a slot is shown as asleep.
const LEAST: f64 = 0.005;

/// One bar: a thread on one CPU during a period.
#[derive(Debug, Clone, PartialEq)]
struct Bar {
    from: f64,
    to: f64,
    cpu: u64,
    node: Option<u64>,
    /// The fraction of the time it ran.
    busy: f64,
}

/// A thread with its bars.
struct Thread {
    title: String,
    run_ns: u64,
    bars: Vec<Bar>,
}

/// Colours for CPUs, or for their nodes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Colour {
    /// By CPU.
    Cpu,
    /// By NUMA node.
    Node,
}

/// Threads on CPUs over time.
pub(super) fn threads(trial: &Trial<'_>, colour: Colour) -> Drawing {
    let mut rows = Rows::new(&[
        ("thread", "string"),
        ("order", "number"),
        ("from", "number"),
        ("to", "number"),
        ("cpu", "number"),
        ("node", "string"),
        ("busy", "number"),
    ]);
    let (mut shown, mut all, mut length) = (0, 0, 0.0_f64);
    for (number, repeat, table) in trial.tables("threads") {
        let threads = bars(repeat, table);
        all = all.max(threads.len());
        shown = shown.max(threads.len().min(SHOWN));
        length = length.max(seconds(repeat, repeat.stopped_ns));
        for (order, thread) in threads.iter().take(SHOWN).enumerate() {
            for bar in &thread.bars {
                let node = bar.node.map_or_else(|| "?".to_owned(), |node| node.to_string());
                let (title, busy) = (quoted(&thread.title), csv_number(bar.busy));
                let (from, to, cpu) = (bar.from, bar.to, bar.cpu);
                rows.add(number, &format!("{title},{order},{from:.3},{to:.3},{cpu},{node},{busy}"));
            }
        }
    }
    let height = (shown as u32 * 14).clamp(60, 560);
    let spec = base(&format!("Threads on CPUs over time, trial {}", trial.number), height, 1);
    let spec =
        rows.into_spec(trial, "threads", spec, |repeats| layers(trial, colour, repeats, length));
    let rest = if all > shown {
        format!(" The {shown} threads with the most CPU time, of {all}, are shown.")
    } else {
        String::new()
    };
    let (part, title) = match colour {
        Colour::Cpu => ("threads", "Threads on CPUs"),
        Colour::Node => ("threads-nodes", "Threads on nodes"),
    };
    Drawing {
        part,
        title: title.to_owned(),
        reading: format!(
            "One row per thread, coloured by where it ran: pale if it ran part of the time, blank \
             if it slept.{rest}"
        ),
        wide: true,
        spec,
    }
}

/// Whether threads were observed on more than one node.
pub(super) fn several_nodes(trial: &Trial<'_>) -> bool {
    let mut first: Option<u64> = None;
    for (_, _, table) in trial.tables("threads") {
        for node in table.column("node").iter().flat_map(|column| &column.values).flatten() {
            if *first.get_or_insert(*node) != *node {
                return true;
            }
        }
    }
    false
}

fn seconds(repeat: &RepeatRecord, time_ns: u64) -> f64 {
    time_ns.saturating_sub(repeat.released_ns) as f64 / 1e9
}

/// `COMMAND TID` from `GROUP:COMMAND:PID:TID`; the command may contain colons.
pub(crate) fn short(title: &str) -> String {
    let rest = title.split_once(':').map_or(title, |(_, rest)| rest);
    let mut parts = rest.rsplitn(3, ':');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(tid), Some(_), Some(name)) => format!("{name} {tid}"),
        _ => rest.to_owned(),
    }
}

/// All threads of a repeat, the busiest first.
fn bars(repeat: &RepeatRecord, table: &Table) -> Vec<Thread> {
    let mut rows: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (row, subject) in table.subject.iter().enumerate() {
        rows.entry(*subject).or_default().push(row);
    }
    let count = rows.len().clamp(1, SHOWN);
    let pieces = (BARS / count).min(PIECES) as u64;
    let span = repeat.stopped_ns.saturating_sub(repeat.released_ns).max(1);
    let piece_ns = (span / pieces).max((repeat.sampler.interval_s * 1e9) as u64).max(1);
    let mut threads: Vec<Thread> = rows
        .into_iter()
        .filter_map(|(subject, rows)| {
            let title = short(table.subjects.get(subject as usize)?);
            thread(repeat, table, &rows, piece_ns).map(|thread| Thread { title, ..thread })
        })
        .collect();
    threads.sort_by_key(|thread| std::cmp::Reverse(thread.run_ns));
    threads
}

fn thread(repeat: &RepeatRecord, table: &Table, rows: &[usize], piece_ns: u64) -> Option<Thread> {
    let column = |name: &str| table.column(name).map(|column| &column.values);
    let (run, cpu, node) = (column("run_ns")?, column("cpu")?, column("node")?);
    // A row is written when something has changed, so the time since the last row was run since the
    // last round.
    let round_ns = (repeat.sampler.interval_s * 1.5e9) as u64;
    let mut by_piece: BTreeMap<u64, BTreeMap<u64, u64>> = BTreeMap::new();
    let mut nodes: BTreeMap<u64, Option<u64>> = BTreeMap::new();
    let mut all = 0;
    for pair in rows.windows(2) {
        let (before, after) = (pair[0], pair[1]);
        let (Some(r0), Some(r1), Some(on)) = (run[before], run[after], cpu[after]) else {
            continue;
        };
        let ran = r1.saturating_sub(r0);
        let to = table.time_ns[after];
        let from = table.time_ns[before].max(to.saturating_sub(round_ns));
        if ran == 0 || to <= repeat.released_ns {
            continue;
        }
        all += ran;
        nodes.insert(on, node[after]);
        // A round belongs to the slot of its midpoint.
        let at = ((from + to) / 2).saturating_sub(repeat.released_ns) / piece_ns;
        *by_piece.entry(at).or_default().entry(on).or_default() += ran;
    }
    let mut bars: Vec<Bar> = Vec::new();
    for (piece, cpus) in by_piece {
        let (&cpu, _) = cpus.iter().max_by_key(|(_, ran)| **ran)?;
        let busy = cpus.values().sum::<u64>() as f64 / piece_ns as f64;
        if busy < LEAST {
            continue;
        }
        let from = (piece * piece_ns) as f64 / 1e9;
        let to = ((piece + 1) * piece_ns) as f64 / 1e9;
        let bar = Bar { from, to, cpu, node: nodes.get(&cpu).copied()?, busy: busy.min(1.0) };
        join(&mut bars, bar);
    }
    Some(Thread { title: String::new(), run_ns: all, bars })
}

/// Appends a bar, or extends the last one if CPU and load are equal.
fn join(bars: &mut Vec<Bar>, bar: Bar) {
    if let Some(last) = bars.last_mut()
        && last.cpu == bar.cpu
        && (bar.from - last.to).abs() < 1e-9
        && (bar.busy - last.busy).abs() < 0.15
    {
        let (old, new) = (last.to - last.from, bar.to - bar.from);
        last.busy = (last.busy * old + bar.busy * new) / (old + new);
        last.to = bar.to;
        return;
    }
    bars.push(bar);
}

/// Labels of this figure and of the pages figure below have the same width, so that their time axes
/// align.
pub(super) fn same_width() -> Value {
    json!({"minExtent": 130, "maxExtent": 130, "labelLimit": 125, "tickCount": 4})
}

fn layers(trial: &Trial<'_>, colour: Colour, repeats: &[usize], length: f64) -> Vec<Value> {
    let (field, title) = match colour {
        Colour::Cpu => ("cpu", "CPU"),
        Colour::Node => ("node", "node"),
    };
    let encoding = json!({
        "x": {"field": "from", "type": "quantitative", "title": "seconds after the start",
            "scale": {"domain": [0, length], "nice": false}, "axis": {"grid": false}},
        "x2": {"field": "to"},
        "y": {"field": "thread", "type": "nominal", "title": null, "axis": same_width(),
            "sort": {"field": "order", "op": "min"}},
        "color": {"field": field, "type": "nominal", "legend": {"title": title, "orient": "top"}},
        "opacity": {"field": "busy", "type": "quantitative",
            "scale": {"domain": [0, 1], "range": [0.25, 1]}, "legend": null},
        "tooltip": [
            {"field": "thread"}, {"field": "cpu", "title": "CPU"}, {"field": "node"},
            {"field": "from", "type": "quantitative", "format": ".2f"},
            {"field": "to", "type": "quantitative", "format": ".2f"},
            {"field": "busy", "type": "quantitative", "format": ".0%", "title": "ran"},
        ],
    });
    let mut layers = vec![json!({
        "transform": only_chosen(repeats),
        "mark": {"type": "rect", "tooltip": true, "height": {"band": 0.82}},
        "encoding": encoding,
    })];
    layers.extend(phases(trial, repeats));
    layers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_title_has_no_group_and_process() {
        assert_eq!(short("tree:graph500:12:15"), "graph500 15");
        assert_eq!(short("tree:kworker/u4:2:12:12"), "kworker/u4:2 12");
        assert_eq!(short("tree:a:1:2#2"), "a 2#2");
        assert_eq!(short("odd"), "odd");
    }

    #[test]
    fn only_bars_of_the_same_cpu_are_joined() {
        let bar = |from: f64, to, cpu, busy| Bar { from, to, cpu, node: None, busy };
        let mut bars = Vec::new();
        for next in [bar(0.0, 1.0, 0, 1.0), bar(1.0, 2.0, 0, 0.9), bar(2.0, 3.0, 1, 1.0)] {
            join(&mut bars, next);
        }
        assert_eq!(bars.len(), 2, "{bars:?}");
        assert!((bars[0].busy - 0.95).abs() < 1e-9 && bars[0].to == 2.0);
    }
}
