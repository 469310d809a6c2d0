//! The table of rules.

use std::rc::Rc;

use crate::finding::{Class, Finding, Reading};
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

/// What a rule has found, before its code and class are added.
#[derive(Debug)]
pub(crate) struct Found {
    group: String,
    sentence: String,
    readings: Vec<Reading>,
    /// More readings, which it has in common with others: there may be as many as groups before the first are chosen.
    shared: Option<Rc<[Reading]>>,
}

impl Found {
    /// A sentence about a group that rests on these of its files.
    pub(crate) fn new(node: Node, files: &[&str], sentence: String) -> Self {
        let readings = files.iter().map(|file| node.reading(file).cut()).collect();
        Self { group: node.path().to_owned(), sentence, readings, shared: None }
    }

    /// A sentence about a group that rests on a file elsewhere.
    pub(crate) fn of_group(group: &str, reading: Reading, sentence: String) -> Self {
        Self { group: group.to_owned(), sentence, readings: vec![reading.cut()], shared: None }
    }

    /// The same, resting on another reading too.
    pub(crate) fn and(mut self, reading: Reading) -> Self {
        self.readings.push(reading.cut());
        self
    }

    /// The same, resting on these too.
    pub(crate) fn and_all(mut self, readings: impl IntoIterator<Item = Reading>) -> Self {
        self.readings.extend(readings.into_iter().map(Reading::cut));
        self
    }

    /// The same, resting on these too, as others do.
    pub(crate) fn and_shared(mut self, readings: &Rc<[Reading]>) -> Self {
        self.shared = Some(Rc::clone(readings));
        self
    }
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
                group: one.group,
                sentence: one.sentence,
                remedy: self.remedy,
                readings: all(one.readings, one.shared.as_ref()),
            })
            .collect();
        (findings, more)
    }
}

fn all(mut own: Vec<Reading>, shared: Option<&Rc<[Reading]>>) -> Vec<Reading> {
    own.extend(shared.into_iter().flat_map(|shared| shared.iter().cloned()).map(Reading::cut));
    own
}
