//! What `--for` saw, as sections of the page of an audit.

use assay_audit::Reading;
use assay_host::facts::owner::Owner;
use assay_judge::verdict::Verdict;
use assay_sys::escape::page::{PAGE, Parts, Rows, Section, Table};

use crate::fairness::answer::{LevelAnswer, Row};
use crate::fairness::document::Contention;
use crate::fairness::limits::{LimitRow, LimitState};
use crate::fairness::own_cpus::OwnCpus;
use crate::fairness::protections::ProtectionRow;
use crate::fairness::usage::{UsageLevel, UsageRow};
use crate::on_one_line;

/// Rows of one table on a short page; the JSON has all.
const MOST: usize = 12;

/// The sections of the page. With `all`, nothing is left out.
#[must_use]
pub fn sections(found: &Contention, all: bool) -> Vec<Section> {
    let own_cpus = found.own_cpus.value().filter(|rows| !rows.is_empty());
    let sections = [
        Some(divided(found, all)),
        (!found.limits.is_empty()).then(|| limits(&found.limits, all)),
        (!found.protection.is_empty()).then(|| protection(&found.protection)),
        own_cpus.map(|rows| of_own_cpus(rows)),
        Some(unseen(found)),
    ];
    sections.into_iter().flatten().collect()
}

/// A row about a setting of a group.
trait OfSetting {
    fn setting(&self) -> (Option<&Owner>, &str, &Reading);
}

macro_rules! of_setting {
    ($($row:ty),*) => {$(
        impl OfSetting for $row {
            fn setting(&self) -> (Option<&Owner>, &str, &Reading) {
                (self.owner.as_ref(), &self.group, &self.reading)
            }
        }
    )*};
}

of_setting!(Row, UsageRow, LimitRow, ProtectionRow, OwnCpus);

impl<R: OfSetting> OfSetting for &R {
    fn setting(&self) -> (Option<&Owner>, &str, &Reading) {
        (*self).setting()
    }
}

/// A table with the group and what its setting says, under this heading; a page has its file too.
fn settings<'r, R: OfSetting>(rows: &'r [R], says: &str) -> Rows<'r, R> {
    let group = |row: &R| {
        let (owner, group, _) = row.setting();
        owner.map_or_else(|| group.to_owned(), |owner| format!("{owner}  {group}"))
    };
    Rows::new(rows)
        .left("group", 0, group)
        .left("file", PAGE, |row| row.setting().2.file.clone())
        .right(says, 0, |row| row.setting().2.value.clone())
}

/// The table of the first rows, and how many more there are.
fn first<'r, R>(page: &mut Parts, rows: &'r [R], all: bool, table: impl FnOnce(&'r [R]) -> Table) {
    let shown = if all { rows.len() } else { rows.len().min(MOST) };
    page.table(table(&rows[..shown]));
    if rows.len() > shown {
        page.text(format!("... and {} more (--verbose)", rows.len() - shown));
    }
}

fn percent(part: f64) -> String {
    format!("{:.1} %", part * 100.0)
}

fn dash<T>(of: Option<T>, text: impl FnOnce(T) -> String) -> String {
    of.map_or_else(|| "-".to_owned(), text)
}

fn divided(found: &Contention, all: bool) -> Section {
    let heading = "Configured and actual, while siblings contended";
    Section::new("configured-and-actual", heading, |page| {
        page.text(format!("watched for {:.1} s, in cells of {} ms", found.seconds, found.cell_ms));
        if let Some(why) = found.cpu.reason() {
            let why = on_one_line(why);
            page.text(format!(
                "CPU: not decided: who wanted a CPU can't be seen without eBPF: {why}"
            ));
            found.usage.iter().for_each(|level| used(page, level, found.seconds, all));
        }
        for one in found.cpu.value().into_iter().flatten() {
            level(page, "CPU", one, found.seconds, all);
        }
        if found.cpu.value().is_some_and(Vec::is_empty) {
            page.text("CPU: nowhere did two groups of one level run: void");
        }
        if let Some(why) = found.disks.reason() {
            let why = on_one_line(why);
            page.text(format!("disks: contention could not be seen: {why}"));
        }
        for disk in found.disks.value().into_iter().flatten() {
            disk.levels.iter().for_each(|one| level(page, &disk.disk, one, found.seconds, all));
        }
    })
}

fn level(page: &mut Parts, what: &str, level: &LevelAnswer, seconds: f64, all: bool) {
    let LevelAnswer { parent, contended_s, rows, .. } = level;
    let contended = format!("{contended_s:.1} of {seconds:.0} s");
    if rows.iter().all(|row| row.basis.is_none()) {
        let why = match contended_s {
            none if *none <= 0.0 => "nothing contended",
            _ => "contended too little",
        };
        let groups = rows.len();
        return page
            .text(format!("{what} below {parent}: {groups} groups, {contended}: void: {why}"));
    }
    let others = percent(level.others);
    page.text(format!("{what} below {parent}: contended {contended}, {others} of it to others"));
    first(page, rows, all, |rows| {
        settings(rows, "weight")
            .right("promised", 0, |row| dash(row.promised, percent))
            .right("got", 0, |row| dash(row.got, |got| percent(got.value)))
            .right("interval", 0, |row| {
                dash(row.got, |got| format!("{:.1} .. {:.1}", got.low * 100.0, got.high * 100.0))
            })
            .right("compared", 0, |row| format!("{:.1} s", row.compared_s))
            .left("verdict", 0, |row| row.verdict.word())
            .into()
    });
    for row in rows.iter().take(if all { rows.len() } else { MOST }) {
        let broken = (row.verdict == Verdict::Broken)
            .then(|| format!("{}: {}", row.reading.file, row.reading.value));
        let notes = row.notes.iter().map(|note| format!("{}: {note}", row.group));
        page.list(notes.chain(broken));
    }
}

/// What groups used by their own counters.
fn used(page: &mut Parts, level: &UsageLevel, seconds: f64, all: bool) {
    let UsageLevel { parent, used_s, rows, .. } = level;
    page.text(format!("CPU below {parent}: used {used_s:.1} s in {seconds:.0} s, by counters"));
    first(page, rows, all, |rows| {
        settings(rows, "weight")
            .right("by weights", 0, |row| percent(row.by_weights))
            .right("part", 0, |row| percent(row.part))
            .right("used", 0, |row| format!("{:.1} s", row.used_s))
            .right("waited", 0, |row| dash(row.waited_s, |of| format!("{of:.1} s")))
            .into()
    });
}

/// How many limits of each state there are, and those that acted.
fn limits(rows: &[LimitRow], all: bool) -> Section {
    let states =
        [LimitState::Bound, LimitState::Touched, LimitState::NeverNear, LimitState::NotAvailable];
    let counted = states.into_iter().filter_map(|state| {
        let count = rows.iter().filter(|row| row.state == state).count();
        (count > 0).then(|| format!("{count} {}", state.words()))
    });
    let counted = counted.collect::<Vec<_>>().join("  ");
    let mut shown: Vec<&LimitRow> =
        rows.iter().filter(|row| all || row.state <= LimitState::Touched).collect();
    shown.sort_by_key(|row| row.state);
    Section::new("limits-met", "Limits", |page| {
        page.text(counted);
        if !shown.is_empty() {
            first(page, &shown, all, |rows| {
                settings(rows, "limit")
                    .left("", 0, |row| row.state.words())
                    .left("of", 0, |row| {
                        row.reading.file.rsplit('/').next().unwrap_or_default().to_owned()
                    })
                    .left("", 0, |row| figures(row))
                    .into()
            });
        }
    })
    .listed("Limits that were met")
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

fn protection(rows: &[ProtectionRow]) -> Section {
    let table = settings(rows, "bytes").left("verdict", 0, |row| row.verdict.word()).left(
        "why",
        0,
        |row| row.why.clone(),
    );
    Section::new("protection-met", "Protection while memory was short", |page| page.table(table))
}

fn of_own_cpus(rows: &[OwnCpus]) -> Section {
    let others = |row: &OwnCpus| {
        let others =
            row.others.iter().map(|other| format!("{:.2} s of {}", other.seconds, other.group));
        others.collect::<Vec<String>>().join("; ")
    };
    let table = settings(rows, "CPUs")
        .right("its own", 0, |row| format!("{:.2} s", row.own_s))
        .right("the kernel's", 0, |row| format!("{:.2} s", row.kernel_s))
        .left("others", 0, others);
    Section::new("own-cpus", "CPUs of a group's own", |page| page.table(table))
}

fn unseen(found: &Contention) -> Section {
    Section::new("watching", "Watching", |page| {
        page.list(found.not_looked_at.iter().map(|line| format!("not looked at: {line}")));
        if let Some(seen) = found.switches.value().filter(|seen| seen.hidden > 0) {
            page.text(format!(
                "{} of {} switches of threads were not shown: of {:.2} s of CPU time it is not known who used it.",
                seen.hidden,
                seen.hidden + seen.shown,
                seen.unknown_s
            ));
        }
        page.text(format!("Watching took {:.2} % of a CPU.", found.cost * 100.0));
    })
}
