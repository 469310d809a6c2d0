//! The table of where each group waited; the page has all parts of it.

use super::layout::{Table, wrap};
use super::paint::Paint;
use crate::number;
use crate::trial::Trial;
use crate::waiting::{Account, GroupTime, accounts};

/// Up to this many parts of a group's time are listed.
const PARTS: usize = 4;

/// One table for the CPUs and one for each disk; nothing without evidence.
pub(super) fn lines(trial: &Trial<'_>, width: usize, paint: Paint) -> Vec<String> {
    accounts(trial).iter().flat_map(|account| of_account(account, width, paint)).collect()
}

fn of_account(account: &Account, width: usize, paint: Paint) -> Vec<String> {
    let mut lines = vec![String::new()];
    if !account.groups.is_empty() {
        lines.extend(wrap(&format!("  {}", account.title), width, "    "));
        let table = Table::new(&account.groups)
            .left("group", 0, |group| group.name.clone())
            .right("seconds", 1, |group| number::fixed(group.seconds, 3))
            .left("of it", 0, |group| largest(account, group));
        lines.extend(table.lines(width, paint));
        if account.more > 0 {
            lines.push(format!("  and {} more groups, which waited less", account.more));
        }
    }
    for note in &account.notes {
        lines.extend(wrap(&format!("  {note}"), width, "    "));
    }
    lines.push(String::new());
    lines
}

/// The largest parts in words, `b 74.9 %, kernel threads 0.1 %`.
fn largest(account: &Account, group: &GroupTime) -> String {
    let mut parts: Vec<(&String, f64)> =
        account.classes.iter().zip(group.parts.iter().copied()).collect();
    parts.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    let shown = parts.into_iter().take(PARTS).filter(|(_, part)| *part >= 0.0005);
    let words = shown.map(|(class, part)| format!("{class} {} %", number::percent(part, 1)));
    words.collect::<Vec<_>>().join(", ")
}
