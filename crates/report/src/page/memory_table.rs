//! Memory before, during and after a repeat, in the form in which people write it down: huge pages of the host,
//! `memory.stat` of each group, and free blocks by order and kind.

use assay_run_folder::{RepeatRecord, Table};
use serde::Serialize;

use crate::trial::Trial;

/// The tables of the first repeat; empty without `memory_stat` and `pagetypeinfo`.
#[derive(Serialize)]
pub(super) struct MemoryTable {
    repeat: usize,
    amounts: Vec<Amount>,
    orders: Vec<String>,
    blocks: Vec<Blocks>,
}

/// One counter of the host or of a group.
#[derive(Serialize)]
struct Amount {
    subject: String,
    name: String,
    before: String,
    /// The smallest and the largest amount; the increase of a counter.
    during: String,
    after: String,
}

/// Free blocks of one kind in one zone, by order.
#[derive(Serialize)]
struct Blocks {
    subject: String,
    counts: Vec<[String; 3]>,
}

/// Of the host's memory only what the documents of such experiments watch.
const OF_THE_HOST: [(&str, &str); 4] = [
    ("anon_huge_bytes", "AnonHugePages"),
    ("anon_bytes", "AnonPages"),
    ("cached_bytes", "Cached"),
    ("free_bytes", "MemFree"),
];

/// At most this many groups.
const GROUPS: usize = 8;

impl MemoryTable {
    pub(super) fn new(trial: &Trial<'_>) -> Self {
        let first = |source: &str| trial.tables(source).into_iter().next();
        let (stat, types) = (first("memory_stat"), first("pagetypeinfo"));
        let repeat = stat.or(types).map_or(1, |(repeat, ..)| repeat);
        let mut amounts = Vec::new();
        if (stat.is_some() || types.is_some())
            && let Some((_, repeat, table)) = first("meminfo")
        {
            let row = |(column, name)| amount(repeat, table, 0, column, ("the host", name));
            amounts.extend(OF_THE_HOST.into_iter().filter_map(row));
        }
        if let Some((_, repeat, table)) = stat {
            for (subject, name) in table.subjects.iter().enumerate().take(GROUPS) {
                let rows = table.columns.iter().filter_map(|column| {
                    let label = column.name.strip_suffix("_bytes").unwrap_or(&column.name);
                    amount(repeat, table, subject as u32, &column.name, (name.as_str(), label))
                });
                amounts.extend(rows);
            }
        }
        let (orders, blocks) = types.map_or_else(Default::default, |(_, repeat, table)| {
            let orders: Vec<&str> =
                table.columns.iter().filter_map(|column| order(&column.name)).collect();
            (orders.iter().map(|order| (*order).to_owned()).collect(), free_blocks(repeat, table))
        });
        Self { repeat, amounts, orders, blocks }
    }
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
    let text = |value: u64| if is_amount { mebibytes(value) } else { value.to_string() };
    let during = match (is_amount, during.iter().min(), during.iter().max()) {
        (false, ..) => format!("+{}", after.saturating_sub(before)),
        (true, Some(least), Some(most)) => format!("{} to {}", text(*least), text(*most)),
        (true, ..) => "not sampled".to_owned(),
    };
    let (subject, name) = (of.to_owned(), name.to_owned());
    Some(Amount { subject, name, before: text(before), during, after: text(after) })
}

fn mebibytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / 1_048_576.0)
}

fn free_blocks(repeat: &RepeatRecord, table: &Table) -> Vec<Blocks> {
    let orders = || table.columns.iter().filter(|column| order(&column.name).is_some());
    let of = |(subject, name): (usize, &String)| {
        let counts = orders().map(|column| {
            match values(repeat, table, subject as u32, &column.name) {
                None => ["not available", "", ""].map(str::to_owned),
                Some((before, during, after)) => {
                    // Read every ten seconds, so that a short repeat has none in between.
                    let middle = during.get(during.len() / 2).map(u64::to_string);
                    let middle = middle.unwrap_or_else(|| "-".to_owned());
                    [before.to_string(), middle, after.to_string()]
                }
            }
        });
        Blocks { subject: name.clone(), counts: counts.collect() }
    };
    table.subjects.iter().enumerate().map(of).collect()
}
