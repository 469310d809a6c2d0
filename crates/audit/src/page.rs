//! What an audit, a comparison of snapshots, a manifest, and one's own groups say, as pages.

use std::collections::BTreeSet;

use assay_host::facts::Available;
use assay_host::facts::owner::Owner;
use assay_sys::escape::page::{Page, Parts, Rows, Section, Table};

use crate::document::Audit;
use crate::drift::{Change, Drift};
use crate::effective::{Effective, Limit, MACHINE};
use crate::finding::{Class, Finding};
use crate::fulfilment::{Fulfilment, Row, Standing, Told};
use crate::own::{Membership, Own};
use crate::rule::Rule;
use crate::rules;

/// Findings of one code on a short page; the JSON has all.
const MOST: usize = 3;

/// Rows of a table on a short page.
const MOST_ROWS: usize = 12;

/// Names of groups on the page of what changed; the JSON has all.
const MOST_NAMES: usize = 5;

/// A page about a host under its name.
fn page(
    command: &str,
    host: &Available<String>,
    taken_at: &str,
    question: &str,
    about: &str,
    sections: Vec<Section>,
) -> Page {
    let host = known(host);
    Page {
        title: format!("{command} of {host}"),
        kicker: vec![command.to_owned(), taken_at.to_owned()],
        heading: format!("{host}: {about}; {taken_at}"),
        question: Some(question.to_owned()),
        sections,
        ..Page::default()
    }
}

fn known(of: &Available<String>) -> String {
    of.value().cloned().unwrap_or_else(|| "unknown".to_owned())
}

/// What groups got while they contended, as text or page.
#[must_use]
pub fn fairness_page(audit: &Audit, sections: Vec<Section>) -> Page {
    let about = format!("Linux {}, {}", known(&audit.kernel), audit.hierarchies.join(" "));
    let question =
        "What its control groups got while they contended, compared with their settings.";
    page("assay fairness", &audit.host, &audit.taken_at, question, &about, sections)
}

/// A group with its owner.
fn named(owner: Option<&Owner>, path: &str) -> String {
    owner.map_or_else(|| path.to_owned(), |owner| format!("{owner}  {path}"))
}

fn or_why(of: &Available<String>) -> String {
    match of {
        Available::Value(text) => text.clone(),
        Available::NotAvailable(why) => format!("not available: {why}"),
    }
}

fn percent(part: f64) -> String {
    format!("{:.1} %", part * 100.0)
}

/// A value of several lines as one.
fn one_line(text: &str) -> String {
    match text.lines().collect::<Vec<_>>().join("; ") {
        empty if empty.is_empty() => "(empty)".to_owned(),
        line => line,
    }
}

/// The page of an audit. Without `all`, much of a kind is only counted.
#[must_use]
pub fn audit_page(audit: &Audit, all: bool) -> Page {
    let of_class = |(word, class, heading): (&str, Class, &str)| {
        let of_class = audit.findings.iter().filter(|finding| finding.class == class);
        let of_class: Vec<&Finding> = of_class.collect();
        let heading = format!("{heading}  {}", of_class.len());
        (!of_class.is_empty())
            .then(|| Section::new(word, heading, |page| of_codes(page, &of_class, all)))
    };
    let mut sections: Vec<Section> = Class::ALL.into_iter().filter_map(of_class).collect();
    if sections.is_empty() {
        sections.push(Section::new("findings", "Findings", |page| {
            page.text(match audit.with_settings {
                0 => "No group has settings that differ from those of a new group, of those that were read.",
                _ => "No rule found anything wrong with these settings.",
            });
        }));
    }
    if !audit.worth.is_empty() {
        sections.push(worth(audit, all));
    }
    if !audit.protection.is_empty() {
        sections.push(protection(audit, all));
    }
    let limits = Section::new("limits", "Limits that hold", |page| {
        page.on_page(|page| {
            page.text(
                "The tightest of a group's own, of the groups above and of the machine; in parentheses what sets it.",
            );
            page.table(effective(&audit.effective.iter().collect::<Vec<_>>()));
        });
    });
    sections.extend([limits, not_looked_at(&audit.not_looked_at)]);
    let about = format!(
        "Linux {}, {}; {} groups, {} with settings",
        known(&audit.kernel),
        audit.hierarchies.join(" "),
        audit.groups,
        audit.with_settings
    );
    let question = "Settings of its control groups that have no effect, or mean something else than their number.";
    page("assay audit", &audit.host, &audit.taken_at, question, &about, sections)
}

fn of_codes(page: &mut Parts, findings: &[&Finding], all: bool) {
    let codes: BTreeSet<&str> = findings.iter().map(|finding| finding.code).collect();
    for code in codes {
        let same: Vec<&&Finding> = findings.iter().filter(|finding| finding.code == code).collect();
        let shown = if all { same.len() } else { MOST.min(same.len()) };
        same.iter().take(shown).for_each(|one| finding(page, one));
        if same.len() > shown {
            page.text(format!("... and {} more {code} (--verbose)", same.len() - shown));
        }
        let mut remedies: Vec<&str> = same.iter().take(shown).map(|one| one.remedy).collect();
        remedies.dedup();
        for remedy in remedies {
            page.styled("aside", format!("hint: {remedy}"));
        }
    }
}

fn finding(page: &mut Parts, finding: &Finding) {
    let group = named(finding.owner.as_ref(), &finding.group);
    page.text(format!("{}  {group}", finding.code));
    let readings = finding.readings.iter().map(|reading| {
        let mut lines = reading.value.lines();
        let first = lines.next().unwrap_or("(empty)");
        let more = if lines.next().is_some() { " ..." } else { "" };
        format!("{}: {first}{more}", reading.file)
    });
    page.list([finding.sentence.clone()].into_iter().chain(readings));
}

/// What was left out, as every page of an audit ends.
fn not_looked_at(lines: &[String]) -> Section {
    Section::new("not-looked-at", "Not looked at", |page| match lines.is_empty() {
        true => page.on_page(|page| page.text("Nothing was left out.")),
        false => page.list(lines.iter().cloned()),
    })
}

/// The first rows, unless all are asked for.
fn first<T>(rows: &[T], all: bool) -> &[T] {
    if all { rows } else { &rows[..rows.len().min(MOST_ROWS)] }
}

/// How many rows there are beside those shown.
fn rest(page: &mut Parts, rows: usize, shown: usize) {
    if rows > shown {
        page.text(format!("... and {} more (--verbose)", rows - shown));
    }
}

fn worth(audit: &Audit, all: bool) -> Section {
    let rows = first(&audit.worth, all);
    let table = Rows::new(rows)
        .left("group", 0, |one| named(one.owner.as_ref(), &one.group))
        .right("weight", 0, crate::Worth::weight)
        .right("of level", 0, |one| percent(one.of_level))
        .right("of all CPUs", 0, |one| percent(one.of_machine));
    Section::new("worth", "What weights of CPU are worth, with everything busy", |page| {
        page.table(table);
        rest(page, audit.worth.len(), rows.len());
    })
    .listed("Weights")
}

fn protection(audit: &Audit, all: bool) -> Section {
    let rows = first(&audit.protection, all);
    let table = Rows::new(rows)
        .left("group", 0, |one| named(one.owner.as_ref(), &one.group))
        .left("file", 0, |one| one.file)
        .right("set", 0, |one| rules::amount(one.set))
        .right("effective", 0, |one| match &one.effective {
            Available::Value(bytes) => rules::amount(*bytes),
            Available::NotAvailable(why) => format!("not available: {why}"),
        });
    Section::new(
        "protection",
        "Protection of memory against the rest of the machine, by present use",
        |page| {
            page.table(table);
            rest(page, audit.protection.len(), rows.len());
        },
    )
    .listed("Protection")
}

/// The limits of a group and of those below it, of all for `/`. A limit of another group, or of the machine, has
/// its name in parentheses. `None` if no hierarchy of cpu, cpuset, memory or pids has the group.
#[must_use]
pub fn limits(audit: &Audit, below: &str) -> Option<Table> {
    let below = below.trim_matches('/');
    let is_shown = |path: &str| {
        let rest = path.trim_start_matches('/').strip_prefix(below);
        rest.is_some_and(|rest| below.is_empty() || rest.is_empty() || rest.starts_with('/'))
    };
    let rows: Vec<&Effective> = audit.effective.iter().filter(|row| is_shown(&row.group)).collect();
    (!rows.is_empty()).then(|| effective(&rows))
}

/// What holds for each group.
fn effective(rows: &[&Effective]) -> Table {
    fn cell<T>(limit: Option<&Limit<T>>, group: &str, words: impl Fn(&T) -> String) -> String {
        let Some(limit) = limit else { return "-".to_owned() };
        let value = words(&limit.value);
        match limit.from.as_str() {
            from if from == group => value,
            MACHINE => format!("{value} (machine)"),
            from => format!("{value} ({from})"),
        }
    }
    let bytes = |bytes: &u64| rules::amount(*bytes);
    Rows::new(rows)
        .left("group", 0, |row| named(row.owner.as_ref(), &row.group))
        .left("CPUs", 0, |row| cell(row.cpus.as_ref(), &row.group, |number| rules::cpus(*number)))
        .left("memory.max", 0, |row| cell(row.memory_max.as_ref(), &row.group, bytes))
        .left("memory.high", 0, |row| cell(row.memory_high.as_ref(), &row.group, bytes))
        .left("pids.max", 0, |row| {
            let limit = cell(row.pids_max.as_ref(), &row.group, u64::to_string);
            row.pids.map_or(limit.clone(), |number| format!("{limit}, {number} now"))
        })
        .right("of all CPUs", 0, |row| row.of_machine.map_or_else(|| "-".to_owned(), percent))
        .into()
}

/// The page about the groups of the process itself.
#[must_use]
pub fn own_page(own: &Own) -> Page {
    let settings: Vec<_> = own.memberships.iter().flat_map(|one| &one.settings).collect();
    let groups =
        Section::new("groups", "This process is in", |page| {
            page.table(
                Rows::new(&own.memberships)
                    .left("hierarchy", 0, |one| one.hierarchy.clone())
                    .left("group", 0, |one: &Membership| match &one.group {
                        Available::Value(path) => named(one.owner.as_ref(), path),
                        missing => or_why(missing),
                    })
                    .left("above it", 0, |one| {
                        if one.sees_above { "can be seen" } else { "cannot be seen" }
                    }),
            );
        });
    let set_here = Section::new("set-here", "Set here", |page| match settings.is_empty() {
        true => page.text("nothing that differs from a new group"),
        false => {
            page.list(settings.iter().map(|one| format!("{}: {}", one.file, one_line(&one.value))));
        }
    });
    let limits =
        Section::new("limits", "Limits that hold, as far as can be seen", |page| {
            match own.effective.is_empty() {
                true => page.text("none that can be seen"),
                false => page.table(effective(&own.effective.iter().collect::<Vec<_>>())),
            }
        });
    let findings = Section::new("findings", "Findings", |page| {
        if own.findings.is_empty() {
            page.text("No rule found anything wrong.");
        }
        of_codes(page, &own.findings.iter().collect::<Vec<_>>(), true);
    });
    page(
        "assay audit self",
        &own.host,
        &own.taken_at,
        "The control groups of the process that looked, as seen from inside.",
        &format!("Linux {}, seen from inside", known(&own.kernel)),
        vec![groups, set_here, limits, findings, not_looked_at(&own.not_looked_at)],
    )
}

/// The page about a manifest.
#[must_use]
pub fn told_page(answer: &Told) -> Page {
    let count = |is: fn(&Standing) -> bool| {
        answer.fulfilments.iter().flat_map(|one| &one.rows).filter(|row| is(&row.standing)).count()
    };
    let missing = answer.fulfilments.iter().filter(|one| one.not_found.is_some()).count();
    let about = format!(
        "{} kept, {} differ, {} not looked at, {missing} not found",
        count(|one| *one == Standing::Kept),
        count(|one| *one == Standing::Differs),
        count(|one| matches!(one, Standing::NotLookedAt(_)))
    );
    let question =
        "What manifests asked for, and what stands in the files of the groups that got it.";
    let sections = answer.fulfilments.iter().enumerate().map(of_group).collect();
    page("assay audit --manifest", &answer.host, &answer.taken_at, question, &about, sections)
}

fn of_group((at, one): (usize, &Fulfilment)) -> Section {
    let text =
        |of: &Option<String>| of.as_ref().map_or_else(|| "-".to_owned(), |text| one_line(text));
    let how = |row: &Row| match &row.standing {
        Standing::NotLookedAt(why) => why.clone(),
        _ => row.how.clone(),
    };
    let table = Rows::new(&one.rows)
        .left("asked for", 0, |row| row.setting.clone())
        .left("", 0, |row| match &row.standing {
            Standing::Kept => "kept",
            Standing::Differs => "DIFFERS",
            Standing::NotLookedAt(_) => "not looked at",
        })
        .left("file", 0, |row| text(&row.file))
        .left("it says", 0, |row| text(&row.found))
        .left("it should say", 0, |row| text(&row.expected))
        .left("how", 0, how);
    Section::new(format!("subject-{at}"), one.subject.as_str(), |page| {
        if let Some(group) = &one.group {
            page.text(named(one.owner.as_ref(), group));
        }
        if one.is_empty {
            page.text("EMPTY  nothing runs in this group: its files hold for nothing");
        }
        match &one.not_found {
            Some(what) => page.text(format!("NOT FOUND  {what}")),
            None if one.rows.is_empty() => page.text("nothing was asked for"),
            None => page.table(table),
        }
        one.not_looked_at.iter().for_each(|what| page.text(format!("not looked at: {what}")));
    })
}

/// The page about what changed since a snapshot.
#[must_use]
pub fn drift_page(drift: &Drift) -> Page {
    let counts = counts(drift.changes.len(), drift.came.len(), drift.went.len());
    let mut page = page(
        "assay audit diff",
        &drift.host,
        &drift.taken_at,
        "",
        &format!("since {}: {counts}", drift.since),
        vec![not_looked_at(&drift.not_looked_at)],
    );
    page.question = None;
    drift.changes.iter().for_each(|one| page.head.text(change(one)));
    for (word, paths) in [("came", &drift.came), ("went", &drift.went)] {
        let names: Vec<&str> = paths.iter().take(MOST_NAMES).map(String::as_str).collect();
        let more = match paths.len().saturating_sub(MOST_NAMES) {
            0 => String::new(),
            rest => format!(" and {rest} more (-o json)"),
        };
        if !names.is_empty() {
            page.head.text(format!("groups that {word}: {}{more}", names.join(", ")));
        }
    }
    page
}

/// Of changes and of groups.
#[must_use]
pub fn counts(changes: usize, came: usize, went: usize) -> String {
    let number = |count: usize, one: &str, many: &str| match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {many}"),
    };
    format!(
        "{}, {} came, {went} went",
        number(changes, "change of a setting", "changes of settings"),
        number(came, "group", "groups")
    )
}

/// One change as a line, without its end.
#[must_use]
pub fn change(change: &Change) -> String {
    let name = change.file.rsplit('/').next().unwrap_or_default();
    let place = match &change.group {
        Some(path) => format!("{}  {name}", named(change.owner.as_ref(), path)),
        None => change.file.clone(),
    };
    let value = |text: &Option<String>| {
        text.as_ref().map_or_else(|| "(no such file)".to_owned(), |text| one_line(text))
    };
    let line = format!("{place}  {} -> {}", value(&change.from), value(&change.to));
    assay_sys::escape::line(&line).into_owned()
}

/// All that is known about a rule.
#[must_use]
pub fn explain(rule: &Rule) -> String {
    format!(
        "{}: {}\n\n{}\n\nFires when: {}\nApplies to: {}\nRemedy:     {}\nSource:     {}\n",
        rule.code,
        rule.class.heading().to_lowercase(),
        rule.meaning,
        rule.condition,
        rule.versions,
        rule.remedy,
        rule.source
    )
}

#[cfg(test)]
mod tests;
