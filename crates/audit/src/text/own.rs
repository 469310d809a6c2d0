//! One's own groups, for a terminal.

use std::fmt::Write;

use assay_facts::Available;

use super::limits::table;
use super::{escaped, line, section};
use crate::own::Own;
use crate::owner::shown;

/// The page about the groups of the process itself.
#[must_use]
pub fn own(own: &Own) -> String {
    let known =
        |of: &Available<String>| of.value().cloned().unwrap_or_else(|| "unknown".to_owned());
    let mut page = format!(
        "{}: Linux {}, seen from inside; {}\n\nTHIS PROCESS IS IN\n",
        known(&own.host),
        known(&own.kernel),
        own.taken_at
    );
    for one in &own.memberships {
        let group = match &one.group {
            Available::Value(path) => shown(one.owner.as_ref(), path),
            Available::NotAvailable(why) => format!("not available: {why}"),
        };
        let above = if one.sees_above { "" } else { "  (what is above cannot be seen)" };
        let _ = writeln!(page, "  {:<16}  {group}{above}", one.hierarchy);
    }
    page.push_str("\nSET HERE\n");
    let settings: Vec<_> = own.memberships.iter().flat_map(|one| &one.settings).collect();
    if settings.is_empty() {
        page.push_str("  nothing that differs from a new group\n");
    }
    for reading in settings {
        let value = reading.value.lines().collect::<Vec<_>>().join("; ");
        let _ = writeln!(page, "  {}: {value}", escaped(&reading.file));
    }
    if !own.effective.is_empty() {
        page.push_str("\nWHAT HOLDS, as far as can be seen\n");
        for row in table(own.effective.iter()).lines() {
            let _ = writeln!(page, "  {row}");
        }
    }
    if !own.findings.is_empty() {
        page.push_str("\nFOUND\n");
        for finding in &own.findings {
            line(&mut page, finding);
            let _ = writeln!(page, "      hint: {}", finding.remedy);
        }
    }
    section(&mut page, "NOT LOOKED AT", &own.not_looked_at);
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Fake;

    #[test]
    fn the_page_says_what_cannot_be_seen() {
        let snapshot = Fake::v2()
            .host_file("/proc/self/cgroup", "0::/\n")
            .top("memory.max", "1048576")
            .change(|snapshot| snapshot.hierarchies[0].is_whole = false)
            .snapshot();
        let page = own(&crate::own(&snapshot));
        assert!(page.contains("v2                /  (what is above cannot be seen)"), "{page}");
        assert!(page.contains("/sys/fs/cgroup/memory.max: 1048576"), "{page}");
        assert!(page.contains("NOT LOOKED AT\n  limits, weights and neighbours"), "{page}");
    }
}
