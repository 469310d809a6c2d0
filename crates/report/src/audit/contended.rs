//! What `--for` saw: what groups got while siblings contended, against what they were told.

use assay_audit::Reading;
use assay_contention::{Contention, LevelAnswer, LimitRow, LimitState, Row, UsageLevel};
use assay_facts::owner::Owner;

use super::section::Section;
use super::{named, percent};

/// The parts of the page; empty ones are left out.
pub(super) fn sections(found: &Contention) -> Vec<Section> {
    let all = [divided(found), limits(found), protection(found), own_cpus(found), unseen(found)];
    all.into_iter().filter(|one| !one.is_empty()).collect()
}

fn divided(found: &Contention) -> Section {
    let mut section =
        Section::new("configured-and-actual", "Configured and actual, while siblings contended")
            .text(format!("Watched for {:.1} s, in cells of {} ms.", found.seconds, found.cell_ms));
    if let Some(why) = found.cpu.reason() {
        section = section
            .text(format!("CPU: not decided: who wanted a CPU cannot be seen without eBPF: {why}"));
        section = found.usage.iter().fold(section, used);
    }
    for one in found.cpu.value().into_iter().flatten() {
        section = level(section, "CPU", one, found.seconds);
    }
    if found.cpu.value().is_some_and(Vec::is_empty) {
        section = section.text("CPU: nowhere did two groups of one level run: void.");
    }
    if let Some(why) = found.disks.reason() {
        section = section.text(format!("Disks: contention could not be seen: {why}"));
    }
    for disk in found.disks.value().into_iter().flatten() {
        section = disk
            .levels
            .iter()
            .fold(section, |section, one| level(section, &disk.disk, one, found.seconds));
    }
    section
}

fn level(section: Section, what: &str, one: &LevelAnswer, seconds: f64) -> Section {
    let title = format!(
        "{what} below {}: {}; contended {:.1} of {seconds:.0} s, {} of it to others",
        one.parent,
        one.verdict.word(),
        one.contended_s,
        percent(one.others)
    );
    let columns = [
        "Group",
        "File",
        "#Weight",
        "#Promised",
        "#Got",
        "#From",
        "#To",
        "#Compared, s",
        "Verdict",
        "Why",
    ];
    section.table(Some(title), &columns, one.rows.iter().map(row).collect())
}

fn row(row: &Row) -> Vec<String> {
    let part = |of: Option<f64>| of.map_or_else(|| "-".to_owned(), percent);
    let mut cells = setting(row.owner.as_ref(), &row.group, &row.reading);
    cells.extend([
        part(row.promised),
        part(row.got.map(|got| got.value)),
        part(row.got.map(|got| got.low)),
        part(row.got.map(|got| got.high)),
        format!("{:.1}", row.compared_s),
        row.verdict.word().to_owned(),
        row.notes.join("; "),
    ]);
    cells
}

/// The group, the file of its setting, and what it says.
fn setting(owner: Option<&Owner>, group: &str, reading: &Reading) -> Vec<String> {
    vec![named(owner, group), reading.file.clone(), reading.value.clone()]
}

fn used(section: Section, level: &UsageLevel) -> Section {
    let seconds = |of: Option<f64>| of.map_or_else(|| "-".to_owned(), |of| format!("{of:.1}"));
    let rows = level.rows.iter().map(|row| {
        let mut cells = setting(row.owner.as_ref(), &row.group, &row.reading);
        cells.extend([
            percent(row.by_weights),
            percent(row.part),
            seconds(Some(row.used_s)),
            seconds(row.waited_s),
        ]);
        cells
    });
    let title = format!("CPU below {}: used {:.1} s, by counters", level.parent, level.used_s);
    let columns = ["Group", "File", "#Weight", "#By weights", "#Part", "#Used, s", "#Waited, s"];
    section.table(Some(title), &columns, rows.collect())
}

fn limits(found: &Contention) -> Section {
    let mut rows: Vec<&LimitRow> = found.limits.iter().collect();
    rows.sort_by_key(|row| row.state);
    let acted = rows.iter().filter(|row| row.state <= LimitState::Touched);
    let section = Section::new("limits-met", "Limits that were met");
    let others = rows.len() - acted.clone().count();
    let columns = ["Group", "File", "#Limit", "", "#At most used", "#Held back", "#Of periods"];
    let section = section.table(None, &columns, acted.map(|row| limit(row)).collect());
    if others == 0 { section } else { section.text(format!("{others} others were not.")) }
}

fn limit(row: &LimitRow) -> Vec<String> {
    let number = |of: Option<u64>| of.map_or_else(|| "-".to_owned(), |of| of.to_string());
    let mut cells = setting(row.owner.as_ref(), &row.group, &row.reading);
    cells.extend([
        row.state.words().to_owned(),
        row.most.map_or_else(|| "-".to_owned(), percent),
        number(row.hits),
        number(row.periods),
    ]);
    cells
}

fn protection(found: &Contention) -> Section {
    let rows = found.protection.iter().map(|row| {
        let mut cells = setting(row.owner.as_ref(), &row.group, &row.reading);
        cells.extend([row.verdict.word().to_owned(), row.why.clone()]);
        cells
    });
    let columns = ["Group", "File", "#Bytes", "Verdict", "Why"];
    Section::new("protection-met", "Protection while memory was short").table(
        None,
        &columns,
        rows.collect(),
    )
}

fn own_cpus(found: &Contention) -> Section {
    let rows = found.own_cpus.value().into_iter().flatten().map(|row| {
        let others =
            row.others.iter().map(|other| format!("{:.2} s of {}", other.seconds, other.group));
        let mut cells = setting(row.owner.as_ref(), &row.group, &row.reading);
        cells.extend([
            format!("{:.2}", row.own_s),
            format!("{:.2}", row.kernel_s),
            others.collect::<Vec<String>>().join("; "),
        ]);
        cells
    });
    let columns = ["Group", "File", "CPUs", "#Its own, s", "#The kernel's, s", "Others"];
    Section::new("own-cpus", "CPUs of a group's own").table(None, &columns, rows.collect())
}

fn unseen(found: &Contention) -> Section {
    let mut section = Section::new("watching", "Watching").lines(&found.not_looked_at);
    if let Some(seen) = found.switches.value().filter(|seen| seen.hidden > 0) {
        section = section.text(format!(
            "{} of {} switches of threads were not shown: of {:.2} s of CPU time it is not known who used it.",
            seen.hidden,
            seen.hidden + seen.shown,
            seen.unknown_s
        ));
    }
    section.text(format!("Watching took {:.2} % of a CPU.", found.cost * 100.0))
}
