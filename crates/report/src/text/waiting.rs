//! The table of where each group waited; the page has all parts of it.

use super::layout::{Table, wrap};
use super::paint::Paint;
use crate::number;
use crate::trial::Trial;
use crate::waiting::{Account, GroupTime, accounts};

/// Up to this many parts of a group's time are listed; a narrow terminal drops the smallest.
const PARTS: u8 = 4;

/// One table for the CPUs and one for each disk; nothing without evidence.
pub(super) fn lines(trial: &Trial<'_>, width: usize, paint: Paint) -> Vec<String> {
    accounts(trial).iter().flat_map(|account| of_account(account, width, paint)).collect()
}

fn of_account(account: &Account, width: usize, paint: Paint) -> Vec<String> {
    let mut lines = vec![String::new()];
    if !account.groups.is_empty() {
        lines.extend(wrap(&format!("  {}", account.title), width, "    "));
        let table = Table::new(&account.groups).left("group", 0, |group| group.name.clone()).right(
            "seconds",
            0,
            |group| number::fixed(group.seconds, 3),
        );
        let table = (0..PARTS).fold(table, |table, rank| {
            let heading = if rank == 0 { "of it" } else { "" };
            table.left(heading, rank, |group| part(account, group, rank.into()))
        });
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

/// The part with this rank, `kernel threads 13.2 %`: 0 is the largest.
fn part(account: &Account, group: &GroupTime, rank: usize) -> String {
    let mut parts: Vec<(&String, f64)> =
        account.classes.iter().zip(group.parts.iter().copied()).collect();
    parts.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    let shown = parts.get(rank).filter(|(_, part)| *part >= 0.0005);
    shown.map_or_else(String::new, |(class, part)| {
        format!("{class} {} %", number::percent(*part, 1))
    })
}
