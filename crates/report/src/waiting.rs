//! Where the time of each group went, from the evidence of all repeats of a trial: one account for the CPUs, and
//! one for each disk. The figure, its table and the lines for terminals show the same numbers.

mod account;

use assay_blame::{Answer, Culprit, DiskAnswer, DiskGroup, Verdict};
use assay_escape::page::{Parts, Rows};
use assay_run_folder::RepeatRecord;

use crate::counters::curves;
use crate::trial::Trial;
use crate::{figure, number};

pub(crate) use account::{Account, GroupTime};
use account::{Book, Class, DISK};

/// Up to this many parts of a group's time are listed on a terminal; a narrow one drops the smallest.
const PARTS: u8 = 4;

/// All accounts on a page; nothing without evidence.
pub(crate) fn section(trial: &Trial<'_>, page: &mut Parts) {
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
pub(crate) fn brief(trial: &Trial<'_>, page: &mut Parts) {
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

/// The accounts of a trial: CPUs first, then disks. None without evidence.
fn accounts(trial: &Trial<'_>) -> Vec<Account> {
    let mut cpus = Book::default();
    let mut disks: Vec<(String, Book)> = Vec::new();
    for (index, repeat) in trial.record.repeats.iter().enumerate() {
        let Some(evidence) = repeat.evidence() else { continue };
        for answer in evidence.cpu.value().into_iter().flatten() {
            add_cpus(&mut cpus, index + 1, answer);
        }
        for answer in evidence.disks.value().into_iter().flatten() {
            let known = disks.iter().position(|(disk, _)| *disk == answer.disk);
            let at = known.unwrap_or_else(|| {
                disks.push((answer.disk.clone(), Book::default()));
                disks.len() - 1
            });
            add_disk(&mut disks[at].1, index + 1, answer);
        }
    }
    let title = match add_running(&mut cpus, trial) {
        true => "Where the time of each group on the CPUs went",
        false => "What each group waited for on the CPUs",
    };
    let disks = disks.into_iter().enumerate().map(|(index, (disk, book))| {
        let title = format!("Where the requests of each group to {disk} spent their time");
        book.close(format!("{DISK}{}", index + 1), title)
    });
    std::iter::once(cpus.close("waiting-cpus".to_owned(), title.to_owned()))
        .chain(disks)
        .filter(|account| !account.groups.is_empty() || !account.notes.is_empty())
        .collect()
}

/// Why a trial that requested evidence has none of this kind: `cpu` or `disks`.
pub(crate) fn why_missing(trial: &Trial<'_>, kind: &str) -> Option<String> {
    let key = format!("evidence.{kind}");
    let has = |repeat: &RepeatRecord| {
        repeat.evidence().is_some_and(|evidence| match kind {
            "cpu" => evidence.cpu.value().is_some(),
            _ => evidence.disks.value().is_some(),
        })
    };
    let repeats = &trial.record.repeats;
    if repeats.iter().any(has) {
        return None;
    }
    let reason = |repeat: &RepeatRecord| {
        repeat.not_available.get(&key).or_else(|| repeat.not_available.get("evidence")).cloned()
    };
    repeats.iter().find_map(reason)
}

fn add_cpus(book: &mut Book, repeat: usize, answer: &Answer) {
    if answer.verdict == Verdict::Void {
        book.notes.push(void(repeat, &answer.target, answer.reason.as_deref()));
        return;
    }
    for part in &answer.parts {
        let class = match (part.culprit, &part.group) {
            (Culprit::Group, Some(group)) => Class::named(3, group.clone(), "other groups"),
            (culprit, _) => Class::fixed(order(culprit), culprit.words()),
        };
        book.add(&answer.target, class, part.ns);
    }
}

/// The place of a class in the bar: the group's own doing first.
fn order(culprit: Culprit) -> u8 {
    match culprit {
        Culprit::OwnQuota => 1,
        Culprit::OwnThreads => 2,
        Culprit::Group => 4,
        Culprit::Ungrouped => 5,
        Culprit::KernelThreads => 6,
        Culprit::Interrupts => 7,
        Culprit::Hypervisor => 8,
        Culprit::IdleCpu => 9,
        Culprit::Unseen => 10,
    }
}

/// Adds the CPU time of groups whose waiting is known, over the window of each repeat with evidence; whether there
/// was any: texts are written without samples.
fn add_running(book: &mut Book, trial: &Trial<'_>) -> bool {
    let mut found = false;
    for (_, repeat, table) in trial.tables("cpu") {
        let Some(evidence) = repeat.evidence() else { continue };
        let answers = evidence.cpu.value().into_iter().flatten();
        let valid: Vec<&str> = answers
            .filter(|answer| answer.verdict == Verdict::Valid)
            .map(|answer| answer.target.as_str())
            .collect();
        for (group, curve) in curves(table, &["usage_ns"]) {
            let window = curve.clamp(repeat.released_ns, repeat.stopped_ns);
            let grown = window.and_then(|(from, to)| Some(curve.at(to)? - curve.at(from)?));
            if let Some(ns) = grown.filter(|ns| *ns > 0.0 && valid.contains(&group.as_str())) {
                book.add(&group, Class::fixed(0, "running"), ns as u64);
                found = true;
            }
        }
    }
    found
}

fn add_disk(book: &mut Book, repeat: usize, answer: &DiskAnswer) {
    if answer.verdict == Verdict::Void {
        book.notes.push(void(repeat, &answer.disk, answer.reason.as_deref()));
        return;
    }
    for group in answer.groups.iter().filter(|group| group.watched) {
        add_requests(book, group);
    }
}

fn add_requests(book: &mut Book, group: &DiskGroup) {
    let stages = [
        (0, "pool: full", group.place.pool_full_ns),
        (1, "pool: own limit", group.place.own_cap_ns),
        (2, "pool: other waits", group.place.other_ns),
        (3, "plugged", group.plugged.ns),
        (9, "device", group.device.ns),
    ];
    for (order, label, ns) in stages {
        book.add(&group.group, Class::fixed(order, label), ns);
    }
    for served in &group.served {
        let class = match &served.by {
            Some(by) if *by == group.group => Class::fixed(4, "own others served"),
            Some(by) => Class::named(5, format!("{by} served"), "others served"),
            None => Class::fixed(7, "queued, device idle"),
        };
        book.add(&group.group, class, served.ns);
    }
}

fn void(repeat: usize, what: &str, reason: Option<&str>) -> String {
    let reason = reason.unwrap_or("no reason is recorded");
    format!("repeat {repeat}, {what}: left out, since the kernel counted otherwise: {reason}")
}
