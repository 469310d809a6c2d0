//! Every rule of the table is hit by the tree of its name, and by none of the tree's twins: the same host with one file changed.
//! Trees are read from the first byte, and judged as a snapshot that comes from elsewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use assay_sys::kernel::Root;

use super::laid_out::{HostText, RULE_TREES};
use crate::collect::take_snapshot;
use crate::{Snapshot, audit};

/// `CODE GROUP` of each finding.
fn found(host: &HostText) -> BTreeSet<String> {
    let folder = host.lay_out();
    let snapshot = take_snapshot(&Root::at(folder.path())).unwrap();
    // Nothing of the tree is left where it is judged.
    drop(folder);
    let snapshot = Snapshot::parse(&serde_json::to_string(&snapshot).unwrap()).unwrap();
    let audit = audit(&snapshot);
    audit.findings.iter().map(|one| format!("{} {}", one.code, one.group)).collect()
}

fn has(findings: &BTreeSet<String>, code: &str) -> bool {
    findings.iter().any(|one| one.split(' ').next() == Some(code))
}

/// What is wrong with the tree of a rule, in words.
fn wrong(code: &str, host: &HostText) -> Vec<String> {
    let mut wrong = Vec::new();
    let hit = found(host);
    if hit != host.expected {
        wrong.push(format!("{code}: expected {:#?}, found {hit:#?}", host.expected));
    }
    if !has(&hit, code) {
        wrong.push(format!("{code}: its tree does not hit it"));
    }
    let mut twins = 0;
    for (path, twin) in host.twins() {
        twins += 1;
        if has(&found(&twin), code) {
            wrong.push(format!("{code}: the twin that changes {} hits it", path.display()));
        }
    }
    if twins == 0 {
        wrong.push(format!("{code}: its tree has no twin (`~ file = text`)"));
    }
    wrong
}

/// Trees by the code that their names begin with: `CODE.tree`, `CODE.what-else.tree`.
fn trees() -> BTreeMap<String, Vec<HostText>> {
    let mut trees: BTreeMap<String, Vec<HostText>> = BTreeMap::new();
    for entry in fs::read_dir(RULE_TREES).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if let Some(code) = name.strip_suffix(".tree").and_then(|name| name.split('.').next()) {
            let text = fs::read_to_string(&path).unwrap();
            trees.entry(code.to_owned()).or_default().push(HostText::parse(&text));
        }
    }
    trees
}

#[test]
fn every_rule_is_hit_by_its_tree_and_by_none_of_the_twins() {
    let mut trees = trees();
    let mut mistakes = Vec::new();
    for rule in crate::all() {
        match trees.remove(rule.code) {
            Some(hosts) => mistakes.extend(hosts.iter().flat_map(|host| wrong(rule.code, host))),
            None => mistakes.push(format!("{}: no tree in {RULE_TREES}", rule.code)),
        }
    }
    mistakes.extend(trees.into_keys().map(|code| format!("{code}: trees of no rule")));
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
}
