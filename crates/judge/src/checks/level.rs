//! `level`: the knob is set where the groups compete.
//!
//! A weight divides what its group's parent gets among siblings. Set on a group inside the
//! competing one it divides nothing, which is how containers got equal shares whatever weight they
//! were given (podman#24207, crun#1572).

use std::collections::{BTreeMap, BTreeSet};

use assay_verdict::Check;
use assay_verdict::wording::some_of;

use super::{Evidence, Scope, ValidityCheck};

/// Reported where a promise follows a knob that competing groups lack and groups inside them have.
pub(super) fn check(evidence: &Evidence<'_>) -> Option<ValidityCheck> {
    let knob = evidence.promises.iter().find_map(|(_, relation)| relation.divided_by())?;
    let wrong = misplaced(evidence, knob);
    if wrong.is_empty() {
        return None;
    }
    let text = format!("`{knob}` divides nothing where it is set: {}", some_of(&wrong, "; "));
    let check = Check { check: "level".to_owned(), ok: false, evidence: text };
    let summary = "the knob is set on groups inside those that compete, where it divides nothing";
    Some(ValidityCheck { check, scope: Scope::Shares, proves: Some(("C-WRONG-LEVEL", summary)) })
}

/// Siblings without the knob that contain groups with it.
fn misplaced(evidence: &Evidence<'_>, knob: &str) -> Vec<String> {
    let has = |name: &str| {
        let mut groups = evidence.trial.groups.iter();
        let group = groups.find(|group| group.name == name);
        group.is_some_and(|group| group.knobs.iter().any(|one| one.knob == knob))
    };
    let mut siblings: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for name in evidence.groups {
        for (end, _) in name.match_indices('/').chain([(name.len(), "")]) {
            let child = &name[..end];
            let parent = child.rfind('/').map_or("", |cut| &child[..cut]);
            siblings.entry(parent).or_default().insert(child);
        }
    }
    let competing = siblings.values().filter(|children| children.len() > 1);
    competing
        .flatten()
        .filter(|child| !has(child))
        .filter_map(|child| {
            let inside = format!("{child}/");
            let mut groups = evidence.trial.groups.iter().map(|group| group.name.as_str());
            let below = groups.find(|name| name.starts_with(&inside) && has(name))?;
            Some(format!("`{child}` competes and has none, `{below}` inside it has one"))
        })
        .collect()
}
