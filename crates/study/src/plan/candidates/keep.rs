//! What `assay tune --fix` may name.

use std::collections::BTreeSet;

use crate::Intervention;
use assay_host::facts::HostFacts;

use super::{POOL, depths, disk_changes, name, queue, weights};

/// Stands for the sizes of the request pool that are tried, which depend on its size.
const ANY_SIZE: &str = "N";

/// Whether a change is one of those that shall not be made.
pub(super) fn is_kept(change: &Intervention, keep: &[String]) -> bool {
    keep.iter().any(|kept| is_named(change, kept))
}

/// Whether this names a change: by its setting (`max_budget=64`), by what it changes (`max_budget`), or by the
/// path of the attribute (`iosched/max_budget`).
fn is_named(change: &Intervention, kept: &str) -> bool {
    let setting = name(change);
    kept == setting || kept == thing(&setting) || kept == change.touches()
}

/// What a setting changes: its name without the value.
fn thing(setting: &str) -> &str {
    setting.split(['=', '*', '/']).next().unwrap_or(setting)
}

/// Whether some setting has this name, on a host with these facts and whatever the study: what names nothing
/// would keep nothing.
///
/// # Errors
/// The names that there are: values of the same thing, or everything that settings change.
pub fn check_keep(kept: &str, facts: &HostFacts) -> Result<(), BTreeSet<String>> {
    let all = every_change(facts);
    let is_size = |text: &str| text.parse::<u32>().is_ok();
    let size = kept.strip_prefix(POOL).and_then(|rest| rest.strip_prefix('='));
    if size.is_some_and(is_size) || all.iter().any(|change| is_named(change, kept)) {
        return Ok(());
    }
    let settings: Vec<String> = all.iter().map(name).collect();
    let same = settings.iter().filter(|setting| thing(setting) == thing(kept)).cloned();
    let same: BTreeSet<String> = same.collect();
    let things = || settings.iter().map(|setting| thing(setting).to_owned()).collect();
    Err(if same.is_empty() { things() } else { same })
}

/// Every change that some study has in some state of its disk's queue.
fn every_change(facts: &HostFacts) -> Vec<Intervention> {
    // Between them these two states lead to every change of a queue.
    let states = [("bfq", "0"), ("none", "1")];
    let of_state = |(scheduler, rotational): (&str, &str)| {
        disk_changes(facts, true, &|attribute| match attribute {
            "scheduler" => Some(scheduler.to_owned()),
            "rotational" => Some(rotational.to_owned()),
            _ => None,
        })
    };
    let mut changes: Vec<Intervention> = states.into_iter().flat_map(of_state).collect();
    changes.push(queue(POOL, ANY_SIZE));
    changes.push(Intervention::Scheduler("none".to_owned()));
    let first = facts.cpus.allowed.iter().next();
    changes.extend(first.map(|cpu| Intervention::Cpus(cpu.to_string())));
    changes.extend(weights().chain(depths()));
    changes
}
