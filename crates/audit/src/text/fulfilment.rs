//! A manifest against what stands in files, for a terminal.

use std::fmt::Write;

use super::escaped;
use crate::fulfilment::{Fulfilment, Row, Standing, Told};
use crate::owner::shown;

/// The page about a manifest.
#[must_use]
pub fn fulfilment(fulfilment: &Told) -> String {
    let host = fulfilment.host.value().map_or("unknown", String::as_str);
    let count = |is: fn(&Standing) -> bool| {
        let rows = fulfilment.fulfilments.iter().flat_map(|one| &one.rows);
        rows.filter(|row| is(&row.standing)).count()
    };
    let missing = fulfilment.fulfilments.iter().filter(|one| one.not_found.is_some()).count();
    let missing = if missing == 0 { String::new() } else { format!(", {missing} not found") };
    let mut page = format!(
        "{host}: {} kept, {} differ, {} not looked at{missing}; {}\n",
        count(|one| *one == Standing::Kept),
        count(|one| *one == Standing::Differs),
        count(|one| matches!(one, Standing::NotLookedAt(_))),
        fulfilment.taken_at
    );
    for one in &fulfilment.fulfilments {
        of_group(&mut page, one);
    }
    page
}

fn of_group(page: &mut String, one: &Fulfilment) {
    let group = one.group.as_ref().map(|path| shown(one.owner.as_ref(), path));
    let group = group.map_or_else(String::new, |group| format!(": {group}"));
    let _ = writeln!(page, "\n{}{group}", escaped(&one.subject));
    if let Some(what) = &one.not_found {
        let _ = writeln!(page, "  NOT FOUND  {}", escaped(what));
    } else if one.rows.is_empty() {
        page.push_str("  nothing was asked for\n");
    }
    for row in &one.rows {
        line(page, row);
    }
    for what in &one.not_looked_at {
        let _ = writeln!(page, "  not looked at: {}", escaped(what));
    }
}

fn line(page: &mut String, row: &Row) {
    let (word, why) = match &row.standing {
        Standing::Kept => ("kept", String::new()),
        Standing::Differs => ("DIFFERS", String::new()),
        Standing::NotLookedAt(why) => ("not looked at", format!(": {why}")),
    };
    let _ = writeln!(page, "  {word:<7}  {}", escaped(&format!("{}{why}", row.setting)));
    let how = match row.how.as_str() {
        "" => String::new(),
        how => format!(" ({how})"),
    };
    match (&row.file, &row.found) {
        (Some(file), Some(found)) => {
            let found = found.lines().collect::<Vec<_>>().join("; ");
            let found = if found.is_empty() { "(empty)" } else { &found };
            let expected = row.expected.as_deref().unwrap_or_default();
            let _ = writeln!(page, "           {}: {found}; asked {expected}{how}", escaped(file));
        }
        (None, Some(found)) => {
            let _ = writeln!(page, "           {found}{how}");
        }
        _ => {}
    }
}
