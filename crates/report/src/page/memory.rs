//! Memory before, during and after a repeat, in the form in which people write it down: huge pages of the host,
//! `memory.stat` of each group, free blocks by order and kind, and numastat of each node.

use assay_record::run_folder::{CounterSpan, RepeatRecord, Table};
use assay_sys::escape::page::{Parts, Rows};

use crate::trial::Trial;

/// One counter of the host or of a group: of what, its name, and its amounts before, during and after.
type Amount = [String; 5];

/// Of the host's memory only what the documents of such experiments watch.
const OF_THE_HOST: [(&str, &str); 4] = [
    ("anon_huge_bytes", "AnonHugePages"),
    ("anon_bytes", "AnonPages"),
    ("cached_bytes", "Cached"),
    ("free_bytes", "MemFree"),
];

/// At most this many groups.
const GROUPS: usize = 8;

/// The tables of the first repeat with `memory_stat` or `pagetypeinfo`, and numastat of all repeats.
pub(super) fn section(trial: &Trial<'_>, page: &mut Parts) {
    let first = |source: &str| trial.tables(source).into_iter().next();
    let (stat, types) = (first("memory_stat"), first("pagetypeinfo"));
    if let Some((repeat, ..)) = stat.or(types) {
        page.heading(trial.anchor("memory"), "Memory before, during and after");
        page.styled(
            "reading",
            format!(
                "Repeat {repeat}. Before and after are the first and the last sample; during is the range of an \
                 amount within the window, and the increase of a counter."
            ),
        );
        let mut amounts: Vec<Amount> = Vec::new();
        if let Some((_, repeat, table)) = first("meminfo") {
            let row = |(column, name)| amount(repeat, table, 0, column, ("the host", name));
            amounts.extend(OF_THE_HOST.into_iter().filter_map(row));
        }
        if let Some((_, repeat, table)) = stat {
            amounts.extend(of_groups(repeat, table));
        }
        page.fold("The host's memory, and `memory.stat` of each group", false, |page| {
            page.table(
                Rows::new(&amounts)
                    .left("what", 0, |[_, name, ..]| format!("`{name}`"))
                    .left("of", 0, |[of, ..]| of.clone())
                    .right("before", 0, |[.., before, _, _]| before.clone())
                    .right("during", 0, |[.., during, _]| during.clone())
                    .right("after", 0, |[.., after]| after.clone()),
            );
        });
    }
    if let Some((_, repeat, table)) = types {
        let summary = "Free blocks by order and kind (pagetypeinfo), one below the other before, during and after";
        page.fold(summary, false, |page| free_blocks(repeat, table, page));
    }
    numastat(trial, page);
}

fn of_groups<'t>(repeat: &'t RepeatRecord, table: &'t Table) -> impl Iterator<Item = Amount> + 't {
    table.subjects.iter().enumerate().take(GROUPS).flat_map(move |(subject, name)| {
        table.columns.iter().filter_map(move |column| {
            let label = column.name.strip_suffix("_bytes").unwrap_or(&column.name);
            amount(repeat, table, subject as u32, &column.name, (name.as_str(), label))
        })
    })
}

/// The order in the name of a column, `free_9`.
fn order(column: &str) -> Option<&str> {
    column.strip_prefix("free_").filter(|order| order.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The first value, those in between, and the last one of a column.
fn values(
    repeat: &RepeatRecord,
    table: &Table,
    subject: u32,
    column: &str,
) -> Option<(u64, Vec<u64>, u64)> {
    let column = table.columns.iter().find(|one| one.name == column)?;
    let rows = table.time_ns.iter().zip(&table.subject).zip(&column.values);
    let rows = rows.filter(|((_, of), _)| **of == subject);
    let known: Vec<(u64, u64)> =
        rows.filter_map(|((time, _), value)| Some((*time, (*value)?))).collect();
    let (first, last) = (known.first()?.1, known.last()?.1);
    let within = |time: u64| (repeat.released_ns..=repeat.stopped_ns).contains(&time);
    let during = known.iter().filter(|(time, _)| within(*time)).map(|(_, value)| *value);
    Some((first, during.collect(), last))
}

fn amount(
    repeat: &RepeatRecord,
    table: &Table,
    subject: u32,
    column: &str,
    (of, name): (&str, &str),
) -> Option<Amount> {
    let (before, during, after) = values(repeat, table, subject, column)?;
    let is_amount = column.ends_with("_bytes");
    let text = |value: u64| match is_amount {
        true => format!("{:.1} MiB", value as f64 / 1_048_576.0),
        false => value.to_string(),
    };
    let during = match (is_amount, during.iter().min(), during.iter().max()) {
        (false, ..) => format!("+{}", after.saturating_sub(before)),
        (true, Some(least), Some(most)) => format!("{} to {}", text(*least), text(*most)),
        (true, ..) => "not sampled".to_owned(),
    };
    Some([of.to_owned(), name.to_owned(), text(before), during, text(after)])
}

fn free_blocks(repeat: &RepeatRecord, table: &Table, page: &mut Parts) {
    let subjects: Vec<(usize, &String)> = table.subjects.iter().enumerate().collect();
    let orders = table.columns.iter().filter_map(|column| Some((order(&column.name)?, column)));
    let rows = Rows::new(&subjects).left("zone and kind", 0, |(_, name)| format!("`{name}`"));
    page.table(orders.fold(rows, |rows, (order, column)| {
        rows.right(order, 0, |(subject, _)| {
            match values(repeat, table, *subject as u32, &column.name) {
                None => "not available".to_owned(),
                Some((before, during, after)) => {
                    // Read every ten seconds, so that a short repeat has none in between.
                    let middle = during.get(during.len() / 2).map(u64::to_string);
                    format!("{before}\n{}\n{after}", middle.unwrap_or_else(|| "-".to_owned()))
                }
            }
        })
    }));
}

/// The counters in the order of numastat(8).
const NUMASTAT: [&str; 6] =
    ["numa_hit", "numa_miss", "numa_foreign", "interleave_hit", "local_node", "other_node"];

/// The kernel's counters of each node over a repeat, as numastat(8) shows them.
fn numastat(trial: &Trial<'_>, page: &mut Parts) {
    let repeats = trial.record.repeats.iter().enumerate();
    let nodes: Vec<_> = repeats
        .flat_map(|(index, repeat)| {
            let nodes = repeat.nodes.iter().flat_map(|nodes| &nodes.numastat);
            nodes.map(move |(node, counts)| (index + 1, node, counts))
        })
        .collect();
    if nodes.is_empty() {
        return;
    }
    page.heading(trial.anchor("numastat"), "Pages counted by node");
    page.styled(
        "reading",
        "numastat of each node, in pages: before the workloads started, at the end of the window, and the difference. \
         Allocations are counted, not accesses.",
    );
    let count = |counted: Option<&CounterSpan>| match counted {
        Some(counted) => format!("{}\n{}\n+{}", counted.before, counted.after, counted.since()),
        None => "not available\nnot available".to_owned(),
    };
    let rows = Rows::new(&nodes).right("node", 0, |(_, node, _)| node.to_string()).right(
        "repeat",
        0,
        |(repeat, ..)| repeat.to_string(),
    );
    page.table(NUMASTAT.into_iter().fold(rows, |rows, name| {
        rows.right(format!("`{name}`"), 0, |(.., counts)| count(counts.get(name)))
    }));
}
