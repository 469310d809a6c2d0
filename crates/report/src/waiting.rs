//! Where the time of each group went, from the evidence of all repeats of a trial: one account for the CPUs, and
//! one for each disk. The figure, its table and the lines for terminals show the same numbers.

mod account;

use assay_blame::{Answer, Culprit, DiskAnswer, DiskGroup, Verdict};
use assay_record::run_folder::RepeatRecord;

use crate::trial::Trial;

pub(crate) use account::{Account, GroupTime};
use account::{Book, Class, DISK};

/// The accounts of a trial: CPUs first, then disks. None without evidence.
pub(crate) fn accounts(trial: &Trial<'_>) -> Vec<Account> {
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
    let title = match cpus.has_running() {
        true => "Where the time of each group's threads went",
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
    // Runs of former versions have none.
    let Some(time) = &answer.thread_time else { return };
    if let Some(reason) = &time.reason {
        book.notes.push(void(repeat, &answer.target, Some(reason)));
        return;
    }
    book.add(&answer.target, Class::running(), time.ran_ns);
    let rest = time.could_run_ns.saturating_sub(answer.waited_ns);
    book.add(&answer.target, Class::fixed(11, "still waiting"), rest);
    for part in &time.blocked {
        book.add(&answer.target, Class::blocked(part.on), part.ns);
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
