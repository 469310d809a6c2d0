//! The table for a terminal.

use std::fmt::Write;

use assay_facts::owner;
use assay_verdict::Verdict;

use crate::answer::{LevelAnswer, Row};
use crate::document::Contention;
use crate::limits::{LimitRow, LimitState};

/// Rows of one level on the page; the JSON has all.
const MOST: usize = 12;

/// The part of the page. With `all`, nothing is left out.
#[must_use]
pub fn text(found: &Contention, all: bool) -> String {
    let mut page = format!(
        "\nCONFIGURED AND ACTUAL, while siblings contended; {:.1} s in cells of {} ms\n",
        found.seconds, found.cell_ms
    );
    if let Some(why) = found.cpu.reason() {
        let _ = writeln!(
            page,
            "  CPU: not decided: who wanted a CPU can't be seen without eBPF: {why}"
        );
        used(&mut page, found, all);
    }
    for level in found.cpu.value().into_iter().flatten() {
        level_lines(&mut page, "CPU", level, found.seconds, all);
    }
    if found.cpu.value().is_some_and(Vec::is_empty) {
        page.push_str("  CPU: nowhere did two groups of one level run: void\n");
    }
    if let Some(why) = found.disks.reason() {
        let _ = writeln!(page, "  disks: contention could not be seen: {why}");
    }
    for disk in found.disks.value().into_iter().flatten() {
        for level in &disk.levels {
            level_lines(&mut page, &disk.disk, level, found.seconds, all);
        }
    }
    limits(&mut page, &found.limits, all);
    protection(&mut page, found);
    own_cpus(&mut page, found);
    for line in &found.not_looked_at {
        let _ = writeln!(page, "  not looked at: {line}");
    }
    if let Some(seen) = found.switches.value().filter(|seen| seen.hidden > 0) {
        let _ = writeln!(
            page,
            "\n{} of {} switches of threads were not shown: of {:.2} s of CPU time it is not known who used it.",
            seen.hidden,
            seen.hidden + seen.shown,
            seen.unknown_s
        );
    }
    let _ = writeln!(page, "\nWatching took {:.2} % of a CPU.", found.cost * 100.0);
    page
}

/// What groups used by their own counters.
fn used(page: &mut String, found: &Contention, all: bool) {
    let seconds =
        |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |s| format!("{s:.1} s"));
    for level in &found.usage {
        let _ = writeln!(
            page,
            "  CPU below {}: used {:.1} s in {:.0} s, by counters\n  {:>8}  {:>10}  {:>7}  {:>8}  {:>8}  group",
            level.parent,
            level.used_s,
            found.seconds,
            "weight",
            "by weights",
            "part",
            "used",
            "waited"
        );
        let shown = if all { level.rows.len() } else { MOST };
        for row in level.rows.iter().take(shown) {
            let _ = writeln!(
                page,
                "  {:>8}  {:>8.1} %  {:>5.1} %  {:>8}  {:>8}  {}",
                row.reading.value,
                row.by_weights * 100.0,
                row.part * 100.0,
                seconds(Some(row.used_s)),
                seconds(row.waited_s),
                owner::shown(row.owner.as_ref(), &row.group)
            );
        }
        if level.rows.len() > shown {
            let _ = writeln!(page, "  ... and {} more (--all)", level.rows.len() - shown);
        }
    }
}

/// How many limits of each state there are, and those that acted.
fn limits(page: &mut String, rows: &[LimitRow], all: bool) {
    if rows.is_empty() {
        return;
    }
    let count = |state| rows.iter().filter(|row| row.state == state).count();
    let _ = write!(page, "\nLIMITS");
    for state in
        [LimitState::Bound, LimitState::Touched, LimitState::NeverNear, LimitState::NotAvailable]
    {
        let number = count(state);
        if number > 0 {
            let _ = write!(page, "  {number} {}", state.words());
        }
    }
    page.push('\n');
    let mut shown: Vec<&LimitRow> =
        rows.iter().filter(|row| all || row.state <= LimitState::Touched).collect();
    shown.sort_by_key(|row| row.state);
    let most = if all { shown.len() } else { MOST };
    for row in shown.iter().take(most) {
        let _ = writeln!(
            page,
            "  {:<15}  {}: {}  {}  {}",
            row.state.words(),
            row.reading.file.rsplit('/').next().unwrap_or_default(),
            row.reading.value,
            figures(row),
            owner::shown(row.owner.as_ref(), &row.group)
        );
    }
    if shown.len() > most {
        let _ = writeln!(page, "  ... and {} more (--all)", shown.len() - most);
    }
}

fn figures(row: &LimitRow) -> String {
    let mut words = Vec::new();
    if let Some(most) = row.most {
        words.push(format!("up to {:.0} % used", most * 100.0));
    }
    match (row.hits, row.periods) {
        (Some(hits), Some(periods)) => {
            words.push(format!("throttled in {hits} of {periods} periods"));
        }
        (Some(hits), None) if hits > 0 => words.push(format!("held back {hits} times")),
        _ => {}
    }
    if let Some(seconds) = row.held_s.filter(|seconds| *seconds > 0.0) {
        words.push(format!("{seconds:.1} s of all CPUs"));
    }
    words.join(", ")
}

fn protection(page: &mut String, found: &Contention) {
    if found.protection.is_empty() {
        return;
    }
    page.push_str("\nPROTECTION while memory was short\n");
    for row in &found.protection {
        let (group, word) = (owner::shown(row.owner.as_ref(), &row.group), row.verdict.word());
        let _ = writeln!(page, "  {word:<9}  {group}  {}: {}", row.reading.value, row.why);
        let _ = writeln!(page, "      {}", row.reading.file);
    }
}

fn own_cpus(page: &mut String, found: &Contention) {
    let Some(rows) = found.own_cpus.value().filter(|rows| !rows.is_empty()) else { return };
    page.push_str("\nCPUS OF A GROUP'S OWN\n");
    for row in rows {
        let group = owner::shown(row.owner.as_ref(), &row.group);
        let _ = writeln!(
            page,
            "  CPUs {}: {:.2} s its own, {:.2} s the kernel's  {group}",
            row.reading.value, row.own_s, row.kernel_s
        );
        for other in &row.others {
            let _ = writeln!(page, "      {:.2} s of {}", other.seconds, other.group);
        }
    }
}

fn level_lines(page: &mut String, what: &str, level: &LevelAnswer, seconds: f64, all: bool) {
    let contended = format!("{:.1} of {seconds:.0} s", level.contended_s);
    let judged = level.rows.iter().filter(|row| row.basis.is_some()).count();
    if judged == 0 {
        let why = match level.contended_s {
            none if none <= 0.0 => "nothing contended",
            _ => "contended too little",
        };
        let (parent, groups) = (&level.parent, level.rows.len());
        let _ =
            writeln!(page, "  {what} below {parent}: {groups} groups, {contended}: void: {why}");
        return;
    }
    let _ = writeln!(
        page,
        "  {what} below {}: contended {contended}, {:.1} % of it to others",
        level.parent,
        level.others * 100.0
    );
    let _ = writeln!(
        page,
        "  {:>8}  {:>8}  {:>7}  {:>15}  {:>8}  {:<9}  group",
        "weight", "promised", "got", "interval", "compared", "verdict"
    );
    let shown = if all { level.rows.len() } else { MOST };
    for row in level.rows.iter().take(shown) {
        row_lines(page, row);
    }
    if level.rows.len() > shown {
        let _ = writeln!(page, "  ... and {} more (--all)", level.rows.len() - shown);
    }
}

fn row_lines(page: &mut String, row: &Row) {
    let percent = |part: f64| format!("{:.1} %", part * 100.0);
    let got = row.got.map_or_else(|| "-".to_owned(), |got| percent(got.value));
    let interval = row.got.map_or_else(
        || "-".to_owned(),
        |got| format!("{:.1} .. {:.1}", got.low * 100.0, got.high * 100.0),
    );
    let _ = writeln!(
        page,
        "  {:>8}  {:>8}  {got:>7}  {interval:>15}  {:>6.1} s  {:<9}  {}",
        row.reading.value,
        row.promised.map_or_else(|| "-".to_owned(), percent),
        row.compared_s,
        row.verdict.word(),
        owner::shown(row.owner.as_ref(), &row.group)
    );
    for note in &row.notes {
        let _ = writeln!(page, "            {note}");
    }
    if row.verdict == Verdict::Broken {
        let _ = writeln!(page, "            {}: {}", row.reading.file, row.reading.value);
    }
}
