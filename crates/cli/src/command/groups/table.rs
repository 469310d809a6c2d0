//! Groups as text: a tree by path, or a list with the busiest first.

use std::collections::BTreeMap;

use assay_cgroup::inventory::{Entry, Inventory, Rates};
use assay_facts::Available;

/// The numbers of a row, with what stands above them.
const HEADINGS: [&str; 8] =
    ["PROCS", "THREADS", "CPU %", "MEMORY", "PEAK", "PIDS", "READ/s", "WRITE/s"];

/// What a row is made of.
type Row<'i> = (String, &'i Entry, &'i Rates);

/// All groups, each indented below the one that holds it.
pub(super) fn tree(inventory: &Inventory, rates: &[Rates], width: usize) -> String {
    let top = inventory.groups.first().map_or(0, |entry| depth(&entry.path));
    let rows: Vec<Row> = inventory
        .groups
        .iter()
        .zip(rates)
        .map(|(entry, rates)| {
            let indent = "  ".repeat(depth(&entry.path).saturating_sub(top));
            let name = match depth(&entry.path) {
                own if own == top => entry.path.as_str(),
                _ => entry.path.rsplit('/').next().unwrap_or_default(),
            };
            (format!("{indent}{name}"), entry, rates)
        })
        .collect();
    format!("{}\n{}", hierarchies(inventory), table(inventory, &rows, width, true))
}

/// All groups by their use of CPU, as many as `height` lines hold.
pub(super) fn busiest(
    inventory: &Inventory,
    rates: &[Rates],
    width: usize,
    height: usize,
) -> String {
    let mut rows: Vec<Row> = inventory
        .groups
        .iter()
        .zip(rates)
        .map(|(entry, rates)| (entry.path.clone(), entry, rates))
        .collect();
    let cpus = |row: &Row| row.2.cpus.value().copied().unwrap_or(0.0);
    let memory = |row: &Row| row.1.counts.memory.value().copied().unwrap_or(0);
    rows.sort_by(|a, b| cpus(b).total_cmp(&cpus(a)).then_with(|| memory(b).cmp(&memory(a))));
    let all = rows.len();
    rows.truncate(height);
    let more =
        if all > rows.len() { format!(", the busiest {}", rows.len()) } else { String::new() };
    format!("{all} groups{more}\n{}", table(inventory, &rows, width, false))
}

fn depth(path: &str) -> usize {
    path.split('/').filter(|word| !word.is_empty()).count()
}

fn hierarchies(inventory: &Inventory) -> String {
    let names = inventory.hierarchies.iter().map(|found| match found.is_v2 {
        true if found.controllers.is_empty() => "v2 (no controllers)".to_owned(),
        true => format!("v2 ({})", found.controllers.join(",")),
        false => format!("v1 {}", found.name),
    });
    format!("hierarchies: {}", names.collect::<Vec<_>>().join(", "))
}

fn table(inventory: &Inventory, rows: &[Row], width: usize, with_reasons: bool) -> String {
    let names = rows.iter().map(|(name, ..)| name.chars().count()).max().unwrap_or(0).max(5);
    // A path that is longer than half the line is cut in its middle, so that its end still tells.
    let names = names.min(width / 2).max(5);
    let mut lines = vec![line("GROUP", names, &HEADINGS.map(str::to_owned), "SET")];
    for (name, entry, rates) in rows {
        lines.push(line(
            &shortened(name, names),
            names,
            &cells(entry, rates),
            &rest(inventory, entry),
        ));
    }
    if with_reasons {
        lines.extend(reasons(rows));
    }
    lines.join("\n")
}

fn line(name: &str, width: usize, cells: &[String; 8], rest: &str) -> String {
    let widths = [5, 7, 6, 9, 9, 5, 9, 9];
    let cells: Vec<String> =
        cells.iter().zip(widths).map(|(cell, width)| format!("{cell:>width$}")).collect();
    format!("{name:<width$} {}  {rest}", cells.join(" ")).trim_end().to_owned()
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

fn show<T>(found: &Available<T>, text: impl FnOnce(&T) -> String) -> String {
    found.value().map_or_else(|| "-".to_owned(), text)
}

fn amount(bytes: f64) -> String {
    const UNITS: [(f64, &str); 4] =
        [(1_099_511_627_776.0, "T"), (1_073_741_824.0, "G"), (1_048_576.0, "M"), (1024.0, "K")];
    match UNITS.into_iter().find(|(scale, _)| bytes >= *scale) {
        Some((scale, unit)) => format!("{:.1} {unit}iB", bytes / scale),
        None => format!("{bytes:.0} B"),
    }
}

/// The knobs set, and where the group is when it is not everywhere.
fn rest(inventory: &Inventory, entry: &Entry) -> String {
    let mut parts: Vec<String> = entry
        .knobs
        .iter()
        .map(|knob| format!("{}={}", knob.file, knob.value.replace('\n', "; ")))
        .collect();
    if entry.hierarchies.len() < inventory.hierarchies.len() {
        parts.push(format!("[{}]", entry.hierarchies.join(" ")));
    }
    parts.join(" ")
}

/// Why a `-` stands where it stands, each reason once.
fn reasons(rows: &[Row]) -> Vec<String> {
    let mut found: BTreeMap<(usize, String), usize> = BTreeMap::new();
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
                *found.entry((column, reason)).or_default() += 1;
            }
        }
    }
    let text = |((column, reason), count): ((usize, String), usize)| {
        let groups = if count == 1 { "1 group".to_owned() } else { format!("{count} groups") };
        format!("- {} not available in {groups}: {reason}", HEADINGS[column])
    };
    found.into_iter().map(text).collect()
}

fn why<T>(found: &Available<T>) -> Option<String> {
    match found {
        Available::Value(_) => None,
        Available::NotAvailable(why) => Some(why.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_cgroup::inventory::{Counts, Mounted, SetKnob};

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
    fn groups_stand_below_what_holds_them_and_dashes_have_reasons() {
        let text = tree(&inventory(), &[rate(1.0), rate(0.5), rate(0.5)], 120);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "hierarchies: v2 (memory)");
        assert!(lines[1].starts_with("GROUP") && lines[1].ends_with("SET"), "{text}");
        assert!(lines[2].starts_with("/ ") && lines[2].contains(" 100.0 "), "{text}");
        assert!(lines[3].starts_with("  a ") && lines[4].starts_with("    b "), "{text}");
        assert!(lines[4].ends_with("pids.max=8"), "{text}");
        assert_eq!(lines[5], "- READ/s not available in 3 groups: it has no `io.stat`");
    }

    #[test]
    fn the_busiest_stand_first_and_the_rest_is_cut() {
        let text = busiest(&inventory(), &[rate(0.1), rate(0.2), rate(0.9)], 120, 2);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "3 groups, the busiest 2");
        assert!(lines[2].starts_with("/a/b ") && lines[3].starts_with("/a "), "{text}");
        assert_eq!(lines.len(), 4);
    }

    #[test]
    fn a_long_path_keeps_its_beginning_and_its_end() {
        assert_eq!(shortened("abcdefghij", 6), "ab..ij");
        assert_eq!(shortened("abc", 6), "abc");
    }
}
