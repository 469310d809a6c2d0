//! The page for a terminal.

mod drift;
mod fulfilment;
mod limits;
mod own;

use std::collections::BTreeSet;
use std::fmt::Write;

use assay_escape::line as escaped;

use crate::document::Audit;
use crate::finding::{Class, Finding};
use crate::owner;
use crate::rule::Rule;
use crate::rules;

pub use drift::{change, counts, drift as drift_text};
pub use fulfilment::fulfilment as told_text;
pub use limits::limits;
pub use own::own as own_text;

/// Lines of one code on the page; the JSON has all.
const MOST: usize = 3;

/// Lines of the table of weights and of that of protection.
const MOST_ROWS: usize = 12;

/// The page. With `all`, nothing is left out.
#[must_use]
pub fn text(audit: &Audit, all: bool) -> String {
    let mut page = head(audit);
    for (_, class, heading) in Class::ALL {
        let of_class: Vec<&Finding> =
            audit.findings.iter().filter(|finding| finding.class == class).collect();
        if !of_class.is_empty() {
            let _ = writeln!(page, "\n{heading}  {}", of_class.len());
            of_codes(&mut page, &of_class, all);
        }
    }
    if audit.findings.is_empty() {
        page.push_str(match audit.with_settings {
            0 => "\nNo group has settings that differ from those of a new group.\n",
            _ => "\nNo rule found anything wrong with these settings.\n",
        });
    }
    weights(&mut page, audit, all);
    protection(&mut page, audit, all);
    section(&mut page, "NOT LOOKED AT", &audit.not_looked_at);
    page
}

/// Lines below a heading; nothing if there are none.
fn section(page: &mut String, heading: &str, lines: &[String]) {
    if !lines.is_empty() {
        let _ = writeln!(page, "\n{heading}");
    }
    for line in lines {
        let _ = writeln!(page, "  {}", escaped(line));
    }
}

fn head(audit: &Audit) -> String {
    let known = |of: &assay_facts::Available<String>| {
        of.value().cloned().unwrap_or_else(|| "unknown".to_owned())
    };
    format!(
        "{}: Linux {}, {}; {} groups, {} with settings; {}\n",
        known(&audit.host),
        known(&audit.kernel),
        audit.hierarchies.join(" "),
        audit.groups,
        audit.with_settings,
        audit.taken_at
    )
}

fn of_codes(page: &mut String, findings: &[&Finding], all: bool) {
    let codes: BTreeSet<&str> = findings.iter().map(|finding| finding.code).collect();
    for code in codes {
        let same: Vec<&&Finding> = findings.iter().filter(|finding| finding.code == code).collect();
        let shown = if all { same.len() } else { MOST };
        for finding in same.iter().take(shown) {
            line(page, finding);
        }
        if same.len() > shown {
            let _ = writeln!(page, "  ... and {} more {code} (--all)", same.len() - shown);
        }
        if let Some(first) = same.first() {
            let _ = writeln!(page, "      hint: {}", first.remedy);
        }
    }
}

fn line(page: &mut String, finding: &Finding) {
    let group = owner::shown(finding.owner.as_ref(), &finding.group);
    let sentence = escaped(&finding.sentence);
    let _ = writeln!(page, "  {}  {group}\n      {sentence}", finding.code);
    for reading in &finding.readings {
        let mut lines = reading.value.lines();
        let first = lines.next().unwrap_or("(empty)");
        let more = if lines.next().is_some() { " ..." } else { "" };
        let _ = writeln!(page, "      {}: {first}{more}", escaped(&reading.file));
    }
}

fn weights(page: &mut String, audit: &Audit, all: bool) {
    if audit.worth.is_empty() {
        return;
    }
    page.push_str("\nWHAT WEIGHTS OF CPU ARE WORTH, with everything busy\n");
    let _ = writeln!(page, "  {:>10}  {:>9}  {:>9}  group", "weight", "of level", "of all");
    let shown = if all { audit.worth.len() } else { MOST_ROWS };
    for row in audit.worth.iter().take(shown) {
        let percent = |part: f64| format!("{:.1} %", part * 100.0);
        let _ = writeln!(
            page,
            "  {:>10}  {:>9}  {:>9}  {}",
            row.weight(),
            percent(row.of_level),
            percent(row.of_machine),
            owner::shown(row.owner.as_ref(), &row.group)
        );
    }
    rest(page, audit.worth.len(), shown);
}

fn protection(page: &mut String, audit: &Audit, all: bool) {
    if audit.protection.is_empty() {
        return;
    }
    page.push_str("\nPROTECTION OF MEMORY against the rest of the machine, by present use\n");
    let shown = if all { audit.protection.len() } else { MOST_ROWS };
    for row in audit.protection.iter().take(shown) {
        let effective = match &row.effective {
            assay_facts::Available::Value(bytes) => rules::amount(*bytes),
            assay_facts::Available::NotAvailable(why) => format!("not available: {why}"),
        };
        let set = rules::amount(row.set);
        let group = owner::shown(row.owner.as_ref(), &row.group);
        let _ = writeln!(page, "  {} {set}, effective {effective}  {group}", row.file);
    }
    rest(page, audit.protection.len(), shown);
}

fn rest(page: &mut String, rows: usize, shown: usize) {
    if rows > shown {
        let _ = writeln!(page, "  ... and {} more (--all)", rows - shown);
    }
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
mod tests {
    use assay_facts::Available;

    use super::*;
    use crate::fake::Fake;
    use crate::snapshot::Kubelet;

    fn idle(count: usize) -> Audit {
        let mut fake = Fake::v2();
        for number in 0..count {
            fake = fake.group(&format!("/g{number}"), &[("cpu.idle", "1"), ("cpu.weight", "1")]);
        }
        crate::audit(&fake.snapshot())
    }

    #[test]
    fn many_lines_of_one_code_are_counted_instead() {
        let page = text(&idle(5), false);
        assert!(page.contains("MEANS SOMETHING ELSE  5"), "{page}");
        assert!(page.contains("... and 2 more A-IDLE"), "{page}");
        assert!(page.contains("/sys/fs/cgroup/g0/cpu.idle: 1"), "{page}");
        assert!(!text(&idle(5), true).contains("more A-IDLE"));
    }

    #[test]
    fn a_page_without_findings_says_so() {
        assert!(text(&idle(0), false).contains("No group has settings"));
        let set = Fake::v2().group("/g", &[("pids.max", "5")]).snapshot();
        assert!(text(&crate::audit(&set), false).contains("No rule found anything wrong"));
    }

    #[test]
    fn no_name_forges_a_line() {
        let forged = "/x\n\nFORGED  1".to_owned();
        let kubelet = |of: Available<Kubelet>| {
            let pod = "/kubepods.slice/kubepods-pod6c1a.slice";
            let host =
                Fake::v2().group_of("/kubepods.slice", 0, &[]).group(pod, &[("memory.high", "1")]);
            text(&crate::audit(&host.change(|host| host.kubelet = Some(of)).snapshot()), true)
        };
        let settings = [("featureGates.MemoryQoS".to_owned(), "false".to_owned())].into();
        let page = kubelet(Available::Value(Kubelet { files: vec![forged.clone()], settings }));
        assert!(page.contains("/x\\n\\nFORGED") && !page.contains("\nFORGED"), "{page}");
        let page = kubelet(Available::NotAvailable(forged));
        assert!(page.contains("/x\\n\\nFORGED") && !page.contains("\nFORGED"), "{page}");
    }

    #[test]
    fn a_rule_is_explained_with_its_source() {
        let rule = rules::find("A-ANCESTOR").unwrap();
        assert!(explain(rule).contains("Source:     mm/page_counter.c"));
    }
}
