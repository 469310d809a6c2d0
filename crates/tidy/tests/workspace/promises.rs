//! The guarantees of docs/safety.md and the tests that attack them (promises.toml).

use std::collections::BTreeSet;

use toml::{Table, Value};

use crate::tree::{files_of_crates, root};

/// What each bullet of the section begins with: `- **Sudo.** The caller ...`.
fn guarantees() -> BTreeSet<String> {
    let text = std::fs::read_to_string(root().join("docs/safety.md")).unwrap();
    let (_, section) = text.split_once("### What Assay guarantees\n").unwrap();
    let section = section.split("\n## ").next().unwrap();
    let bullets = section.lines().filter_map(|line| line.strip_prefix("- **"));
    bullets.map(|bullet| bullet.split(".**").next().unwrap().to_owned()).collect()
}

/// Without this, a guarantee whose test was renamed or removed would be untested.
#[test]
fn every_guarantee_of_the_threat_model_names_existing_tests() {
    let list = root().join("crates/tidy/tests/workspace/promises.toml");
    let list: Table = std::fs::read_to_string(list).unwrap().parse().unwrap();
    let attacked: BTreeSet<String> = list.keys().cloned().collect();
    assert_eq!(guarantees(), attacked, "docs/safety.md and promises.toml");
    let sources: String = files_of_crates("rs")
        .into_iter()
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    let mut checked = 0;
    for (guarantee, tests) in &list {
        let tests: Vec<&str> = tests.as_array().unwrap().iter().filter_map(Value::as_str).collect();
        assert!(!tests.is_empty(), "no test for this guarantee: {guarantee}");
        for name in tests {
            let exists = match name {
                path if path.starts_with("crates/") => root().join(path).exists(),
                test => sources.contains(&format!("fn {test}(")),
            };
            assert!(exists, "{name} does not exist: {guarantee}");
            checked += 1;
        }
    }
    assert!(checked > 40, "only {checked} were found");
}
