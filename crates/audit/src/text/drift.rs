//! What changed, for a terminal.

use std::fmt::Write;

use super::{escaped, section};
use crate::drift::{Change, Drift};
use crate::owner::shown;

/// Names of groups on the page; the JSON has all.
const MOST_NAMES: usize = 5;

/// The page about what changed since a snapshot.
#[must_use]
pub fn drift(drift: &Drift) -> String {
    let host = drift.host.value().map_or("unknown", String::as_str);
    let mut page = format!(
        "{host}: since {}: {}; {}\n",
        drift.since,
        counts(drift.changes.len(), drift.came.len(), drift.went.len()),
        drift.taken_at
    );
    for one in &drift.changes {
        let _ = writeln!(page, "  {}", change(one));
    }
    for (word, paths) in [("came", &drift.came), ("went", &drift.went)] {
        if let Some((more, first)) = names(paths) {
            let _ = writeln!(page, "  groups that {word}: {first}{more}");
        }
    }
    section(&mut page, "NOT LOOKED AT", &drift.not_looked_at);
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
        Some(path) => format!("{}  {name}", shown(change.owner.as_ref(), path)),
        None => change.file.clone(),
    };
    format!("{place}  {} -> {}", one_line(change.from.as_ref()), one_line(change.to.as_ref()))
}

fn one_line(text: Option<&String>) -> String {
    match text.map(String::as_str) {
        None => "(no such file)".to_owned(),
        Some("") => "(empty)".to_owned(),
        Some(text) => text.lines().collect::<Vec<_>>().join("; "),
    }
}

fn names(paths: &[String]) -> Option<(String, String)> {
    let shown = paths.iter().take(MOST_NAMES).map(|path| escaped(path));
    let shown = shown.collect::<Vec<_>>().join(", ");
    let more = match paths.len().saturating_sub(MOST_NAMES) {
        0 => String::new(),
        rest => format!(" and {rest} more (--json)"),
    };
    (!paths.is_empty()).then_some((more, shown))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Fake;

    #[test]
    fn the_page_has_a_line_for_each_change() {
        let host = |weight: &str, max: &str, more: usize| {
            let fake = Fake::v2().group("/web.service", &[("cpu.weight", weight), ("io.max", max)]);
            (0..more).fold(fake, |fake, at| fake.group(&format!("/g{at}"), &[])).snapshot()
        };
        let limits = "8:0 rbps=1\n8:16 rbps=2\n";
        let page = drift(&crate::drift(&host("100", "", 0), &host("400", limits, 7)));
        let lines: Vec<&str> = page.lines().collect();
        assert!(lines[0].contains("2 changes of settings, 7 groups came, 0 went"), "{page}");
        assert_eq!(lines[1], "  unit web.service  /web.service  cpu.weight  100 -> 400");
        assert!(lines[2].ends_with("(empty) -> 8:0 rbps=1; 8:16 rbps=2"), "{page}");
        assert!(lines[3].ends_with("/g4 and 2 more (--json)"), "{page}");
    }
}
