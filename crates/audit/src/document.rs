//! The whole answer about a host.

use std::collections::{BTreeMap, BTreeSet};

use assay_host::facts::Available;
use assay_host::facts::owner::Owner;
use serde::Serialize;

use crate::effective::{self, Effective};
use crate::finding::{Class, Finding};
use crate::host::{Host, Scope};
use crate::not_looked_at::{NEED_ANCESTORS, not_looked_at};
use crate::owner;
use crate::protection;
use crate::rules;
use crate::snapshot::Snapshot;
use crate::tree::Node;
use crate::worth::{self, Worth};

/// The schema of the document.
const SCHEMA: u32 = 1;

/// What was found on a host.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Audit {
    /// Its schema, 1.
    pub schema: u32,
    /// When the snapshot was taken.
    pub taken_at: String,
    /// The host.
    pub host: Available<String>,
    /// Its kernel.
    pub kernel: Available<String>,
    /// The names of its hierarchies.
    pub hierarchies: Vec<String>,
    /// Number of groups, each path once.
    pub groups: usize,
    /// How many of them have settings.
    pub with_settings: usize,
    /// What was found, by class, then in the order of groups.
    pub findings: Vec<Finding>,
    /// How many more findings a rule has than the 1000 of it that are kept, by its code.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub left_out: BTreeMap<&'static str, usize>,
    /// What weights of CPU are worth.
    pub worth: Vec<Worth>,
    /// Effective protection of memory, where any is set.
    pub protection: Vec<Protection>,
    /// The limits that hold for each group.
    pub effective: Vec<Effective>,
    /// What could not be looked at, and why.
    pub not_looked_at: Vec<String>,
}

/// What a group is protected by against the rest of the machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Protection {
    /// The group.
    pub group: String,
    /// Whose it is, if its path tells.
    pub owner: Option<Owner>,
    /// `memory.min` or `memory.low`.
    pub file: &'static str,
    /// What the file says, in bytes.
    pub set: u64,
    /// What the kernel grants, in bytes, by the present use.
    pub effective: Available<u64>,
}

/// Judges a snapshot.
#[must_use]
pub fn audit(snapshot: &Snapshot) -> Audit {
    let host = Host::new(snapshot);
    let mut not_looked_at = not_looked_at(&host);
    let mut findings: Vec<Finding> = Vec::new();
    let mut left_out = BTreeMap::new();
    let is_sure = |code: &str| can_see_above(&host) || !NEED_ANCESTORS.contains(&code);
    for rule in rules::all().filter(|rule| is_sure(rule.code)) {
        let (found, more) = rule.apply(&host, MOST_FINDINGS);
        findings.extend(found);
        if more > 0 {
            not_looked_at.push(format!("{more} more findings of {}", rule.code));
            left_out.insert(rule.code, more);
        }
    }
    findings.sort_by(|one, other| {
        (one.class, one.code, &one.group).cmp(&(other.class, other.code, &other.group))
    });
    let mut paths: BTreeSet<&str> = BTreeSet::new();
    let mut set: BTreeSet<&str> = BTreeSet::new();
    for node in host.groups(Scope::All) {
        paths.insert(node.path());
        if node.all_settings().next().is_some() {
            set.insert(node.path());
        }
    }
    Audit {
        schema: SCHEMA,
        taken_at: snapshot.taken_at.clone(),
        host: snapshot.machine.name.clone(),
        kernel: snapshot.machine.kernel.clone(),
        hierarchies: snapshot.hierarchies.iter().map(|one| one.name.clone()).collect(),
        groups: paths.len(),
        with_settings: set.len(),
        findings,
        left_out,
        worth: worth::table(&host),
        protection: protections(&host),
        effective: effective::table(&host),
        not_looked_at,
    }
}

/// Findings of one rule that are kept; how many more there are is said. A user may make thousands of groups that all of them fit.
const MOST_FINDINGS: usize = 1000;

fn can_see_above(host: &Host) -> bool {
    host.snapshot.hierarchies.iter().all(|one| one.is_whole)
}

fn protections(host: &Host) -> Vec<Protection> {
    let row = |(file, node, effective): (&'static str, Node, Option<u64>)| {
        let why = match node.tree.hierarchy.is_whole {
            true => "memory.current of a group above or beside it is unknown",
            false => "the groups above this container cannot be seen",
        };
        let effective = effective.filter(|_| node.tree.hierarchy.is_whole);
        Some(Protection {
            group: node.path().to_owned(),
            owner: owner::named(host.snapshot, node.path()),
            file,
            set: protection::set(node, file)?,
            effective: effective.ok_or(why).into(),
        })
    };
    protection::protected(host).filter_map(row).collect()
}

impl Audit {
    /// Whether anything was found that matters as much as a class or more.
    #[must_use]
    pub fn has(&self, class: Class) -> bool {
        self.findings.iter().any(|finding| finding.class <= class)
    }
}

#[cfg(test)]
mod tests {
    use assay_host::facts::owner::Claimant;

    use super::*;
    use crate::fake::Fake;

    #[test]
    fn what_matters_most_comes_first() {
        let snapshot = Fake::v2()
            .group("/a", &[("cpu.idle", "1")])
            .group("/b", &[("cpu.max", "1600000 100000")])
            .snapshot();
        let audit = audit(&snapshot);
        let codes: Vec<&str> = audit.findings.iter().map(|finding| finding.code).collect();
        assert_eq!(codes, ["A-ABOVE-HOST", "A-IDLE"]);
        assert!(audit.has(Class::NoEffect) && audit.groups == 3 && audit.with_settings == 2);
        assert!(audit.findings.iter().all(|finding| !finding.readings.is_empty()));
    }

    #[test]
    fn findings_of_one_rule_are_bounded_and_the_rest_is_counted() {
        let many = |number: usize| {
            let groups = 0..number;
            groups.fold(Fake::v2(), |fake, at| {
                fake.group(&format!("/g{at}"), &[("cpu.idle", "1"), ("cpu.weight", "100")])
            })
        };
        let audit = audit(&many(MOST_FINDINGS + 5).snapshot());
        let idle = audit.findings.iter().filter(|finding| finding.code == "A-IDLE").count();
        assert_eq!(idle, MOST_FINDINGS);
        assert!(audit.not_looked_at.contains(&"5 more findings of A-IDLE".to_owned()));
        assert_eq!(audit.left_out.get("A-IDLE"), Some(&5));
    }

    #[test]
    fn groups_of_a_user_hide_none_of_the_hosts() {
        let idle = [("cpu.idle", "1"), ("cpu.weight", "100")];
        let mine = (0..MOST_FINDINGS + 5).map(|at| format!("/a/g{at}"));
        let fake = Fake::v2().group("/a", &[]).group("/z", &[]).group("/z/x", &[]);
        let fake = mine.fold(fake, |fake, path| fake.group(&path, &idle));
        let fake = fake.group("/z/x/work", &idle);
        let fake =
            fake.change(|host| host.delegated = [("/a".to_owned(), Claimant::Uid(7))].into());
        let audit = audit(&fake.snapshot());
        let of =
            |path: &str| audit.findings.iter().any(|one| one.code == "A-IDLE" && one.group == path);
        assert!(of("/z/x/work"));
        assert_eq!(audit.left_out.get("A-IDLE"), Some(&6));
    }

    #[test]
    fn groups_of_a_user_hide_none_of_another() {
        let idle = [("cpu.idle", "1"), ("cpu.weight", "100")];
        let fake = Fake::v2().group("/a", &[]).group("/b", &[]);
        let fake = (0..MOST_FINDINGS + 5)
            .fold(fake, |fake, at| fake.group(&format!("/a/g{at}"), &idle))
            .group("/b/c", &idle)
            .group("/b/c/d", &idle);
        let by = [("/a", 7), ("/b", 8)].map(|(path, uid)| (path.to_owned(), Claimant::Uid(uid)));
        let audit = audit(&fake.change(|host| host.delegated = by.into()).snapshot());
        let idle: Vec<&str> = audit
            .findings
            .iter()
            .filter(|one| one.code == "A-IDLE")
            .map(|one| one.group.as_str())
            .collect();
        assert!(idle.contains(&"/b/c") && idle.contains(&"/b/c/d"));
        assert_eq!((idle.len(), audit.left_out.get("A-IDLE")), (MOST_FINDINGS, Some(&7)));
    }

    #[test]
    fn inside_a_container_what_needs_the_groups_above_is_not_looked_at() {
        let inside = Fake::v2()
            .group("/g", &[("memory.low", "1048576"), ("memory.current", "1048576")])
            .change(|snapshot| snapshot.hierarchies[0].is_whole = false)
            .snapshot();
        let audit = audit(&inside);
        assert!(audit.not_looked_at[0].contains("A-OUTWEIGHED"), "{:?}", audit.not_looked_at);
        assert!(audit.protection[0].effective.reason().is_some());
    }
}
