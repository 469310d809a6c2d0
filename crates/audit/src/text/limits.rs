//! The table of what holds for each group.

use std::fmt::Write;

use crate::document::Audit;
use crate::effective::{Effective, Limit, MACHINE};
use crate::owner::shown;
use crate::rules;

const HEADINGS: [&str; 5] = ["CPUs", "memory.max", "memory.high", "of all CPUs", "group"];

/// The limits of a group and of those below it, of all for `/`. A limit of another group, or of the machine, has
/// its name in parentheses. `None` if no hierarchy of cpu, cpuset or memory has the group.
#[must_use]
pub fn limits(audit: &Audit, below: &str) -> Option<String> {
    let below = below.trim_matches('/');
    let is_shown = |path: &str| {
        let rest = path.trim_start_matches('/').strip_prefix(below);
        rest.is_some_and(|rest| below.is_empty() || rest.is_empty() || rest.starts_with('/'))
    };
    let mut rows = audit.effective.iter().filter(|row| is_shown(&row.group)).peekable();
    rows.peek()?;
    Some(table(rows))
}

/// Rows below their headings.
pub(super) fn table<'e>(rows: impl Iterator<Item = &'e Effective>) -> String {
    let rows: Vec<[String; 5]> = rows.map(cells).collect();
    let mut page = String::new();
    let widths = [0, 1, 2, 3].map(|column| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or(0).max(HEADINGS[column].len())
    });
    for row in std::iter::once(&HEADINGS.map(str::to_owned)).chain(&rows) {
        for (cell, width) in row.iter().zip(widths) {
            let _ = write!(page, "{cell:<width$}  ");
        }
        let _ = writeln!(page, "{}", row[4]);
    }
    page
}

fn cells(row: &Effective) -> [String; 5] {
    let bytes = |bytes: &u64| rules::amount(*bytes);
    [
        cell(row.cpus.as_ref(), &row.group, |number| rules::cpus(*number)),
        cell(row.memory_max.as_ref(), &row.group, bytes),
        cell(row.memory_high.as_ref(), &row.group, bytes),
        row.of_machine.map_or_else(|| "-".to_owned(), |part| format!("{:.1} %", part * 100.0)),
        shown(row.owner.as_ref(), &row.group),
    ]
}

fn cell<T>(limit: Option<&Limit<T>>, group: &str, words: impl Fn(&T) -> String) -> String {
    let Some(limit) = limit else { return "-".to_owned() };
    let value = words(&limit.value);
    match limit.from.as_str() {
        from if from == group => value,
        MACHINE => format!("{value} (machine)"),
        from => format!("{value} ({from})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Fake;

    #[test]
    fn a_limit_from_above_names_its_group() {
        let audit = crate::audit(
            &Fake::v2()
                .group_of("/a.slice", 0, &[("cpu.max", "50000 100000"), ("cpu.weight", "100")])
                .group("/a.slice/b.service", &[("memory.max", "1048576"), ("cpu.weight", "100")])
                .group("/other", &[])
                .snapshot(),
        );
        let page = limits(&audit, "a.slice/").unwrap();
        let lines: Vec<String> = page
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(
            lines,
            [
                "CPUs memory.max memory.high of all CPUs group",
                "0.5 16 GiB (machine) - 50.0 % unit a.slice /a.slice",
                "0.5 (/a.slice) 1 MiB - 50.0 % unit b.service /a.slice/b.service",
            ]
        );
        assert_eq!(limits(&audit, "/").unwrap().lines().count(), 4);
        assert_eq!(limits(&audit, "/a"), None);
    }
}
