//! What `assay explain --only` takes.

use std::collections::BTreeMap;

use assay_intervention::PERMUTE;
use assay_judge::catalogue;

/// Codes of causes and names of changes, each with a line about it.
#[must_use]
pub fn cause_names() -> Vec<(&'static str, &'static str)> {
    let changes = catalogue().flat_map(|entry| entry.tests.iter().map(|test| (*test, "")));
    let causes = catalogue().map(|entry| (entry.code, entry.what));
    let names: BTreeMap<_, _> = changes.chain([(PERMUTE, "")]).chain(causes).collect();
    names.into_iter().collect()
}
