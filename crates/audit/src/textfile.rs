//! Text of `assay audit --textfile`: what an audit finds, and what a watch has counted so far.
//!
//! No group, process or disk is named: the number of series follows from the tables of rules and settings alone, so that
//! nobody who may make groups can fill a monitor. Every series is there from the start, also at zero, so that the first
//! event shows as an increase.

use std::collections::BTreeMap;

use assay_report::export::Families;

use crate::{Audit, Change, Class, WATCHED, all, host_settings};

/// The label of the files `/sys/block/*/queue/scheduler`.
const SCHEDULER: &str = "queue/scheduler";

/// What a watch has counted since it began.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WatchCounts {
    /// When it began, in seconds of Unix time.
    pub(crate) started_s: f64,
    /// When it last looked, by the same clock.
    pub(crate) looked_s: f64,
    /// How often it has looked at what is due.
    pub(crate) looks: u64,
    /// Groups that it watches, in each hierarchy.
    pub(crate) groups: usize,
    /// Groups that came.
    pub(crate) came: usize,
    /// Groups that are gone.
    pub(crate) went: usize,
    /// Whether the kernel reports each write, with who wrote.
    pub(crate) writes_are_reported: bool,
    /// Whether groups or files are not watched.
    pub(crate) is_incomplete: bool,
    changes: BTreeMap<&'static str, u64>,
}

impl WatchCounts {
    /// A watch that has seen nothing yet.
    pub(crate) fn new(now_s: f64) -> Self {
        let knobs = WATCHED.iter().copied().chain(host_settings()).chain([SCHEDULER]);
        Self {
            started_s: now_s,
            looked_s: now_s,
            looks: 0,
            groups: 0,
            came: 0,
            went: 0,
            writes_are_reported: false,
            is_incomplete: false,
            changes: knobs.map(|knob| (knob, 0)).collect(),
        }
    }

    /// Counts a change by what was changed.
    pub(crate) fn count(&mut self, change: &Change) {
        let file = change.file.as_str();
        let name = match change.group {
            Some(_) => file.rsplit('/').next().unwrap_or(file),
            None if file.ends_with(SCHEDULER) => SCHEDULER,
            None => file,
        };
        if let Some(number) = self.changes.get_mut(name) {
            *number += 1;
        }
    }
}

/// The latest audit of the host, with its cost.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LatestAudit {
    /// What it found.
    pub(crate) audit: Audit,
    /// When it was made, in seconds of Unix time.
    pub(crate) made_s: f64,
    /// How long it took.
    pub(crate) took_s: f64,
}

/// Kind and help of a family.
type About = (&'static str, &'static str);

/// A gauge or counter without labels.
type Row = (&'static str, About, f64);

/// The metrics of an audit, and of a watch with the CPU time of its process so far, in seconds.
pub(crate) fn textfile(watch: Option<(&WatchCounts, f64)>, latest: Option<&LatestAudit>) -> String {
    let mut page = Page(Families::default());
    info(&mut page, latest.map(|latest| &latest.audit));
    if let Some((counts, cpu_s)) = watch {
        page.add_rows(of_watch(counts, cpu_s));
        for (knob, number) in &counts.changes {
            page.add("assay_watch_changes", CHANGES, &[("knob", knob)], *number as f64);
        }
    }
    if let Some(latest) = latest {
        page.add_rows(of_audit(latest));
        findings(&mut page, &latest.audit);
    }
    page.0.textfile()
}

struct Page(Families);

impl Page {
    fn add(&mut self, name: &str, (kind, help): About, labels: &[(&str, &str)], value: f64) {
        self.0.add(name, (kind, "", help), labels, value);
    }

    fn add_rows(&mut self, rows: Vec<Row>) {
        rows.into_iter().for_each(|(name, about, value)| self.add(name, about, &[], value));
    }
}

const CHANGES: About = ("counter", "Changes of a setting, by the name of its file.");

fn info(page: &mut Page, audit: Option<&Audit>) {
    let text = |of: fn(&Audit) -> Option<&String>| audit.and_then(of).map_or("", String::as_str);
    let labels = [
        ("host", text(|audit| audit.host.value())),
        ("kernel", text(|audit| audit.kernel.value())),
        ("assay", env!("CARGO_PKG_VERSION")),
    ];
    page.add("assay_info", ("gauge", "The host, and which version reads it."), &labels, 1.0);
}

fn of_watch(counts: &WatchCounts, cpu_s: f64) -> Vec<Row> {
    let is = |flag: bool| f64::from(u8::from(flag));
    vec![
        (
            "assay_watch_start_timestamp_seconds",
            ("gauge", "When the watch began, Unix time."),
            counts.started_s,
        ),
        (
            "assay_watch_last_look_timestamp_seconds",
            ("gauge", "When the watch last looked, Unix time."),
            counts.looked_s,
        ),
        ("assay_watch_looks", ("counter", "Looks at the files that are due."), counts.looks as f64),
        (
            "assay_watch_groups",
            ("gauge", "Groups that are watched, in each hierarchy."),
            counts.groups as f64,
        ),
        ("assay_watch_groups_came", ("counter", "Groups that came."), counts.came as f64),
        ("assay_watch_groups_went", ("counter", "Groups that are gone."), counts.went as f64),
        (
            "assay_watch_writes_reported",
            ("gauge", "1 if the kernel reports each write, 0 if all files are read in every look."),
            is(counts.writes_are_reported),
        ),
        (
            "assay_watch_incomplete",
            ("gauge", "1 if some groups or files are not watched."),
            is(counts.is_incomplete),
        ),
        ("assay_watch_cpu_seconds", ("counter", "CPU time of the watch and its audits."), cpu_s),
    ]
}

fn of_audit(latest: &LatestAudit) -> Vec<Row> {
    let audit = &latest.audit;
    vec![
        (
            "assay_audit_timestamp_seconds",
            ("gauge", "When the latest audit was made, Unix time."),
            latest.made_s,
        ),
        (
            "assay_audit_duration_seconds",
            ("gauge", "How long the latest audit took."),
            latest.took_s,
        ),
        ("assay_audit_groups", ("gauge", "Groups, each path once."), audit.groups as f64),
        (
            "assay_audit_groups_with_settings",
            ("gauge", "Groups of which something is set."),
            audit.with_settings as f64,
        ),
        (
            "assay_audit_not_looked_at",
            ("gauge", "What could not be looked at: lines of that list."),
            audit.not_looked_at.len() as f64,
        ),
    ]
}

const FINDINGS: About =
    ("gauge", "What the latest audit found, by rule and by how much it matters.");

fn findings(page: &mut Page, audit: &Audit) {
    let mut numbers = audit.left_out.clone();
    audit.findings.iter().for_each(|one| *numbers.entry(one.code).or_default() += 1);
    for rule in all() {
        let class = Class::ALL.iter().find(|(_, class, _)| *class == rule.class);
        let word = class.map_or("", |(word, ..)| word);
        let number = numbers.get(rule.code).map_or(0.0, |number| *number as f64);
        page.add("assay_audit_findings", FINDINGS, &[("rule", rule.code), ("class", word)], number);
    }
}

#[cfg(test)]
mod tests {
    use assay_host::facts::Available;

    use super::*;
    use crate::{Snapshot, audit};

    fn change(group: Option<&str>, file: &str) -> Change {
        let group = group.map(str::to_owned);
        Change { group, owner: None, file: file.to_owned(), from: None, to: None }
    }

    fn latest(host: &str) -> LatestAudit {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../audit/tests/fixtures/systemd-v2");
        let mut snapshot = Snapshot::parse(&std::fs::read_to_string(path).unwrap()).unwrap();
        snapshot.machine.name = Available::Value(host.to_owned());
        LatestAudit { audit: audit(&snapshot), made_s: 2.5, took_s: 0.25 }
    }

    /// The value of a series.
    fn value<'p>(page: &'p str, series: &str) -> &'p str {
        let line = page.lines().find_map(|line| line.strip_prefix(series));
        line.unwrap_or_else(|| panic!("{series}: {page}")).trim()
    }

    #[test]
    fn changes_are_counted_by_knob_and_every_series_is_there_from_the_start() {
        let mut counts = WatchCounts::new(1.0);
        let before = textfile(Some((&counts, 0.0)), None);
        assert_eq!(value(&before, "assay_watch_changes_total{knob=\"cpu.weight\"}"), "0");
        for (group, file) in [
            (Some("/a"), "/sys/fs/cgroup/a/cpu.weight"),
            (Some("/b"), "/sys/fs/cgroup/b/cpu.weight"),
            (None, "/proc/sys/vm/swappiness"),
            (None, "/sys/block/sda/queue/scheduler"),
            (None, "/sys/block/sdb/queue/scheduler"),
        ] {
            counts.count(&change(group, file));
        }
        let page = textfile(Some((&counts, 1.5)), None);
        for (series, expected) in [
            ("assay_watch_changes_total{knob=\"cpu.weight\"}", "2"),
            ("assay_watch_changes_total{knob=\"/proc/sys/vm/swappiness\"}", "1"),
            ("assay_watch_changes_total{knob=\"queue/scheduler\"}", "2"),
            ("assay_watch_cpu_seconds_total", "1.5"),
        ] {
            assert_eq!(value(&page, series), expected, "{series}");
        }
        assert_eq!(page.lines().count(), before.lines().count());
        assert!(page.contains("# TYPE assay_watch_changes_total counter\n"), "{page}");
    }

    #[test]
    fn findings_are_those_of_the_audit_by_rule_and_class() {
        let latest = latest("h");
        let page = textfile(None, Some(&latest));
        assert!(!latest.audit.findings.is_empty());
        for rule in all() {
            let found = latest.audit.findings.iter().filter(|one| one.code == rule.code).count();
            let series = format!("assay_audit_findings{{rule=\"{}\",class=", rule.code);
            let (_, number) = value(&page, &series).rsplit_once(' ').unwrap();
            assert_eq!(number, found.to_string(), "{series}");
        }
        assert_eq!(value(&page, "assay_audit_timestamp_seconds "), "2.5");
    }

    /// A name of the host that would end its label, and its line.
    #[test]
    fn the_name_of_the_host_stays_in_its_label() {
        let page = textfile(None, Some(&latest("a\"} 1\nevil 2\\")));
        assert!(page.contains("{host=\"a\\\"} 1\\nevil 2\\\\\",kernel="), "{page}");
        assert!(!page.lines().any(|line| line.starts_with("evil")), "{page}");
    }
}
