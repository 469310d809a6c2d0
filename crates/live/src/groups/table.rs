//! Groups as text: a tree by path, or a list sorted by use.

use std::collections::BTreeMap;

use assay_host::cgroup::inventory::{Entry, Inventory, Rates};
use assay_host::facts::Available;
use assay_sys::escape::line as harmless;

use super::GroupOrder;

/// The headings of the numeric columns.
const HEADINGS: [&str; 8] =
    ["PROCS", "THREADS", "CPU %", "MEMORY", "PEAK", "PIDS", "READ/s", "WRITE/s"];

/// The width of each numeric column.
const WIDTHS: [usize; 8] = [5, 7, 6, 9, 9, 5, 9, 9];

/// The width of all numeric columns, each with a leading space.
const NUMBERS: usize = 5 + 7 + 6 + 9 + 9 + 5 + 9 + 9 + 8;

/// Displayed name, group and rates of a row.
type Row<'i> = (String, &'i Entry, &'i Rates);

/// All groups in this order. `width` is that of the terminal; without one, lines are not cut.
#[must_use]
pub fn groups_text(
    inventory: &Inventory,
    rates: &[Rates],
    order: GroupOrder,
    width: Option<usize>,
) -> String {
    let mut lines = vec![hierarchies(inventory)];
    let rows = rows(inventory, rates, order);
    lines.extend(table(inventory, &rows, width));
    lines.extend(reasons(&rows));
    lines.join("\n")
}

fn rows<'i>(inventory: &'i Inventory, rates: &'i [Rates], order: GroupOrder) -> Vec<Row<'i>> {
    let top = inventory.groups.first().map_or(0, |entry| depth(&entry.path));
    let all = inventory.groups.iter().zip(rates);
    // Group names are untrusted.
    let row = |name: &str, entry, rates| (harmless(name).into_owned(), entry, rates);
    if order == GroupOrder::Path {
        return all.map(|(entry, rates)| row(&indented(&entry.path, top), entry, rates)).collect();
    }
    let mut rows: Vec<Row> = all.map(|(entry, rates)| row(&entry.path, entry, rates)).collect();
    // Stable: equal values stay in the order of the paths.
    rows.sort_by(|a, b| order.value(b.1, b.2).total_cmp(&order.value(a.1, a.2)));
    rows
}

/// The last component of the path, indented by depth; for the topmost group the whole path.
fn indented(path: &str, top: usize) -> String {
    match depth(path).saturating_sub(top) {
        0 => path.to_owned(),
        level => {
            format!("{}{}", "  ".repeat(level), path.rsplit('/').next().unwrap_or_default())
        }
    }
}

fn depth(path: &str) -> usize {
    path.split('/').filter(|word| !word.is_empty()).count()
}

fn hierarchies(inventory: &Inventory) -> String {
    let names = inventory.hierarchies.iter().map(|mounted| match mounted.is_v2 {
        true if mounted.controllers.is_empty() => "v2 (no controllers)".to_owned(),
        true => format!("v2 ({})", mounted.controllers.join(",")),
        false => format!("v1 {}", mounted.name),
    });
    format!("hierarchies: {}", names.collect::<Vec<_>>().join(", "))
}

fn table(inventory: &Inventory, rows: &[Row], width: Option<usize>) -> Vec<String> {
    const LEAST: usize = 16;
    let longest = rows.iter().map(|(name, ..)| name.chars().count()).max().unwrap_or(0).max(5);
    // A long path is cut in the middle, so that its end stays visible.
    let room = width.map_or(longest, |width| width.saturating_sub(NUMBERS).max(LEAST));
    let names = longest.min(room);
    let heading = line("GROUP", names, &HEADINGS.map(str::to_owned), "SET");
    let others = rows.iter().map(|(name, entry, rates)| {
        line(&shortened(name, names), names, &cells(entry, rates), &knobs_set(inventory, entry))
    });
    let cut = |line: String| width.map_or(line.clone(), |width| line.chars().take(width).collect());
    std::iter::once(heading).chain(others).map(cut).collect()
}

fn line(name: &str, width: usize, cells: &[String; 8], knobs: &str) -> String {
    let cells: Vec<String> =
        cells.iter().zip(WIDTHS).map(|(cell, width)| format!("{cell:>width$}")).collect();
    format!("{name:<width$} {}  {knobs}", cells.join(" ")).trim_end().to_owned()
}

fn shortened(name: &str, width: usize) -> String {
    let length = name.chars().count();
    if length <= width {
        return name.to_owned();
    }
    let head = (width - 2) / 2;
    let tail = width - 2 - head;
    let first: String = name.chars().take(head).collect();
    let last: String = name.chars().skip(length - tail).collect();
    format!("{first}..{last}")
}

fn cells(entry: &Entry, rates: &Rates) -> [String; 8] {
    let counts = &entry.counts;
    [
        entry.processes.len().to_string(),
        entry.threads.to_string(),
        show(&rates.cpus, |cpus| format!("{:.1}", cpus * 100.0)),
        show(&counts.memory, |count| amount(*count as f64)),
        show(&counts.memory_peak, |count| amount(*count as f64)),
        show(&counts.pids, u64::to_string),
        show(&rates.read, |rate| amount(*rate)),
        show(&rates.write, |rate| amount(*rate)),
    ]
}

fn show<T>(value: &Available<T>, text: impl FnOnce(&T) -> String) -> String {
    value.value().map_or_else(|| "-".to_owned(), text)
}

fn amount(bytes: f64) -> String {
    const UNITS: [(f64, &str); 4] =
        [(1_099_511_627_776.0, "T"), (1_073_741_824.0, "G"), (1_048_576.0, "M"), (1024.0, "K")];
    match UNITS.into_iter().find(|(scale, _)| bytes >= *scale) {
        // 1023.0 would be wider than its column.
        Some((scale, unit)) if bytes / scale >= 999.95 => format!("{:.0} {unit}iB", bytes / scale),
        Some((scale, unit)) => format!("{:.1} {unit}iB", bytes / scale),
        None => format!("{bytes:.0} B"),
    }
}

/// The knobs set, and the hierarchies of a group that does not exist in all.
fn knobs_set(inventory: &Inventory, entry: &Entry) -> String {
    let mut parts: Vec<String> = entry
        .knobs
        .iter()
        .map(|knob| format!("{}={}", knob.file, knob.value.replace('\n', "; ")))
        .collect();
    if entry.hierarchies.len() < inventory.hierarchies.len() {
        parts.push(format!("[{}]", entry.hierarchies.join(" ")));
    }
    harmless(&parts.join(" ")).into_owned()
}

/// The reasons for each `-`, without duplicates.
fn reasons(rows: &[Row]) -> Vec<String> {
    let mut counts_by_reason: BTreeMap<(usize, String), usize> = BTreeMap::new();
    for (_, entry, rates) in rows {
        let counts = &entry.counts;
        let whys = [
            (2, why(&rates.cpus)),
            (3, why(&counts.memory)),
            (4, why(&counts.memory_peak)),
            (5, why(&counts.pids)),
            (6, why(&rates.read)),
        ];
        for (column, reason) in whys {
            if let Some(reason) = reason {
                *counts_by_reason.entry((column, reason)).or_default() += 1;
            }
        }
    }
    let text = |((column, reason), count): ((usize, String), usize)| {
        let groups = if count == 1 { "1 group".to_owned() } else { format!("{count} groups") };
        format!("- {} not available in {groups}: {reason}", HEADINGS[column])
    };
    counts_by_reason.into_iter().map(text).collect()
}

fn why<T>(value: &Available<T>) -> Option<String> {
    match value {
        Available::Value(_) => None,
        Available::NotAvailable(why) => Some(why.clone()),
    }
}

#[cfg(test)]
mod tests {
    use assay_host::cgroup::inventory::{Counts, Mounted, SetKnob};

    use super::*;

    fn entry(path: &str, memory: Available<u64>) -> Entry {
        let none = || Available::NotAvailable("it has no `io.stat`".to_owned());
        Entry {
            path: path.to_owned(),
            hierarchies: vec!["v2".to_owned()],
            processes: vec![1, 2],
            threads: 3,
            knobs: vec![SetKnob { file: "pids.max".to_owned(), value: "8".to_owned() }],
            counts: Counts {
                cpu_us: Available::Value(0),
                memory,
                memory_peak: Available::Value(2 << 20),
                pids: Available::Value(3),
                read_bytes: none(),
                write_bytes: none(),
            },
        }
    }

    fn rate(cpus: f64) -> Rates {
        let none = || Available::NotAvailable("it has no `io.stat`".to_owned());
        Rates { cpus: Available::Value(cpus), read: none(), write: none() }
    }

    fn inventory() -> Inventory {
        let v2 = Mounted {
            name: "v2".to_owned(),
            is_v2: true,
            mount: "/cg".into(),
            controllers: vec!["memory".to_owned()],
        };
        let groups = ["/", "/a", "/a/b"].map(|path| entry(path, Available::Value(1 << 20)));
        Inventory { taken_ns: 0, hierarchies: vec![v2], groups: groups.into() }
    }

    #[test]
    fn the_tree_is_indented_and_dashes_have_reasons() {
        let rates = [rate(1.0), rate(0.5), rate(0.5)];
        let text = groups_text(&inventory(), &rates, GroupOrder::Path, None);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "hierarchies: v2 (memory)");
        assert!(lines[1].starts_with("GROUP") && lines[1].ends_with("SET"), "{text}");
        assert!(lines[2].starts_with("/ ") && lines[2].contains(" 100.0 "), "{text}");
        assert!(lines[3].starts_with("  a ") && lines[4].starts_with("    b "), "{text}");
        assert!(lines[4].ends_with("pids.max=8"), "{text}");
        assert_eq!(lines[5], "- READ/s not available in 3 groups: it has no `io.stat`");
    }

    #[test]
    fn the_largest_come_first() {
        let rates = [rate(0.1), rate(0.2), rate(0.9)];
        let text = groups_text(&inventory(), &rates, GroupOrder::Cpu, None);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[2].starts_with("/a/b ") && lines[3].starts_with("/a "), "{text}");
        // Equal and unavailable values stay in the order of the paths.
        let text = groups_text(&inventory(), &rates, GroupOrder::Read, None);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[2].starts_with("/ ") && lines[4].starts_with("/a/b "), "{text}");
    }

    #[test]
    fn no_row_is_longer_than_the_terminal_is_wide() {
        let mut inventory = inventory();
        inventory.groups[2].path = "/a/".to_owned() + &"b".repeat(200);
        let rates = [rate(0.1), rate(0.2), rate(0.9)];
        let rows = rows(&inventory, &rates, GroupOrder::Cpu);
        for width in [20, 80, 100, 300] {
            let lines = table(&inventory, &rows, Some(width));
            assert!(lines.iter().all(|line| line.chars().count() <= width), "{lines:#?}");
        }
        let lines = table(&inventory, &rows, None);
        assert!(lines[1].starts_with(&inventory.groups[2].path), "a program reads all of it");
    }

    #[test]
    fn control_sequences_in_group_names_are_escaped() {
        let mut inventory = inventory();
        inventory.groups[2].path = "/a/x\u{1b}]0;owned\u{7}\u{1b}[2J".to_owned();
        let rates = [rate(0.1), rate(0.2), rate(0.9)];
        for order in [GroupOrder::Path, GroupOrder::Cpu] {
            let text = groups_text(&inventory, &rates, order, None);
            assert!(text.contains("x\\x1b]0;owned\\x07\\x1b[2J"), "{text}");
            assert!(text.chars().all(|sign| sign == '\n' || !sign.is_control()), "{text:?}");
        }
    }

    #[test]
    fn a_long_path_keeps_its_beginning_and_its_end() {
        assert_eq!(shortened("abcdefghij", 6), "ab..ij");
        assert_eq!(shortened("abc", 6), "abc");
    }
}
