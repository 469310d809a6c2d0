//! The promises of docs/safety.md and the tests that attack them.

use crate::tree::{files_of_crates, root};

/// Without this, a promise whose test was renamed or removed would be untested.
#[test]
fn every_promise_of_the_threat_model_names_existing_tests() {
    let text = std::fs::read_to_string(root().join("docs/safety.md")).unwrap();
    let (_, table) = text.split_once("| promise | attacked by |\n|---|---|\n").unwrap();
    let rows = table.split("\n\n").next().unwrap().lines();
    let sources: String = files_of_crates("rs")
        .into_iter()
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    let mut checked = 0;
    for row in rows {
        let attacks = row.trim_end_matches(" |").rsplit(" | ").next().unwrap();
        let named: Vec<&str> = attacks.split('`').skip(1).step_by(2).collect();
        assert!(!named.is_empty(), "no test for this promise: {row}");
        for name in named {
            let exists = match name {
                path if path.starts_with("crates/") => root().join(path).exists(),
                command if command.contains([' ', '-']) => true,
                test => sources.contains(&format!("fn {test}(")),
            };
            assert!(exists, "{name} does not exist: {row}");
            checked += 1;
        }
    }
    assert!(checked > 40, "only {checked} were found");
}
