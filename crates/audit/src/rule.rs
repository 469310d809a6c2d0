//! The table of rules.

use crate::finding::{Class, Finding};
pub(crate) use crate::found::Found;
pub(crate) use crate::host::{Host, Scope};
use crate::owner;
use crate::tree::Node;

/// A rule: when it fires, what it means, what to do.
#[derive(Debug)]
pub struct Rule {
    /// Its code, `A-ANCESTOR`.
    pub code: &'static str,
    /// How much it matters.
    pub class: Class,
    /// The condition, in files.
    pub condition: &'static str,
    /// The kernels, or the versions of the interface, to which it applies.
    pub versions: &'static str,
    /// What it means for the group.
    pub meaning: &'static str,
    /// What to do about it.
    pub remedy: &'static str,
    /// Where it is documented, or the source.
    pub source: &'static str,
    pub(crate) find: Find,
}

/// How a rule looks at a host.
#[derive(Debug)]
pub(crate) enum Find {
    /// At each of these groups.
    Each(Scope, fn(&Host, Node) -> Option<Found>),
    /// At all of it.
    Host(fn(&Host) -> Vec<Found>),
}

impl Rule {
    /// Applies it to a host. Gives at most so many findings, and how many there are beyond.
    pub(crate) fn apply(&self, host: &Host, most: usize) -> (Vec<Finding>, usize) {
        let mut found = match self.find {
            Find::Each(scope, find) => {
                host.groups(scope).filter_map(|node| find(host, node)).collect()
            }
            Find::Host(find) => find(host),
        };
        if found.len() > most {
            found.sort_by_cached_key(|one| one.group.matches('/').count());
        }
        let (found, more) = owner::fair_part(host.snapshot, found, most, |one| &one.group);
        let findings = found
            .into_iter()
            .map(|one| Finding {
                code: self.code,
                class: self.class,
                owner: owner::named(host.snapshot, &one.group),
                group: one.group.clone(),
                sentence: one.sentence.clone(),
                remedy: one.remedy.unwrap_or(self.remedy),
                readings: one.into_readings(),
            })
            .collect();
        (findings, more)
    }
}
