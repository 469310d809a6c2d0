//! Where the time of each group went.

use assay_sys::escape::page::{Parts, Rows};

use crate::trial::Trial;
use crate::waiting::{Account, GroupTime, accounts};
use crate::{figure, number};

/// Up to this many parts of a group's time are listed on a terminal; a narrow one drops the smallest.
const PARTS: u8 = 4;

/// All accounts on a page; nothing without evidence.
pub(super) fn section(trial: &Trial<'_>, page: &mut Parts) {
    let accounts = accounts(trial);
    let figures = figure::waiting(trial, &accounts);
    if figures.is_empty() && accounts.is_empty() {
        return;
    }
    page.heading(trial.anchor("waiting"), "Where the time went");
    page.figures(figures);
    for account in &accounts {
        let percent = |group: &GroupTime, at: usize| number::percent(group.parts[at], 1);
        let rows = Rows::new(&account.groups)
            .left("group", 0, |group| group.name.clone())
            .right("seconds", 0, |group| number::fixed(group.seconds, 3))
            .caption(format!("{}, in percent", account.title));
        if !account.groups.is_empty() {
            let classes = account.classes.iter().enumerate();
            page.table(classes.fold(rows, |rows, (at, class)| {
                rows.right(class.clone(), 0, |group| percent(group, at))
            }));
        }
        account.notes.iter().for_each(|note| page.styled("note warning", note.as_str()));
    }
}

/// One table for the CPUs and one for each disk on a terminal; nothing without evidence.
pub(super) fn brief(trial: &Trial<'_>, page: &mut Parts) {
    for account in accounts(trial) {
        if !account.groups.is_empty() {
            let rows = Rows::new(&account.groups)
                .left("group", 0, |group| group.name.clone())
                .right("seconds", 0, |group| number::fixed(group.seconds, 3))
                .caption(account.title.as_str());
            page.table((0..PARTS).fold(rows, |rows, rank| {
                let heading = if rank == 0 { "of it" } else { "" };
                rows.left(heading, rank, |group| part(&account, group, rank.into()))
            }));
        }
        if account.more > 0 {
            page.text(format!("and {} more groups, which waited less", account.more));
        }
        account.notes.iter().for_each(|note| page.text(note.as_str()));
    }
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
